"""`nncache dns` as a process: independent resolvers find daemons while they are registered."""

import asyncio
import builtins
import random
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import dns.resolver
import pytest
from click.testing import CliRunner

from nncache.commands.daemons import dns as command
from nncache.errors import StartError
from nncache.net.endpoint import parse_endpoint
from nncache.registry.access import AccessPolicy
from nncache.registry.daemon_record import PROXY, RegisteredDaemon
from nncache.registry.operations import Registry
from nncache.testbed import Cluster
from tests.coordination.simulations import connected
from tests.patience import HANG_S
from tests.processes import fetched, free_address, running

SERVICE = "nncache.services.registry.example"
SRV = f"_webhdfs._tcp.{SERVICE}"


def proxy(host: str) -> RegisteredDaemon:
    """Return a proxy to register."""
    return RegisteredDaemon(
        kind=PROXY,
        host=host,
        port=9870,
        webhdfs=(f"http://{host}:9870/webhdfs/v1",),
        admin=f"http://{host}:9872/",
    )


@dataclass(frozen=True, slots=True)
class Fixture:
    """A running DNS server and the registry that it serves."""

    zookeeper: str
    root: str
    address: str
    admin: str
    process: "subprocess.Popen[bytes]"

    async def change(self, change: Callable[[Registry], Any]) -> None:
        """Change the registry."""
        async with connected(self.zookeeper) as session:
            await change(Registry(session, self.root, AccessPolicy()))

    async def bind(self, daemon: RegisteredDaemon) -> None:
        """Register a daemon."""

        async def work(registry: Registry) -> None:
            await registry.mknode("/services/nncache/components", create_parents=True)
            await registry.bind(daemon.path, daemon.record, overwrite=True)

        await self.change(work)

    async def found(self, name: str, kind: str, *, is_tcp: bool = False) -> set[str]:
        """Return the answers of dnspython's resolver as text; the empty set without an answer."""
        endpoint = parse_endpoint("dns_listen", self.address)
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = [endpoint.host], endpoint.port
        try:
            answer = await asyncio.to_thread(resolver.resolve, name, kind, tcp=is_tcp, lifetime=HANG_S)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return set()
        return {each.to_text() for each in answer}

    async def until(self, name: str, kind: str, expected: set[str], *, is_tcp: bool = False) -> None:
        """Wait until the resolver finds exactly these answers."""
        async with asyncio.timeout(HANG_S):
            while await self.found(name, kind, is_tcp=is_tcp) != expected:  # noqa: ASYNC110 - a daemon finds it
                await asyncio.sleep(0.02)  # polled until the deadline


@pytest.fixture
def fixture(cluster: Cluster, tmp_path: Path) -> Iterator[Fixture]:
    """Run a DNS server on the cluster's ZooKeeper; yield when it is ready."""
    root, address, admin = f"/registry-{uuid.uuid4().hex[:12]}", free_address(), free_address()
    words = (
        "--domain",
        "registry.example",
        "--dns-listen",
        address,
        "--admin",
        admin,
        "--registry-root",
        root,
    )
    log = tmp_path / "log"
    with running(
        "dns", *words, "--zookeeper", cluster.zookeeper.address, "--dns-queries-per-s", "1e6", log=log
    ) as process:
        while not (pages := fetched(admin, "/ready")) or pages[0][0] != 200:
            assert process.poll() is None, log.read_text()
        yield Fixture(cluster.zookeeper.address, root, address, admin, process)


async def test_a_proxy_is_found_while_it_is_registered(fixture: Fixture) -> None:
    """Over UDP and TCP, by RFC 2782 and RFC 6763: one proxy, two, none. SIGTERM ends the server with exit code 0."""
    first, second = proxy("proxy1.example.com"), proxy("127.0.0.1")
    assert await fixture.found(SRV, "SRV") == set()
    await fixture.bind(first)
    expected = {"0 1 9870 proxy1.example.com."}
    for is_tcp in (False, True):
        await fixture.until(SRV, "SRV", expected, is_tcp=is_tcp)
    instance = f"proxy-proxy1-example-com-9870.{SRV}"
    assert await fixture.found(SRV, "PTR") == {f"{instance}."}
    assert await fixture.found(instance, "TXT") == {
        '"api=org.apache.hadoop.webhdfs" "scheme=http" "path=/webhdfs/v1"'
    }
    await fixture.bind(second)
    own = f"127-0-0-1.proxy-127-0-0-1-9870.components.{SERVICE}."
    await fixture.until(SRV, "SRV", expected | {f"0 1 9870 {own}"})
    assert await fixture.found(own, "A") == await fixture.found(SERVICE, "A") == {"127.0.0.1"}
    await fixture.change(lambda registry: registry.delete("/services/nncache", recursive=True))
    for is_tcp in (False, True):
        await fixture.until(SRV, "SRV", set(), is_tcp=is_tcp)
    fixture.process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(fixture.process.wait, HANG_S) == 0


@pytest.mark.skipif(shutil.which("dig") is None, reason="apt-get install bind9-dnsutils")
async def test_dig_finds_the_proxies(fixture: Fixture) -> None:
    """The `dig` line of the documentation works."""
    await fixture.bind(proxy("proxy1.example.com"))
    await fixture.until(SRV, "SRV", {"0 1 9870 proxy1.example.com."})
    endpoint = parse_endpoint("dns_listen", fixture.address)
    for words in ((), ("+tcp",)):
        line = ["dig", f"@{endpoint.host}", "-p", str(endpoint.port), *words, "SRV", SRV]
        done = await asyncio.to_thread(
            subprocess.run, line, capture_output=True, text=True, check=True, timeout=HANG_S
        )
        assert "status: NOERROR" in done.stdout
        assert "0 1 9870 proxy1.example.com." in done.stdout
        assert "flags: qr aa rd;" in done.stdout


async def test_no_bytes_end_it(fixture: Fixture) -> None:
    """After a few hundred malformed messages over both transports, it answers as before."""
    await fixture.bind(proxy("proxy1.example.com"))
    await fixture.until(SRV, "SRV", {"0 1 9870 proxy1.example.com."})
    await asyncio.to_thread(harm, fixture.address, random.Random(7))
    assert fixture.process.poll() is None
    assert await fixture.found(SRV, "SRV", is_tcp=True) == await fixture.found(SRV, "SRV") != set()
    ((_, _, metrics),) = fetched(fixture.admin, "/metrics")
    assert 'nncache_dns_messages_dropped_total{reason="error"} 0.0' in metrics


def harm(address: str, chance: random.Random) -> None:
    """Send random bytes, and valid messages with some bytes changed."""
    endpoint = parse_endpoint("dns_listen", address)
    good = dns.message.make_query(SRV, "SRV", use_edns=0).to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        for number in range(400):
            wire = bytearray(good if number % 2 else chance.randbytes(chance.randrange(1, 1500)))
            for _ in range(number % 5):
                wire[chance.randrange(len(wire))] = chance.randrange(256)
            datagrams.sendto(wire, (endpoint.host, endpoint.port))
            if number % 8 == 0:
                with socket.create_connection((endpoint.host, endpoint.port), timeout=HANG_S) as connection:
                    connection.sendall((b"" if number % 3 else len(wire).to_bytes(2, "big")) + wire)


@pytest.mark.parametrize(
    ("words", "key"),
    [(["--zookeeper", "127.0.0.1:1"], "domain"), (["--domain", "registry.example"], "zookeeper")],
)
def test_domain_and_zookeeper_must_be_given(words: list[str], key: str) -> None:
    """Neither has a sensible default."""
    result = CliRunner().invoke(command, words)
    assert isinstance(result.exception, StartError)
    assert str(result.exception).startswith(key)


@pytest.mark.parametrize(
    ("missing", "kind"), [("dns", StartError), ("dns.exception", StartError), ("other", ModuleNotFoundError)]
)
def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: str, kind: type[Exception]
) -> None:
    """Another missing module is not reported as the extra."""
    imported = builtins.__import__

    def refuse(name: str, *arguments: Any) -> Any:
        if name == "nncache.daemons.dns_wiring":
            raise ModuleNotFoundError(name=missing)
        return imported(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", refuse)
    result = CliRunner().invoke(command, ["--domain", "registry.example", "--zookeeper", "127.0.0.1:1"])
    assert isinstance(result.exception, kind)
    assert kind is not StartError or "pip install '.[dns]'" in str(result.exception)
