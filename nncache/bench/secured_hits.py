"""The cost of an answer from memory with a cookie, with a token and over TLS: `make bench-secure`.

Each round measures all methods in turn, in CPU of the server for each request. For comparison it also measures hits
without authentication and TLS, and nginx with a cache, with and without TLS.
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

from nncache.bench.cost import LoadRound, Target, by_server, each_s, in_rounds, measured, table
from nncache.bench.servers.caches import nginx
from nncache.bench.servers.running import RunningServer
from nncache.bench.shared.driver import BenchResult, Figure, benchmark, none_of
from nncache.bench.wrk import Counted, ask_for, round_robin
from nncache.testbed import Cluster, ClusterSpec, Kerberos
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import ProxyDaemon
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
"""Maximum CPU of a hit by the first method, relative to the second."""

_GLOB: Final = f"{ROOT}/*"


@dataclass(frozen=True, slots=True)
class AuthMethod:
    """One way to authenticate and send requests."""

    target: Target
    query: str = ""  # appended to the operation
    cookie: str = ""  # name and value; "": none
    scheme: str = "http"

    def load(self, seconds: int) -> Counted:
        """Load the server for this duration."""
        cookie = f'wrk.headers["Cookie"] = {json.dumps(self.cookie)}\n' if self.cookie else ""
        target = f'string.format("/webhdfs/v1{ROOT}/%d?op=GETFILESTATUS{self.query}", path)'
        script, address = cookie + round_robin(target, PATHS), self.target.running.address
        return ask_for(address, script, connections=CONNECTIONS, seconds=seconds, scheme=self.scheme)


@benchmark("bench-secure")
@click.option("--seconds", default=4, type=click.IntRange(1), help="Of load in each round.")
@click.option("--rounds", default=7, type=click.IntRange(1), help="Of each way.")
def main(seconds: int, rounds: int) -> BenchResult:
    """Measure the cost of a hit with a cookie, with a token and over TLS."""
    find_program("wrk")
    with _servers() as ways:
        for way in ways:
            way.load(seconds)  # fills the cache
        found = [
            *in_rounds(ways, rounds, lambda way, n: measured(way.target, lambda: way.load(seconds), "hit", n))
        ]
    return BenchResult(figures=judge(found), table=table(found), rounds=found)


def judge(rounds: Sequence[LoadRound]) -> list[Figure]:
    """Compare medians, so that a single disturbed round has no effect."""
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
        ours = running.enter_context(ProxyDaemon(*plain.flags, *with_tls))
        theirs = running.enter_context(_secured_proxy(secured))
        for proxy in (ours, theirs):
            proxy.await_gate()
        first = running.enter_context(nginx(namenode.http, valid_s=3600))
        second = running.enter_context(nginx(namenode.http, valid_s=3600, certificate=issued))
        cookie = secured.namenodes[0].access.headers(USER)["Cookie"]
        given = secured.namenodes[0].ask("GET", f"/webhdfs/v1/?op=GETDELEGATIONTOKEN&renewer={USER}", USER)
        token = f"&delegation={json.loads(given.body)['Token']['urlString']}"
        named = f"&user.name={USER}"
        unencrypted, encrypted, own = (
            RunningServer(address=address, processes={"proxy": proxy.process.running_pid})
            for address, proxy in ((ours.address, ours), (tls, ours), (theirs.address, theirs))
        )
        pid, secured_pid = namenode.process.running_pid, secured.namenodes[0].process.running_pid
        yield (
            AuthMethod(Target(PLAIN, unencrypted, pid), named),
            AuthMethod(Target(COOKIE, own, secured_pid), cookie=cookie),
            AuthMethod(Target(TOKEN, own, secured_pid), token),
            AuthMethod(Target(TLS, encrypted, pid), named, scheme="https"),
            AuthMethod(Target(NGINX, first, pid), named),
            AuthMethod(Target(NGINX_TLS, second, pid), named, scheme="https"),
        )


def _secured_proxy(cluster: Cluster) -> ProxyDaemon:
    """Return a proxy that reads the edits with a keytab's credentials."""
    kdc = cluster.kdc
    assert kdc is not None
    own = keytab(kdc.directory, "nncache")
    os.environ.update(kdc.environ())  # the proxy finds the KDC through it
    identity = ("--principal", f"nncache/_HOST@{REALM}", "--keytab", str(own))
    return ProxyDaemon(*cluster.flags, "--glob", _GLOB, *identity)


def _make(cluster: Cluster) -> None:
    """Create the directories that are requested."""
    for number in range(PATHS):
        target = f"/webhdfs/v1{ROOT}/{number}?op=MKDIRS&user.name={cluster.superuser}"
        reply = cluster.namenodes[0].ask("PUT", target, cluster.superuser)
        if reply.status != HTTPStatus.OK:
            raise TestbedError(f"{target}: {reply.status} {reply.body!r}")


if __name__ == "__main__":
    main()
