"""The ways by which clients reach a proxy: directly, and through balancers as in docs/balancers.md."""

import http.client
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final, NoReturn

import pytest

from nncache.bench.servers.running import server
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon
from tests.docs.pages import DOCS, blocks
from tests.patience import HANG_S, until
from tests.real.stand import SPARING, proxied

HERE: Final = "127.0.0.1"
"""The default address of a client."""
BALANCER: Final = "127.0.0.11"
"""The address from which balancers connect to a proxy."""
CALLS: Final = 2_000
"""Number of calls per address that a proxy forwards in a session; the tests need 1,400."""

AT_ONCE: Final = 16
"""Number of connections that use up the calls."""

STRAIGHT: Final = "straight"
WAYS: Final = {
    STRAIGHT: "X-Forwarded-For",
    "nginx": "X-Forwarded-For",
    "nginx-stream": "proxy_protocol",
    "haproxy": "proxy_protocol",
}
"""The proxy's `real_ip_header` for each balancer in front of it."""
BALANCERS: Final = tuple(name for name in WAYS if name != STRAIGHT)

_EXAMPLES: Final = dict(
    zip(
        BALANCERS,
        (block.text for block in blocks(DOCS / "balancers.md") if block.language in {"nginx", "haproxy"}),
        strict=True,
    )
)
_STREAM_MODULE: Final = Path("/usr/lib/nginx/modules/ngx_stream_module.so")

REQUIRED: Final = "NNCACHE_REQUIRE_CLIENTS"
"""With this variable set (as in .ci/run), a missing program is a failure, not a skip."""
PACKAGES: Final = {
    "ruby": "ruby",
    "go": "golang-go",
    "node": "nodejs",
    "nginx": "nginx-light libnginx-mod-stream",
    "haproxy": "haproxy",
}
"""The Debian package of each program."""


def need(program: str) -> str:
    """Return the path of a program; skip the test if it is not installed."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None or (program == "nginx" and not _STREAM_MODULE.exists()):
        give_up(f"{program} is not installed: apt-get install {PACKAGES[program]}")
    return found


def give_up(reason: str) -> NoReturn:
    """Skip the test; fail it if all clients are required."""
    if os.environ.get(REQUIRED):
        pytest.fail(f"{REQUIRED} is set, and {reason}")
    pytest.skip(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way by which clients reach a proxy.

    Attributes:
        name: the balancer's name, or STRAIGHT.
        address: the "host:port" for clients.
        logs: the directory of the proxy's `access.log` and `audit.log`.
    """

    name: str
    proxy: ProxyDaemon
    address: str
    logs: Path

    def clients(self, part: str, log: str = "access.log", **wanted: object) -> list[str]:
        """Return the addresses in the log lines that contain `part` and have these fields."""
        text = (self.logs / log).read_text("ascii")
        lines = [
            json.loads(line) for line in text.splitlines(keepends=True) if part in line and line[-1] == "\n"
        ]
        return [line["address"] for line in lines if wanted.items() <= line.items()]

    def assert_clients_are_seen(self, part: str, count: int) -> None:
        """Assert that at least `count` requests contain `part`, all from a client on this host."""
        until(lambda: len(self.clients(part)) >= count, lambda: f"fewer than {count} requests are logged")
        assert set(self.clients(part)) == {HERE}


Ways = Callable[[str], Way]
"""Returns the way of this name."""


@contextmanager
def ways_to(cluster: Cluster, *globs: str, logs: Path, calls: int) -> Iterator[Ways]:
    """Run proxies with these filters in front of a cluster, with balancers as in docs/balancers.md in front of them.

    Each starts on first use. An address may have `calls` forwarded in total. The balancers' own address has used up its
    calls, so a call that is forwarded for one of their clients was charged to that client.
    """
    with ExitStack() as running:

        @cache
        def proxy_that_reads(header: str) -> ProxyDaemon:
            place = logs / header
            place.mkdir()
            simulation = proxied(
                cluster,
                *globs,
                polling=SPARING,
                max_staleness_s=30.0,  # a busy machine does not close the gate
                real_ip_from=BALANCER,
                real_ip_header=header,
                max_calls_per_s_per_address=0.001,
                call_burst_s=calls * 1_000,
                access_log=place / "access.log",
                access_log_format="json",
                audit_log=place / "audit.log",
            )
            proxy = running.enter_context(simulation).proxy
            _use_up_calls(proxy, header)
            return proxy

        @cache
        def way(name: str) -> Way:
            program = None if name == STRAIGHT else need(name.partition("-")[0])
            proxy = proxy_that_reads(WAYS[name])
            address = proxy.address
            if program is not None:
                address = running.enter_context(server(name, partial(_command, program, name, proxy))).address
            return Way(name=name, proxy=proxy, address=address, logs=logs / WAYS[name])

        yield way


def _use_up_calls(proxy: ProxyDaemon, header: str) -> None:
    def ask(_: int) -> int:
        with connected(proxy.address, BALANCER) as balancer:
            if header == "proxy_protocol":
                balancer.connect()
                balancer.sock.sendall(b"PROXY UNKNOWN\r\n")
            while (status := asked(balancer, "/", "GETHOMEDIRECTORY")[0]) == http.client.OK:
                pass
            return status

    with ThreadPoolExecutor(AT_ONCE) as threads:
        assert set(threads.map(ask, range(AT_ONCE))) == {http.client.TOO_MANY_REQUESTS}


def _command(program: str, name: str, proxy: ProxyDaemon, place: Path, address: str) -> tuple[str, ...]:
    """Return the command of a balancer with only this proxy as backend, configured by the example of the page."""
    lines = [line for line in _EXAMPLES[name].splitlines(keepends=True) if "proxy2" not in line]
    text = "".join(lines).replace("proxy1.example.com:9871", proxy.address)
    text = re.sub(r"\b(listen|bind) (:?)9871\b", rf"\1 {address}", text)
    assert address in text
    file = place / "balancer.conf"
    if name == "haproxy":
        text = text.replace("port 9872", f"port {proxy.admin.rpartition(':')[2]}")
        file.write_text(text.replace("defaults\n", f"defaults\n    source {BALANCER}\n"), encoding="utf-8")
        return program, "-db", "-f", str(file)
    text = re.sub(r"(proxy_pass .*;)", rf"\1 proxy_bind {BALANCER};", text)
    start = f"daemon off;\npid {place}/nginx.pid;\nerror_log stderr warn;\nevents {{}}\n"
    if os.geteuid() == 0:
        start = f"user root;\n{start}"
    if name == "nginx":
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = "".join(f"{kind}_temp_path {place}/{kind};\n" for kind in kinds)
        text = f"http {{\naccess_log off;\n{temporary}{text}}}\n"
    else:
        start = f"load_module {_STREAM_MODULE};\n{start}"
    file.write_text(start + text, encoding="utf-8")
    return program, "-p", str(place), "-e", "stderr", "-c", str(file)


@contextmanager
def connected(address: str, local: str) -> Iterator[http.client.HTTPConnection]:
    """Connect to "host:port" from this local address."""
    host, _, port = address.partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=HANG_S, source_address=(local, 0))
    try:
        yield connection
    finally:
        connection.close()


def asked(
    client: http.client.HTTPConnection, path: str, op: str = "GETFILESTATUS", **fields: str
) -> tuple[int, str]:
    """Return the status and `Cache-Status` of the reply to a GET."""
    client.request("GET", f"/webhdfs/v1{path}?op={op}&user.name=alice", headers=fields)
    reply = client.getresponse()
    reply.read()
    return reply.status, reply.getheader("Cache-Status", "")


def hits(proxy: ProxyDaemon) -> float:
    """Return the number of hits since start."""
    return proxy.metrics()['nncache_requests_total{result="hit"}']
