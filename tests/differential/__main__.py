"""`make differential`: the long run against a cluster of its own."""

import os
import sys
import time
from functools import partial

import click
from rich.console import Console
from rich.progress import Progress, TaskID

from testbed import Cluster, ClusterSpec
from testbed.jars import DEFAULT_HADOOP_VERSION
from tests.differential.figures import Figures
from tests.differential.run import GLOBS, TWO_STEP_WINDOW_S, run_for
from tests.world import proxied


@click.command()
@click.option("--operations", default=2_000, show_default=True, help="Operations per seed.")
@click.option("--seed", "seeds", multiple=True, type=int, default=(1,), show_default=True, help="Repeatable.")
@click.option("--p50-ms", default=50.0, show_default=True, help="Median after which a change must be seen.")
@click.option(
    "--hadoop",
    default=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION,
    show_default=True,
    help="Hadoop release of the cluster.",
)
def main(operations: int, seeds: tuple[int, ...], p50_ms: float, hadoop: str) -> None:
    """Make random operations and compare every answer of the proxy with the NameNode's own."""
    console = Console(stderr=True)
    shortfalls = []
    with Cluster.start(ClusterSpec(hadoop_version=hadoop), progress=console.print) as cluster:
        for seed in seeds:
            started = time.monotonic()
            with (
                proxied(cluster, *GLOBS, two_step_window_s=TWO_STEP_WINDOW_S) as world,
                Progress(console=console) as bar,
            ):
                task = bar.add_task(f"seed {seed}", total=operations)
                figures = run_for(
                    world, seed=seed, operations=operations, progress=partial(_advance, bar, task)
                )
            _show(seed, figures, time.monotonic() - started, hadoop)
            shortfalls += [f"seed {seed}: {what}" for what in figures.shortfalls(p50_ms=p50_ms)]
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


def _advance(bar: Progress, task: TaskID, operations: int) -> None:
    bar.update(task, completed=operations)


def _show(seed: int, figures: Figures, seconds: float, hadoop: str) -> None:
    click.echo(f"seed {seed}, Hadoop {hadoop}, {seconds:.0f} s")
    for line in figures.lines():
        click.echo("  " + line)


if __name__ == "__main__":
    main()
