"""`make differential`: the long run against a cluster of its own, on both channels."""

import math
import os
import sys
import time
from functools import partial

import click
from rich.console import Console
from rich.progress import Progress, TaskID

from testbed import Cluster, ClusterSpec
from testbed.jars import DEFAULT_HADOOP_VERSION
from tests.channels import Channel, proxied
from tests.differential.figures import Figures
from tests.differential.run import GLOBS, TWO_STEP_WINDOW_S, run_for
from tests.differential.segment import Meter, fill_segment

CHANNELS = [channel.value for channel in Channel]


@click.command()
@click.option("--operations", default=2_000, show_default=True, help="Operations per seed and channel.")
@click.option("--seed", "seeds", multiple=True, type=int, default=(1,), show_default=True, help="Repeatable.")
@click.option("--p50-ms", default=50.0, show_default=True, help="Median after which a change must be seen.")
@click.option(
    "--channel", "channels", multiple=True, type=click.Choice(CHANNELS), default=CHANNELS, help="Repeatable."
)
@click.option(
    "--segment-txids",
    default=0,
    show_default=True,
    help="Begin with so many transactions in the open edit segment, and never roll it: only wrong answers count.",
)
@click.option(
    "--hadoop",
    default=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION,
    show_default=True,
    help="Hadoop release of the cluster.",
)
def main(
    operations: int,
    seeds: tuple[int, ...],
    p50_ms: float,
    channels: tuple[str, ...],
    segment_txids: int,
    hadoop: str,
) -> None:
    """Make random operations and compare every answer of the proxy with the NameNode's own."""
    console = Console(stderr=True)
    shortfalls = []
    polling: dict[str, object] = {"roll_interval_s": 0} if segment_txids else {}
    spec = ClusterSpec(hadoop_version=hadoop, with_zookeeper=True)
    with Cluster.start(spec, progress=console.print) as cluster:
        if segment_txids:
            with Progress(console=console) as bar:
                task = bar.add_task("filling the edit segment", total=segment_txids)
                fill_segment(cluster, segment_txids, partial(_advance, bar, task))
        for channel, seed in ((Channel(name), seed) for name in channels for seed in seeds):
            started = time.monotonic()
            with (
                proxied(
                    cluster,
                    *GLOBS,
                    channel=channel,
                    polling=polling,
                    two_step_window_s=TWO_STEP_WINDOW_S,
                ) as world,
                Progress(console=console) as bar,
            ):
                meter = Meter.start(cluster, world.publisher or world.proxy)
                task = bar.add_task(f"{channel.value}, seed {seed}", total=operations)
                figures = run_for(
                    world, seed=seed, operations=operations, progress=partial(_advance, bar, task)
                )
                used = meter.line()
            click.echo(f"{channel.value}, seed {seed}, Hadoop {hadoop}, {time.monotonic() - started:.0f} s")
            _show(figures, used)
            short = (
                figures.shortfalls(p50_ms=math.inf, hit_share=0.0)
                if segment_txids
                else figures.shortfalls(p50_ms=p50_ms)
            )
            shortfalls += [f"{channel.value}, seed {seed}: {what}" for what in short]
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


def _advance(bar: Progress, task: TaskID, operations: int) -> None:
    bar.update(task, completed=operations)


def _show(figures: Figures, used: str) -> None:
    for line in (*figures.lines(), used):
        click.echo("  " + line)


if __name__ == "__main__":
    main()
