"""Measure what a request costs, by its shape: `make bench-http`.

Starts a real NameNode, nncache, nginx and HAProxy, and loads them in turn; prints a table, leaves a chart and the
rounds in a directory, and exits with 1 when a figure falls short.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from nncache.bench.at_once import at_once
from nncache.bench.request_cost.drawing import draw
from nncache.bench.request_cost.figures import AT_THE_NAMENODE, IDLE, Name, Round, Shape, lines, verdicts
from nncache.bench.request_cost.floor import floor
from nncache.bench.request_cost.load import (
    CONNECTIONS,
    PATHS,
    ROOT,
    Idle,
    Target,
    bytes_per_connection,
    listed_path_of,
    measure,
    measure_idle,
    path_of,
)
from nncache.bench.servers.haproxy import find_haproxy, haproxy
from nncache.bench.servers.nginx import find_nginx, nginx
from nncache.bench.servers.nncache import Channel, nncache
from nncache.bench.servers.running import Running
from nncache.bench.wrk import find_wrk, let_open
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.spec import FULL_SPEED_JVM

SERVERS: Final = {
    Shape.REPEATED: (Name.NGINX, Name.HAPROXY, Name.FLOOR, Name.NNCACHE),
    Shape.REPEATED_BY_MANY: (Name.NGINX, Name.NNCACHE),
    Shape.VARYING: (Name.NGINX, Name.HAPROXY, Name.NNCACHE),
    Shape.CONNECTION_EACH: (Name.NGINX, Name.HAPROXY, Name.NNCACHE),
    Shape.CLOSE: (Name.NGINX, Name.NNCACHE),
    Shape.HTTP_1_0: (Name.NGINX, Name.NNCACHE),
    Shape.FORWARDED: (Name.NAMENODE, Name.NGINX, Name.NNCACHE),
    Shape.OUTSIDE: (Name.NGINX, Name.NNCACHE),
    Shape.MISS: (Name.NGINX, Name.NNCACHE),
    Shape.ALONE: (Name.NAMENODE, Name.NGINX, Name.NNCACHE),
}
"""Who is asked in each shape, in turn."""

ROUNDS: Final = {Shape.REPEATED: 10, Shape.REPEATED_BY_MANY: 10}
_ROUNDS: Final = 5  # of the others
_LISTED: Final = 20  # names in each directory that is listed
_WARM_UP_S: Final = 2
_WARM_UP_MISSES_S: Final = (
    20  # what a NameNode does about a path that is not there is not what it was warmed up with
)
_IDLE_S: Final = 5.0
_SHORTFALL: Final = 1


@click.command(context_settings={"show_default": True})
@click.option("--seconds", default=4, type=click.IntRange(1), help="Of load in each round.")
@click.option("--rounds", default=0, type=click.IntRange(0), help="Of each shape; 0: 10 or 5.")
@click.option(
    "--warm-up", default=60, type=click.IntRange(1), help="Seconds of load for the NameNode's JVM before."
)
@click.option("--only", default="", help="Only what has this in its text.")
@click.option(
    "--out", default="build/bench-http", type=click.Path(path_type=Path), help="Directory of the chart."
)
def main(seconds: int, rounds: int, warm_up: int, only: str, out: Path) -> None:
    """Measure requests per CPU-second by the shape of the load, beside nginx and HAProxy."""
    shapes = [shape for shape in Shape if only in shape]
    if not shapes and only not in IDLE:
        raise click.BadParameter(f"--only {only}: there are {'; '.join((*Shape, IDLE))}")
    found, idle_bytes = list[Round](), dict[Name, float]()
    try:
        find_wrk()
        let_open(max(CONNECTIONS.values()))
        find_nginx()
        find_haproxy()
        with _stand() as (cached, forwarded):
            click.echo(f"warming the NameNode up for {warm_up} s")
            measure(Shape.FORWARDED, forwarded[Name.NAMENODE], warm_up)
            if only in IDLE:
                idle_bytes = {name: bytes_per_connection(cached[name]) for name in (Name.NGINX, Name.NNCACHE)}
            for shape in shapes:
                found += _rounds(shape, cached, forwarded, rounds or ROUNDS.get(shape, _ROUNDS), seconds)
    except TestbedError as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(lines(found, idle_bytes)))
    judged = verdicts(found, idle_bytes)
    for each in judged:
        click.echo(f"{'met  ' if each.is_met else 'SHORT'} {each.what}: {each.seen}")
    out.mkdir(parents=True, exist_ok=True)
    (out / "rounds.json").write_text(json.dumps([asdict(each) for each in found], indent=1), encoding="utf-8")
    if found:
        draw(found, out / "http.svg")
    click.echo(f"chart and rounds: {out}")
    if not all(each.is_met for each in judged):
        sys.exit(_SHORTFALL)


def _rounds(
    shape: Shape, cached: dict[Name, Target], forwarded: dict[Name, Target], rounds: int, seconds: int
) -> Iterator[Round]:
    is_forwarded = shape in AT_THE_NAMENODE
    targets = forwarded if is_forwarded else cached
    for name in SERVERS[shape]:
        measure(shape, targets[name], _WARM_UP_MISSES_S if shape is Shape.MISS else _WARM_UP_S)
    # A NameNode sets the rate here, and a slow one would have each call pay for more of what is done beside it.
    idle: dict[Name, Idle] = {}
    if is_forwarded:
        time.sleep(_IDLE_S)  # a JVM goes on compiling for a while
        idle = measure_idle([targets[name] for name in SERVERS[shape]], _IDLE_S)
        click.echo(
            "without load: " + ", ".join(f"{name} {each.server:.3f} CPUs" for name, each in idle.items())
        )
    for number in range(1, rounds + 1):
        for name in SERVERS[shape]:
            done = measure(shape, targets[name], seconds, idle.get(name, Idle()))
            click.echo(
                f"{shape}, round {number} of {rounds}, {name}: {done.per_cpu_s:,.0f} for each CPU-second"
            )
            yield done


@contextmanager
def _stand() -> Iterator[tuple[dict[Name, Target], dict[Name, Target]]]:
    """Start all servers; yield those that cache, and those that forward what is listed."""
    with ExitStack() as running:
        spec = ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False)
        cluster = running.enter_context(Cluster.start(spec))
        namenode = cluster.namenodes[0]
        asyncio.run(_make(cluster))
        pid = namenode.process.running_pid
        direct = Running(address=namenode.http, processes={"namenode": pid})
        ours = running.enter_context(nncache(cluster, (f"{ROOT}/?/*",), Channel.DIRECT))
        cached = {
            Name.NGINX: running.enter_context(nginx(namenode.http, valid_s=3600)),
            Name.HAPROXY: running.enter_context(haproxy(namenode.http)),
            Name.FLOOR: running.enter_context(floor(namenode.http)),
            Name.NNCACHE: ours,
        }
        plain = running.enter_context(nginx(namenode.http, valid_s=None))
        forwarded = {Name.NAMENODE: direct, Name.NGINX: plain, Name.NNCACHE: ours}
        yield _targets(cached, pid), _targets(forwarded, pid)


def _targets(servers: dict[Name, Running], namenode_pid: int) -> dict[Name, Target]:
    return {
        name: Target(name, each.address, tuple(each.processes.values()), namenode_pid)
        for name, each in servers.items()
    }


async def _make(cluster: Cluster) -> None:
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        await at_once(hdfs.mkdirs(path_of(number)) for number in range(PATHS))
        listed: Sequence[str] = [
            f"{listed_path_of(number)}/{name}" for number in range(10) for name in range(_LISTED)
        ]
        await at_once(hdfs.mkdirs(path) for path in listed)
