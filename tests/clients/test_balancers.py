"""The examples of docs/balancers.md, through real balancers: hits, limits and logs go by the client behind them."""

import http.client
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from nncache.bench.servers.running import server
from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy
from tests.clients.test_unmodified_clients import hits, need
from tests.cluster import make_directory
from tests.docs.pages import DOCS, blocks
from tests.patience import HANG_S, until
from tests.real.stand import SPARING, proxied

SNIPPETS: Final = {block.language: block.text for block in blocks(DOCS / "balancers.md")}
HERE: Final = "127.0.0.1"  # of the balancers, as the proxy sees them
ALICE, BOB, EVE = "127.0.0.21", "127.0.0.22", "127.0.0.23"
CALLS: Final = 8
"""That an address may have forwarded at once."""


def snippet(language: str, proxy: Proxy, address: str) -> str:
    """Return the example, with this proxy alone behind it, listening on this address."""
    lines = [line for line in SNIPPETS[language].splitlines(keepends=True) if "proxy2" not in line]
    text = "".join(lines).replace("proxy1.example.com:9871", proxy.address)
    text = re.sub(r"\b(listen|bind) (:?)9871\b", rf"\1 {address}", text)
    assert address in text
    return text.replace("port 9872", f"port {proxy.admin.rpartition(':')[2]}")


def nginx(proxy: Proxy) -> tuple[str, Callable[[Path, str], tuple[str, ...]]]:
    """Return how to run nginx with the example."""

    def command(place: Path, address: str) -> tuple[str, ...]:
        temporary = "".join(
            f"{kind}_temp_path {place}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        user = "user root;\n" if os.geteuid() == 0 else ""
        file = place / "nginx.conf"
        file.write_text(
            f"daemon off;\n{user}pid {place}/nginx.pid;\nerror_log stderr warn;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{temporary}{snippet('nginx', proxy, address)}}}\n",
            encoding="utf-8",
        )
        return need("nginx"), "-p", str(place), "-e", "stderr", "-c", str(file)

    return "nginx", command


def haproxy(proxy: Proxy) -> tuple[str, Callable[[Path, str], tuple[str, ...]]]:
    """Return how to run HAProxy with the example."""

    def command(place: Path, address: str) -> tuple[str, ...]:
        file = place / "haproxy.cfg"
        file.write_text(snippet("haproxy", proxy, address), encoding="utf-8")
        return need("haproxy"), "-db", "-f", str(file)

    return "HAProxy", command


@dataclass(frozen=True, slots=True)
class Behind:
    """A balancer before a proxy."""

    proxy: Proxy
    address: str
    root: str
    logs: Path

    @contextmanager
    def client(self, local: str) -> Iterator[http.client.HTTPConnection]:
        """Connect from this address of the host."""
        host, _, port = self.address.partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=HANG_S, source_address=(local, 0))
        try:
            yield connection
        finally:
            connection.close()

    def peers(self, log: str, **wanted: object) -> list[str]:
        """Return the addresses in the lines of a log that have these fields."""
        lines = [json.loads(line) for line in (self.logs / log).read_text("ascii").splitlines()]
        return [line["address"] for line in lines if wanted.items() <= line.items()]


def asked(
    client: http.client.HTTPConnection, path: str, op: str = "GETFILESTATUS", **fields: str
) -> tuple[int, str]:
    """Return the status of the answer to a GET, and how it was made."""
    client.request("GET", f"/webhdfs/v1{path}?op={op}&user.name=alice", headers=fields)
    reply = client.getresponse()
    reply.read()
    return reply.status, reply.getheader("Cache-Status", "")


@pytest.fixture(params=["nginx", "HAProxy"])
def behind(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path) -> Iterator[Behind]:
    """The example with a proxy behind it, which believes the balancer and gives each address its calls."""
    root = f"/behind-{request.param}"
    make_directory(cluster, root)
    header = {"nginx": "X-Forwarded-For", "HAProxy": "proxy_protocol"}[request.param]
    with ExitStack() as running:
        simulation = running.enter_context(
            proxied(
                cluster,
                f"{root}/*",
                polling=SPARING,
                real_ip_from=HERE,
                real_ip_header=header,
                max_calls_per_s_per_address=0.01,
                call_burst_s=CALLS * 100,
                access_log=str(tmp_path / "access.log"),
                access_log_format="json",
                audit_log=str(tmp_path / "audit.log"),
            )
        )
        name, command = {"nginx": nginx, "HAProxy": haproxy}[request.param](simulation.proxy)
        balancer = running.enter_context(server(name, command))
        found = Behind(simulation.proxy, balancer.address, root, tmp_path)
        until(lambda: _is_up(found))
        yield found


def _is_up(behind: Behind) -> bool:
    with behind.client(EVE) as client:
        try:
            return asked(client, "/", "GETHOMEDIRECTORY")[0] == 200
        except (ConnectionError, http.client.HTTPException):
            return False


def test_hits_limits_and_logs_go_by_the_client(behind: Behind) -> None:
    """Whatever a client writes of itself; one that has used its calls leaves others theirs, and its own hits."""
    forged = {"X-Forwarded-For": "192.0.2.99, 127.0.0.1"}
    before = hits(behind.proxy)
    with behind.client(ALICE) as alice, behind.client(BOB) as bob:
        missing = f"{behind.root}/missing"
        assert asked(alice, missing)[0] == 404
        for client in (alice, bob):
            for _ in range(3):
                assert asked(client, missing, **forged) == (404, "nncache; hit")
        statuses = [asked(alice, behind.root, "LISTSTATUS", **forged)[0] for _ in range(CALLS)]
        assert statuses == [200] * (CALLS - 1) + [429]
        assert asked(alice, missing) == (404, "nncache; hit")
        assert asked(bob, behind.root, "LISTSTATUS")[0] == 200
    assert hits(behind.proxy) - before == 7
    until(lambda: len(behind.peers("access.log", result="hit")) == 7)
    assert behind.peers("access.log", result="hit") == [ALICE] * 3 + [BOB] * 3 + [ALICE]
    listings = [ALICE] * (CALLS - 1) + [BOB]
    assert behind.peers("access.log", result="forwarded", operation="LISTSTATUS") == listings
    assert behind.peers("audit.log", status=429) == [ALICE]
    assert behind.proxy.metrics()["nncache_proxy_protocol_headers_refused_total"] == 0


def test_no_other_client_is_believed(behind: Behind) -> None:
    """Straight at the proxy, each address is its own, whatever it says."""
    host, _, port = behind.proxy.address.partition(":")
    straight = http.client.HTTPConnection(host, int(port), timeout=HANG_S, source_address=(EVE, 0))
    try:
        field = {"X-Forwarded-For": "192.0.2.99"}
        assert asked(straight, f"{behind.root}/other", "LISTSTATUS", **field)[0] == 404
        straight.close()
        straight.connect()
        straight.sock.sendall(b"PROXY TCP4 192.0.2.99 127.0.0.1 1 2\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert b" 400 " in straight.sock.recv(100)
    finally:
        straight.close()
    until(lambda: behind.peers("access.log", status=400) == [EVE])
    assert set(behind.peers("access.log")) == {EVE}
