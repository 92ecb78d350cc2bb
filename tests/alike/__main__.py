"""`make alike`: compare the replies of the fast path and of direct calls with those of the ordinary path."""

import sys

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

from tests.alike import run


@click.command(context_settings={"show_default": True})
@click.option("--requests", default=1_000_000, help="How many are compared, at least.")
@click.option("--seed", default=1, help="Of all conversations.")
@click.option("--first", default=1, help="Number of the conversation to begin with.")
def main(*, requests: int, seed: int, first: int) -> None:
    """Hold conversations with and without the quick ways; fail if a byte differs, or if few were quick."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("requests", total=requests)
        figures = run.compare(
            requests=requests,
            seed=seed,
            first=first,
            progress=lambda so_far: bar.update(task, completed=so_far.counts["requests"]),
        )
    click.echo(figures.line())
    for step in figures.reported:
        click.echo(f"  {step}")
    for what in figures.shortfalls(requests=requests):
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(figures.shortfalls(requests=requests)))


if __name__ == "__main__":
    main()
