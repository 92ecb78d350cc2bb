"""`make races`: hold fills, writes and event consumers at every place where they wait."""

import os
import sys
from functools import partial

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TaskID, TimeElapsedColumn

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.races import fills, model, parts, real
from tests.races.figures import Figures

_WHOLE_SHARE = 0.04
"""The share of races in the model with the whole system, which take ten times as long as fills alone."""

_SHAKEN_SHARE = 0.04
"""The share of races on the real stack with a slow or unavailable NameNode; they take longer."""


@click.command()
@click.option("--model", "model_races", default=1_000_000, show_default=True, help="Races in the model.")
@click.option("--real", "real_races", default=5_000, show_default=True, help="Races on the real stack.")
@click.option("--seed", default=1, show_default=True)
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes of the model.")
@click.option(
    "--hadoop",
    default=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION,
    show_default=True,
    help="Hadoop release of the cluster.",
)
@click.option("--places", "shows_places", is_flag=True, help="Show the races held at each place.")
def main(*, model_races: int, real_races: int, seed: int, jobs: int, hadoop: str, shows_places: bool) -> None:
    """Force races in the model and on the real stack; fail on a violation, or if too little is proven."""
    console = Console(stderr=True)
    all_parts, shortfalls = Figures("all"), list[str]()
    with Progress(
        *Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    ) as bar:
        if model_races:
            whole = round(model_races * _WHOLE_SHARE)
            for run, races, name in (
                (fills.run, model_races - whole, fills.PART),
                (model.run, whole, model.PART),
            ):
                task = bar.add_task(name, total=races)
                _take(run(races, seed, jobs, partial(_show, bar, task)), races, all_parts, shortfalls)
        if real_races:
            with Cluster.start(ClusterSpec(hadoop_version=hadoop, with_zookeeper=True)) as cluster:
                for make, races in _shares(real_races):
                    with make(cluster) as part:
                        task = bar.add_task(part.name, total=races)
                        figures = real.run(part, races=races, seed=seed, progress=partial(_show, bar, task))
                    _take(figures, races, all_parts, shortfalls)
    if shows_places:
        for line in all_parts.by_place(real.PLACES.all):
            click.echo(line)
    if model_races and real_races:  # neither alone reaches all places
        shortfalls += all_parts.unvisited(real.PLACES.all)
    held = sum(1 for place in real.PLACES.all if all_parts.held[place])
    click.echo(f"held at {held} of {len(real.PLACES.all)} places; the others are exempted or named below")
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


def _shares(races: int) -> tuple[tuple[parts.Make, int], ...]:
    shaken = round(races * _SHAKEN_SHARE)
    half = (races - shaken) // 2
    return (parts.direct, races - shaken - half), (parts.zookeeper, half), (parts.shaken, shaken)


def _take(figures: Figures, races: int, all_parts: Figures, shortfalls: list[str]) -> None:
    for line in figures.lines():
        click.echo(line)
    shortfalls += figures.shortfalls(races=races)
    all_parts.add(figures)


def _show(bar: Progress, task: TaskID, races: int) -> None:
    bar.update(task, completed=races)


if __name__ == "__main__":
    main()
