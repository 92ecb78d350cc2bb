"""Measure clients that wait with `Prefer: wait`: `make bench-waiting`.

Starts a real NameNode and nncache, lets many clients wait, and makes the files that they wait for: one after the
other, in waves, and one for all of them. Prints a line for each figure, leaves them in a directory, and exits with 1
when one falls short. (bench/waiting/command.py)
"""

import asyncio
import json
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from nncache.bench.apart import apart, next_of
from nncache.bench.connects.heads import PATHS as POLLED_PATHS
from nncache.bench.connects.heads import ROOT as POLLED_ROOT
from nncache.bench.connects.heads import path_of as polled_path
from nncache.bench.servers.nncache import Channel, nncache
from nncache.bench.waiting import clients
from nncache.bench.waiting.figures import Delivered, Held, lines, verdicts
from nncache.bench.waiting.measuring import TIMEOUT_S, Stand, deliver, hold
from nncache.bench.waiting.questions import GLOB, Series
from nncache.bench.waiting.writer import Wave, evenly, in_waves, make_directories
from nncache.bench.wrk import let_open
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.spec import FULL_SPEED_JVM

_CALLERS: Final = 2
"""Of each path."""

_PROCESSES: Final = 2
_WAVES: Final = 10
_WAVE_EVERY_S: Final = 1.0
_SHORTFALL: Final = 1


@click.command(context_settings={"show_default": True})
@click.option("--clients", "count", default=10_000, type=click.IntRange(2), help="That wait.")
@click.option("--paths", default=1_000, type=click.IntRange(1), help="For which they do.")
@click.option(
    "--over", "over_s", default=20.0, type=click.FloatRange(1), help="Seconds in which all files appear."
)
@click.option(
    "--quiet", "quiet_s", default=10.0, type=click.FloatRange(1), help="Seconds in which nothing changes."
)
@click.option("--channel", default=str(Channel.ZOOKEEPER), type=click.Choice([str(each) for each in Channel]))
@click.option(
    "--out", default="build/bench-waiting", type=click.Path(path_type=Path), help="Directory of the figures."
)
def main(count: int, paths: int, over_s: float, quiet_s: float, channel: str, out: Path) -> None:
    """Measure what clients that wait see, and what they cost."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        let_open(count + 100)
        with ExitStack() as running:
            spec = ClusterSpec(
                namenode_jvm=FULL_SPEED_JVM,
                with_datanode=False,
                with_zookeeper=channel == Channel.ZOOKEEPER,
            )
            cluster = running.enter_context(Cluster.start(spec))
            held, delivered = measure(cluster, Channel(channel), count, paths, over_s, quiet_s)
    except (TestbedError, OSError) as error:
        raise click.ClickException(str(error)) from error
    figures = {"held": asdict(held), "delivered": [asdict(each) for each in delivered]}
    (out / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    click.echo("\n".join(lines(held, delivered)))
    judged = verdicts(held, delivered)
    for verdict in judged:
        click.echo(f"{'met  ' if verdict.is_met else 'SHORT'} {verdict.what}: {verdict.seen}")
    if not all(verdict.is_met for verdict in judged):
        sys.exit(_SHORTFALL)


def measure(
    cluster: Cluster, channel: Channel, count: int, paths: int, over_s: float, quiet_s: float
) -> tuple[Held, list[Delivered]]:
    """Have them wait, at rest and then for three series of files."""
    one_by_one = Series(name="evenly", paths=paths, callers=_CALLERS)
    plan: tuple[tuple[Series, list[Wave], str], ...] = (
        (one_by_one, evenly(paths, over_s), f"{paths:,} files in {over_s:g} s"),
        (
            Series(name="waves", paths=paths, callers=_CALLERS),
            in_waves(paths, _WAVES, _WAVE_EVERY_S),
            f"{_WAVES} waves of {paths / _WAVES:g} files",
        ),
        (Series(name="one", paths=1, callers=_CALLERS), evenly(1, 1.0), "one file for all"),
    )
    made = [series.path(number) for series, _, _ in plan for number in range(series.paths)]
    asyncio.run(
        make_directories(cluster, [*made, *(f"{polled_path(number)}/_" for number in range(POLLED_PATHS))])
    )
    with ExitStack() as running:
        server = running.enter_context(nncache(cluster, (GLOB, f"{POLLED_ROOT}/*"), channel))
        stand = Stand(cluster=cluster, running=server, clients=(), count=count)
        before_bytes = stand.memory
        stand = Stand(
            cluster=cluster,
            running=server,
            clients=[
                running.enter_context(
                    apart(
                        clients.run, server.address, range(first, count, _PROCESSES), f"127.0.0.{2 + first}"
                    )
                )
                for first in range(_PROCESSES)
            ],
            count=count,
        )
        for pipe in stand.clients:
            next_of(pipe, TIMEOUT_S)
        held = hold(stand, one_by_one, quiet_s, before_bytes=before_bytes)
        click.echo(lines(held, ())[1])
        delivered = list[Delivered]()
        for number, (series, waves, how) in enumerate(plan):
            if number:
                stand.ask(series)
            delivered.append(deliver(stand, series, waves, how))
            click.echo(lines(held, delivered)[-1])
    return held, delivered
