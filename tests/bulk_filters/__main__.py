"""`make bulk-filters`: 5,000 filters from one file, on a cluster of its own."""

import tempfile
from pathlib import Path

import click

from tests.bulk_filters.run import run_bulk
from tests.cluster import make_directory
from tests.real.command import conclude, show, started

ROOT = "/bulk"


@click.command()
@click.option("--filters", default=5_000, show_default=True, help="Filters in the file.")
@click.option(
    "--poll-budget-share", default=0.05, show_default=True, help="The publisher's setting of that name."
)
def main(filters: int, poll_budget_share: float) -> None:
    """Apply a file of filters to a running publisher and proxy, and watch the proxy's gate."""
    with started() as cluster, tempfile.TemporaryDirectory() as scratch:
        make_directory(cluster, ROOT)
        figures = run_bulk(cluster, ROOT, Path(scratch), filters, share=poll_budget_share)
    show(figures.lines())
    conclude(figures.shortfalls())


if __name__ == "__main__":
    main()
