"""Measure how the CPU for each hit grows: `make bench-growth`.

Starts a real NameNode and, for each size, an nncache of its own; where connections grow also nginx, and the least that
Python can do (the floor). Loads them in turn, all others idle; prints a table, leaves a chart and the rounds in a
directory, and exits with 1 when a figure falls short.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from nncache.bench.growth.drawing import draw
from nncache.bench.growth.figures import SIZES, WAYS, Growth, Round, in_turn, lines, verdicts
from nncache.bench.growth.measuring import measure, warm_up
from nncache.bench.growth.stand import make_paths, stand
from nncache.bench.servers.nginx import find_nginx
from nncache.bench.wrk import find_wrk, let_open
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.spec import FULL_SPEED_JVM

_SHORTFALL: Final = 1


@click.command(context_settings={"show_default": True})
@click.option("--seconds", default=2.0, type=click.FloatRange(min=0.5), help="Of load in each round.")
@click.option("--rounds", default=6, type=click.IntRange(1), help="Of each growth.")
@click.option(
    "--warm-up", default=1.0, type=click.FloatRange(min=0.5), help="Seconds of load on each size before."
)
@click.option(
    "--max-entries", default=1_000_000, type=click.IntRange(1_000), help="Larger caches are left out."
)
@click.option("--only", default="", help="Only what has this in its text.")
@click.option(
    "--out", default="build/bench-growth", type=click.Path(path_type=Path), help="Directory of the chart."
)
def main(seconds: float, rounds: int, warm_up: float, max_entries: int, only: str, out: Path) -> None:
    """Measure the CPU for each hit by filters, entries, callers and connections."""
    growths = [growth for growth in Growth if only in growth]
    if not growths:
        raise click.BadParameter(f"--only {only}: there are {'; '.join(Growth)}")
    found = list[Round]()
    try:
        find_wrk()
        find_nginx()
        let_open(max(SIZES[Growth.CONNECTIONS]))
        spec = ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False)
        with Cluster.start(spec) as cluster:
            make_paths(cluster)
            for growth in growths:
                found += _rounds(growth, cluster, max_entries, rounds, seconds, warm_up)
    except TestbedError as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(lines(found)))
    judged = verdicts(found)
    for each in judged:
        click.echo(f"{'met  ' if each.is_met else 'SHORT'} {each.what}: {each.seen}")
    out.mkdir(parents=True, exist_ok=True)
    (out / "rounds.json").write_text(json.dumps([asdict(each) for each in found], indent=1), encoding="utf-8")
    draw(found, out / "growth.svg")
    click.echo(f"chart and rounds: {out}")
    if not all(each.is_met for each in judged):
        sys.exit(_SHORTFALL)


def _rounds(
    growth: Growth, cluster: Cluster, max_entries: int, rounds: int, seconds: float, warm_up_s: float
) -> Iterator[Round]:
    click.echo(f"{growth}: starting and filling all sizes")
    with stand(growth, cluster, max_entries) as subjects:
        for each in subjects:
            warm_up(each)
            for way in WAYS[growth]:
                measure(each, way, 0, warm_up_s)
        for number in range(1, rounds + 1):
            for way in WAYS[growth]:
                for each in in_turn(subjects, number):
                    done = measure(each, way, number, seconds)
                    click.echo(
                        f"{growth}, {way}, round {number} of {rounds}, {done.name} with {done.size:,}: "
                        f"{done.per_hit_s * 1e6:,.2f} µs for each of {done.hits:,} hits"
                    )
                    yield done
