"""What an answer from memory costs with a cookie, with a token and over TLS: `make bench-secure`.

One way after the other, round by round, in CPU of the server for each request. Beside them stand the same without any
of that, and nginx with TLS and a cache.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

import click

from nncache.bench.cost import Round, by_server, each_s, table
from nncache.bench.servers.caches import nginx
from nncache.bench.servers.counters import use_of
from nncache.bench.shared.driver import Figure, Result, benchmark, none_of
from nncache.bench.wrk import ask_for, in_turn
from nncache.testbed import Cluster, ClusterSpec, Kerberos
from nncache.testbed.asker import Asker
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import Proxy
from nncache.testbed.errors import TestbedError
from nncache.testbed.kdc import keytab
from nncache.testbed.ports import PortLease
from nncache.testbed.programs import find_program
from nncache.testbed.spec import REALM

PATHS: Final = 500
ROOT: Final = "/bench-secure"
CONNECTIONS: Final = 64
USER: Final = "alice"

PLAIN, TLS, COOKIE, TOKEN, NGINX, NGINX_TLS = (
    "without authentication",
    "over TLS",
    "with a cookie",
    "with a delegation token",
    "nginx",
    "nginx over TLS",
)
MOST: Final = ((COOKIE, PLAIN, 1.1), (TOKEN, PLAIN, 1.1), (TLS, NGINX_TLS, 1.3))
"""What a hit may cost at most, by one of the other kind."""

_GLOB: Final = f"{ROOT}/*"


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """One way of asking."""

    name: str
    address: str
    pid: int  # of the server whose CPU counts
    scheme: str = "http"
    query: str = ""  # what stands behind the operation
    cookie: str = ""  # name and value; "": none

    @property
    def script(self) -> str:
        """What wrk asks for."""
        cookie = f'wrk.headers["Cookie"] = {json.dumps(self.cookie)}\n' if self.cookie else ""
        target = f'string.format("/webhdfs/v1{ROOT}/%d?op=GETFILESTATUS{self.query}", path)'
        return cookie + in_turn(target, PATHS)


@benchmark("bench-secure")
@click.option("--seconds", default=4, type=click.IntRange(1), help="Of load in each round.")
@click.option("--rounds", default=7, type=click.IntRange(1), help="Of each way.")
def main(seconds: int, rounds: int) -> Result:
    """Measure what a hit costs with a cookie, with a token and over TLS."""
    find_program("wrk")
    found = list[Round]()
    with _servers() as ways:
        for way in ways:
            measure(way, seconds, 0)  # so that all is in memory
        for number in range(1, rounds + 1):
            for way in ways:
                found.append(measure(way, seconds, number))
                cost = f"{found[-1].each_s * 1e6:.2f} µs of CPU a request"
                click.echo(f"round {number} of {rounds}, {way.name}: {cost}")
    return Result(figures=judge(found), table=table(found), rounds=found)


def measure(way: AuthMethod, seconds: int, number: int) -> Round:
    """Load a server; return what that cost."""
    before = use_of(way.pid)[0]
    counted = ask_for(way.address, way.script, connections=CONNECTIONS, seconds=seconds, scheme=way.scheme)
    return Round(
        what="hit",
        server=way.name,
        requests=counted.requests,
        failed=counted.failed,
        cpu_s=use_of(way.pid)[0] - before,
        p50_s=counted.p50_s,
        number=number,
    )


def judge(rounds: Sequence[Round]) -> list[Figure]:
    """Compare medians: one round that another program disturbed decides nothing."""
    costs = {name: each_s(sizes[0]) for (_, name), sizes in by_server(rounds).items()}
    ratios = [Figure(f"CPU {way}, by {of}", costs[way] / costs[of], most=most) for way, of, most in MOST]
    return [none_of("requests that fail", sum(each.failed for each in rounds)), *ratios]


@contextmanager
def _servers() -> Iterator[tuple[AuthMethod, ...]]:
    """Start two clusters, with Kerberos and without, and the servers in front of them."""
    with ExitStack() as running:
        plain = running.enter_context(Cluster.start(ClusterSpec(with_datanode=False)))
        secured = running.enter_context(Cluster.start(ClusterSpec(with_datanode=False, kerberos=Kerberos())))
        for cluster in (plain, secured):
            _make(cluster)
        ports = running.enter_context(PortLease())
        place = running.enter_context(tempfile.TemporaryDirectory(prefix="nncache-bench-"))
        issued = Authority(Path(place)).issue("server")
        tls = f"localhost:{ports.take()}"
        with_tls = (
            *("--tls-listen", tls, "--tls-certificate", str(issued.chain), "--tls-key", str(issued.key)),
            *("--glob", _GLOB),
        )
        namenode = plain.namenodes[0]
        ours = running.enter_context(Proxy(*plain.flags, *with_tls))
        theirs = running.enter_context(_secured_proxy(secured))
        for proxy in (ours, theirs):
            proxy.await_gate()
        first = running.enter_context(nginx(namenode.http, valid_s=3600))
        second = running.enter_context(nginx(namenode.http, valid_s=3600, certificate=issued))
        cookie = secured.namenodes[0].access.headers(USER)["Cookie"]
        token = f"&delegation={_token(secured)}"
        named = f"&user.name={USER}"
        yield (
            AuthMethod(PLAIN, ours.address, ours.process.running_pid, query=named),
            AuthMethod(COOKIE, theirs.address, theirs.process.running_pid, cookie=cookie),
            AuthMethod(TOKEN, theirs.address, theirs.process.running_pid, query=token),
            AuthMethod(TLS, tls, ours.process.running_pid, "https", named),
            AuthMethod(NGINX, first.address, first.processes["nginx"], query=named),
            AuthMethod(NGINX_TLS, second.address, second.processes["nginx"], "https", named),
        )


def _secured_proxy(cluster: Cluster) -> Proxy:
    """Return a proxy that reads the edits with a keytab."""
    kdc = cluster.kdc
    assert kdc is not None
    own = keytab(kdc.directory, "nncache")
    own.chmod(0o400)
    os.environ.update(kdc.environ())  # with which the proxy finds the KDC
    identity = ("--principal", f"nncache/_HOST@{REALM}", "--keytab", str(own))
    return Proxy(*cluster.flags, "--glob", _GLOB, *identity)


def _make(cluster: Cluster) -> None:
    """Make the directories that are asked for."""
    namenode = cluster.namenodes[0]
    headers = namenode.access.headers(cluster.superuser)
    with Asker(namenode.http) as asker:
        for number in range(PATHS):
            target = f"/webhdfs/v1{ROOT}/{number}?op=MKDIRS&user.name={cluster.superuser}"
            reply = asker.ask("PUT", target, headers=headers)
            if reply.status != HTTPStatus.OK:
                raise TestbedError(f"{target}: {reply.status} {reply.body!r}")


def _token(cluster: Cluster) -> str:
    namenode = cluster.namenodes[0]
    target = f"/webhdfs/v1/?op=GETDELEGATIONTOKEN&renewer={USER}"
    with Asker(namenode.http) as asker:
        reply = asker.ask("GET", target, headers=namenode.access.headers(USER))
    return str(json.loads(reply.body)["Token"]["urlString"])


if __name__ == "__main__":
    main()
