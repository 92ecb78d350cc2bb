"""Real servers, and servers of another kind than an operator's settings assume."""

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from click.testing import CliRunner

import nncache
from nncache.commands.group import nncache as command
from nncache.coordination.zookeeper import SetDataOp
from nncache.registry.access import READABLE
from nncache.registry.daemon_record import PLACE, PROXY, RegisteredDaemon
from nncache.registry.record import ServiceRecord
from nncache.testbed import Cluster
from tests.coordination.simulations import connected
from tests.processes import free_address
from tests.registry.samples import place_of_its_own
from tests.service import InotifyService


@dataclass(frozen=True, slots=True)
class Report:
    """The JSON output of a check."""

    exit_code: int
    findings: tuple[Mapping[str, str], ...]

    def of(self, check: str, *verdicts: str) -> list[str]:
        """Return "text; to do: remedy" of each finding of a check with one of these verdicts."""
        return [
            f"{each['text']}; to do: {each['remedy']}"
            for each in self.findings
            if each["check"] == check and each["verdict"] in verdicts
        ]

    @property
    def failed(self) -> set[str]:
        """The checks that failed."""
        return {each["check"] for each in self.findings if each["verdict"] == "failed"}


def checked(*words: str) -> Report:
    """Run `nncache check WORDS --json`."""
    result = CliRunner().invoke(command, ["check", *words, "--json"])
    printed: dict[str, Any] = json.loads(result.stdout)
    assert printed["exit_code"] == result.exit_code
    return Report(result.exit_code, tuple(printed["findings"]))


@contextmanager
def socket_server(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve each connection on a thread; yield host:port."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as open_ones:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # the end of the test
                    return
                open_ones.callback(connection.close)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            accepting.join()


def silent(_: socket.socket) -> None:
    """Accept the connection and send nothing."""


def greeting(connection: socket.socket) -> None:
    """Send first, as an SSH server does."""
    with connection:
        connection.sendall(b"SSH-2.0-OpenSSH_9.2p1\r\n")


def tls(connection: socket.socket) -> None:
    """Start a TLS handshake without a certificate, which ends with an alert."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.wrap_socket(connection, server_side=True).close()
    except (OSError, ValueError):
        connection.close()


@contextmanager
def planted_registry(cluster: Cluster, stranger: str) -> Iterator[dict[str, str]]:
    """Register daemons that are not running, and foreign and broken entries; yield roots and registered addresses.

    Args:
        cluster: the cluster whose ZooKeeper is used.
        stranger: host:port of a server that is not an nncache daemon.
    """
    left, foreign, broken = free_address(), free_address(), free_address()
    with place_of_its_own(cluster) as place, place_of_its_own(cluster) as closed:
        with nncache.open_registry(**place) as registry:
            registry.mknode(PLACE, create_parents=True)
            for address in (left, stranger):
                daemon = _daemon_at(address)
                registry.bind(daemon.path, daemon.record)
            registry.bind(_daemon_at(foreign).path, ServiceRecord(description="of another team"))
            registry.mknode(_daemon_at(broken).path)

        async def meddle() -> None:
            async with connected(place["zookeeper"]) as session:
                await session.commit(
                    [SetDataOp(place["registry_root"] + _daemon_at(broken).path, b'{"JSONServiceRecord')]
                )
                await session.ensure(closed["registry_root"], (READABLE,))

        asyncio.run(meddle())
        yield {
            "registry": place["registry_root"],
            "closed_registry": closed["registry_root"],
            "left": left,
            "foreign": foreign,
            "broken": broken,
        }


def _daemon_at(address: str) -> RegisteredDaemon:
    host, _, port = address.rpartition(":")
    url = f"http://{address}/webhdfs/v1"
    return RegisteredDaemon(kind=PROXY, host=host, port=int(port), webhdfs=(url,), admin=f"http://{host}:1/")


@dataclass(frozen=True, slots=True)
class Simulation:
    """Addresses of real servers and fakes, by name.

    Attributes:
        cluster: a cluster with ZooKeeper and a DataNode.
        pair: another cluster, with a standby.
        service: a running publisher and proxy on the first cluster.
        addresses: host:port by name.
    """

    cluster: Cluster
    pair: Cluster
    service: InotifyService
    addresses: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        """Return the address of this name."""
        return self.addresses[name]

    def filled(self, words: str) -> tuple[str, ...]:
        """Return the words of a command line, with {names} replaced by addresses."""
        return tuple(words.format_map(self.addresses).split())
