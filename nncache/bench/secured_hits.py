"""What an answer from memory costs with a cookie, with a token and over TLS.

`make bench-secure`: one way after the other, round by round, in CPU of the server for each request as the operating
system counts it. Beside them stand the same without any of that, and nginx with TLS and a cache.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from statistics import median
from typing import Final

import click

from nncache.bench.servers.counters import use_of
from nncache.bench.servers.nginx import nginx
from nncache.bench.wrk import ask_for, find_wrk
from nncache.testbed import Cluster, ClusterSpec, Kerberos
from nncache.testbed.asker import Asker
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import Proxy
from nncache.testbed.errors import TestbedError
from nncache.testbed.kdc import keytab
from nncache.testbed.ports import PortLease
from nncache.testbed.spec import REALM

PATHS: Final = 500
ROOT: Final = "/bench-secure"
CONNECTIONS: Final = 64
USER: Final = "alice"
MOST_OF_PLAIN: Final = 1.1
"""What a hit with a cookie or a token may cost of one without."""
MOST_OF_NGINX: Final = 1.3
"""What a hit over TLS may cost of one of nginx over TLS."""

_GLOB: Final = f"{ROOT}/*"
_SHORTFALL: Final = 1
_SCRIPT: Final = """\
local requests, number = {{}}, 0
init = function()
{cookie}
  for path = 0, {paths} - 1 do
    requests[path] = wrk.format("GET", string.format("/webhdfs/v1{root}/%d?op=GETFILESTATUS{query}", path))
  end
end
request = function()
  number = (number + 1) % {paths}
  return requests[number]
end
"""


@dataclass(frozen=True, slots=True)
class Way:
    """One way of asking.

    Attributes:
        pid: of the server whose CPU counts.
        query: what stands behind the operation.
        cookie: name and value; "": none.
    """

    name: str
    address: str
    pid: int
    scheme: str = "http"
    query: str = ""
    cookie: str = ""

    @property
    def script(self) -> str:
        """What wrk asks for."""
        cookie = f'  wrk.headers["Cookie"] = {json.dumps(self.cookie)}' if self.cookie else ""
        return _SCRIPT.format(paths=PATHS, root=ROOT, query=self.query, cookie=cookie)


PLAIN, TLS, COOKIE, TOKEN, NGINX, NGINX_TLS = (
    "without authentication",
    "over TLS",
    "with a cookie",
    "with a delegation token",
    "nginx",
    "nginx over TLS",
)


def cost_s(way: Way, seconds: int) -> float:
    """Load a server for so long; return its CPU seconds for each request.

    Raises:
        TestbedError: a request failed.
    """
    before = use_of(way.pid)[0]
    counted = ask_for(way.address, way.script, connections=CONNECTIONS, seconds=seconds, scheme=way.scheme)
    if counted.failed or not counted.requests:
        raise TestbedError(f"{way.name}: {counted.failed} of {counted.requests} requests failed")
    return (use_of(way.pid)[0] - before) / counted.requests


def verdicts(costs: Mapping[str, list[float]]) -> list[tuple[str, float, float, bool]]:
    """Compare medians: what, the ratio, the most that it may be, and whether that is met."""
    found = {name: median(each) for name, each in costs.items()}
    compared = (
        (f"{COOKIE}, of one {PLAIN}", found[COOKIE] / found[PLAIN], MOST_OF_PLAIN),
        (f"{TOKEN}, of one {PLAIN}", found[TOKEN] / found[PLAIN], MOST_OF_PLAIN),
        (f"{TLS}, of {NGINX_TLS}", found[TLS] / found[NGINX_TLS], MOST_OF_NGINX),
    )
    return [(what, ratio, most, ratio <= most) for what, ratio, most in compared]


@click.command(context_settings={"show_default": True})
@click.option("--seconds", default=4, type=click.IntRange(1), help="Of load in each round.")
@click.option("--rounds", default=7, type=click.IntRange(1), help="Of each way.")
@click.option(
    "--out", default="build/bench-secure", type=click.Path(path_type=Path), help="Directory of the figures."
)
def main(seconds: int, rounds: int, out: Path) -> None:
    """Measure what a hit costs with a cookie, with a token and over TLS."""
    costs: dict[str, list[float]] = {}
    try:
        find_wrk()
        with _stand() as ways:
            for way in ways:
                cost_s(way, seconds)  # so that all is in memory
            for number in range(1, rounds + 1):
                for way in ways:
                    costs.setdefault(way.name, []).append(cost_s(way, seconds))
                    click.echo(
                        f"round {number} of {rounds}, {way.name}: {costs[way.name][-1] * 1e6:.2f} µs of CPU a request"
                    )
    except TestbedError as error:
        raise click.ClickException(str(error)) from error
    out.mkdir(parents=True, exist_ok=True)
    (out / "costs.json").write_text(json.dumps(costs, indent=1), encoding="utf-8")
    for name, each in costs.items():
        click.echo(
            f"{name}: {median(each) * 1e6:.2f} µs (rounds: {min(each) * 1e6:.2f} to {max(each) * 1e6:.2f})"
        )
    judged = verdicts(costs)
    for what, ratio, most, is_met in judged:
        click.echo(f"{'met  ' if is_met else 'SHORT'} {what}: {ratio:.2f} (at most {most:g})")
    if not all(is_met for *_, is_met in judged):
        sys.exit(_SHORTFALL)


@contextmanager
def _stand() -> Iterator[tuple[Way, ...]]:
    """Start two clusters, with Kerberos and without, and the servers in front of them."""
    with ExitStack() as running:
        plain = running.enter_context(Cluster.start(ClusterSpec(with_datanode=False)))
        secured = running.enter_context(Cluster.start(ClusterSpec(with_datanode=False, kerberos=Kerberos())))
        for cluster in (plain, secured):
            _make(cluster)
        ports = running.enter_context(PortLease())
        place = running.enter_context(tempfile.TemporaryDirectory(prefix="nncache-bench-"))
        authority = Authority(Path(place))
        issued = authority.issue("server")
        tls = f"localhost:{ports.take()}"
        with_tls = (
            *("--tls-listen", tls, "--tls-certificate", str(issued.chain), "--tls-key", str(issued.key)),
            *("--glob", _GLOB),
        )
        namenode = plain.namenodes[0]
        ours = running.enter_context(
            Proxy("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc, *with_tls)
        )
        theirs = running.enter_context(_secured_proxy(secured))
        for proxy in (ours, theirs):
            proxy.await_gate()
        first = running.enter_context(nginx(namenode.http, valid_s=3600))
        second = running.enter_context(nginx(namenode.http, valid_s=3600, certificate=issued))
        cookie = secured.namenodes[0].access.headers(USER)["Cookie"]
        named = f"&user.name={USER}"
        yield (
            Way(PLAIN, ours.address, ours.process.running_pid, query=named),
            Way(COOKIE, theirs.address, theirs.process.running_pid, cookie=cookie),
            Way(TOKEN, theirs.address, theirs.process.running_pid, query=f"&delegation={_token(secured)}"),
            Way(TLS, tls, ours.process.running_pid, "https", named),
            Way(NGINX, first.address, first.processes["nginx"], query=named),
            Way(NGINX_TLS, second.address, second.processes["nginx"], "https", named),
        )


@contextmanager
def _secured_proxy(cluster: Cluster) -> Iterator[Proxy]:
    """Run a proxy that reads the edits with a keytab."""
    namenode, kdc = cluster.namenodes[0], cluster.kdc
    assert kdc is not None
    own = keytab(kdc.directory, "nncache")
    own.chmod(0o400)
    os.environ.update(kdc.environ())  # as which the proxy finds the KDC
    flags = ("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc, "--glob", _GLOB)
    identity = ("--principal", f"nncache/_HOST@{REALM}", "--keytab", str(own))
    with Proxy(*flags, *identity) as proxy:
        yield proxy


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
