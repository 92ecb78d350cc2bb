"""Separate ZooKeepers that a test may break: a standalone server, and an ensemble of three."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from nncache.testbed import four_letters, java
from nncache.testbed.errors import ServerStartError
from nncache.testbed.https import SERVER, STORE_PASSWORD, keystore, truststore
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from nncache.testbed.ports import PortLease
from nncache.testbed.process import Running, await_all
from nncache.testbed.spec import SMALL_JVM, ZooKeeperSecurity, own_user
from nncache.testbed.workplace import Workplace, workplace
from nncache.testbed.zookeeper import ZooKeeperProcess
from nncache.testbed.zookeeper_security import ClientPorts

_START_TIMEOUT_S = 60.0


@contextmanager
def temporary_place(
    name: str, hadoop_version: str, start_timeout_s: float = _START_TIMEOUT_S
) -> Iterator[tuple[Workplace, PortLease]]:
    """Yield a temporary directory for ZooKeepers from the jars of the Hadoop release, and a port lease for them."""
    runtime = java.installed(hadoop_version)
    with (
        workplace(runtime, name, directory=None, user=own_user(), start_timeout_s=start_timeout_s) as place,
        PortLease() as ports,
    ):
        yield place, ports


class ZooKeeperServer(ZooKeeperProcess, Running):
    """A standalone ZooKeeper with a free port and a temporary directory, which runs during a `with` block.

    It also stops when this process ends, however it ends (see `nncache.testbed.guard`).
    """

    def __init__(
        self,
        *,
        hadoop_version: str = DEFAULT_HADOOP_VERSION,
        version: str | None = None,
        security: ZooKeeperSecurity = ZooKeeperSecurity(),  # noqa: B008 - a frozen value
        kdc: Path = Path(),
        authority: Path = Path(),
        jvm: tuple[str, ...] = SMALL_JVM,
        start_timeout_s: float = _START_TIMEOUT_S,
    ) -> None:
        """Prepare the server without starting it; the `with` block starts it.

        It runs from the jars of the Hadoop release, unless `version` names a ZooKeeper release. `kdc` is the directory
        of a KDC that has zookeeper/localhost and its keytab. `authority` is the directory of a certificate authority
        that has issued a certificate to `https.SERVER`.
        """
        with ExitStack() as close:
            place, ports = close.enter_context(temporary_place("zookeeper", hadoop_version, start_timeout_s))
            client_ports = ClientPorts.leased(ports, security, kdc=kdc, authority=authority)
            super().__init__(place, client_ports, jvm, version=version)
            self._close = close.pop_all()

    def start(self) -> None:
        """Start the server and wait until it serves clients."""
        self.process.start()

    def close(self) -> None:
        """Kill the server, release its port and remove its directory. May be called again."""
        self.process.kill()  # its data will not be read again
        self._close.close()


def leader_of(servers: Iterable[ZooKeeperProcess]) -> ZooKeeperProcess:
    """Return the current leader, or the standalone server. Raises StartError if none leads."""
    for server in servers:
        with suppress(OSError):
            answer = four_letters.ask(server.address, "srvr")
            if "Mode: leader" in answer or "Mode: standalone" in answer:
                return server
    raise ServerStartError("none of the ZooKeeper servers leads")


SIZE: Final = 3  # the smallest number of servers of which one may be missing


class ZooKeeperEnsemble(Running):
    """An ensemble on free ports with a temporary directory, which runs during a `with` block.

    With TLS the servers also use it among themselves. They also stop when this process ends, however it ends (see
    `nncache.testbed.guard`).
    """

    def __init__(
        self,
        *,
        hadoop_version: str = DEFAULT_HADOOP_VERSION,
        security: ZooKeeperSecurity = ZooKeeperSecurity(),  # noqa: B008 - a frozen value
        authority: Path = Path(),
        jvm: tuple[str, ...] = SMALL_JVM,
    ) -> None:
        """Prepare it without starting it; the `with` block starts it. The arguments are those of `ZooKeeperServer`."""
        with ExitStack() as close:
            place, ports = close.enter_context(temporary_place("ensemble", hadoop_version))
            peers = tuple(f"localhost:{ports.take()}:{ports.take()}" for _ in range(SIZE))
            common = _lines(peers, authority if security.tls else None)
            found = []
            for number in range(1, SIZE + 1):
                client_ports = ClientPorts.leased(ports, security, authority=authority)
                server = ZooKeeperProcess(
                    place, client_ports, jvm, name=f"zookeeper-{number}", ensemble=common
                )
                server.data.mkdir()
                (server.data / "myid").write_text(f"{number}\n", encoding="ascii")
                found.append(server)
            self.servers = tuple(found)  # each may be stopped, killed and restarted on its own
            self._close = close.pop_all()
        self.address = ",".join(server.address for server in self.servers)  # for clients
        secure = (server.secure_address for server in self.servers)
        self.secure_address = ",".join(filter(None, secure))  # the same with TLS; empty: none

    def leader(self) -> ZooKeeperProcess:
        """Return the current leader; see `leader_of`."""
        return leader_of(self.servers)

    def start(self) -> None:
        """Start all servers that do not run, and wait until each serves clients."""
        processes = [server.process for server in self.servers]
        for process in processes:
            process.launch()
        await_all(processes)

    def close(self) -> None:
        """Kill all servers, release their ports and remove their directory. May be called again."""
        for server in self.servers:
            server.process.kill()  # their data will not be read again
        self._close.close()


def _lines(peers: tuple[str, ...], authority: Path | None) -> tuple[str, ...]:
    """Return the lines of zoo.cfg for the ensemble; `authority` None: no TLS among the servers."""
    found = ["initLimit=20", "syncLimit=10"]  # ticks
    found += (f"server.{number}={peer}" for number, peer in enumerate(peers, 1))
    if authority is not None:
        stores = {"keyStore": keystore(authority, SERVER), "trustStore": truststore(authority)}
        found.append("sslQuorum=true")
        for kind, store in stores.items():
            found += (f"ssl.quorum.{kind}.location={store}", f"ssl.quorum.{kind}.password={STORE_PASSWORD}")
    return tuple(found)
