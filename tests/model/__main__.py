"""`make model`: run many seeded histories of the whole system, in parallel processes."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.model.channels import ChannelName
from tests.model.figures import Figures, tell_chunk
from tests.model.history import STEPS, begin

_CHUNK = 100


@click.command()
@click.option("--histories", default=100_000, show_default=True, help="How many.")
@click.option("--seed", default=1, show_default=True, help="Of the first; each has the next one.")
@click.option("--steps", default=STEPS, show_default=True, help="Acts in each history.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Processes side by side.")
@click.option(
    "--channel",
    type=click.Choice([channel.value for channel in ChannelName]),
    help="Tell all on this one; else the seed decides.",
)
def main(histories: int, seed: int, steps: int, jobs: int, channel: str | None) -> None:
    """Run random histories of the whole system and judge every guarantee after each step."""
    figures = Figures()
    chunks = [
        range(first, min(first + _CHUNK, seed + histories)) for first in range(seed, seed + histories, _CHUNK)
    ]
    reported = partial(tell_chunk, steps=steps, channel=ChannelName(channel) if channel else None)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=begin) as processes,
        Progress(*columns, console=Console(stderr=True)) as bar,
    ):
        task = bar.add_task("histories", total=histories)
        for done in as_completed([processes.submit(reported, chunk) for chunk in chunks]):
            figures.add(done.result())
            bar.update(task, completed=figures.histories)
            if figures.violations:
                bar.update(task, description=f"histories, {len(figures.violations)} with a violation")
    shortfalls = figures.shortfalls(histories=histories, steps=min(steps, STEPS))
    for line in figures.lines():
        click.echo(line)
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
