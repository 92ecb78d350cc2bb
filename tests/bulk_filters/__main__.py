"""`make bulk-filters`: 5,000 filters from one file, on a cluster of its own."""

import os
import sys
import tempfile
from pathlib import Path

import click
from rich.console import Console

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.bulk_filters.run import MOST_S, run_bulk
from tests.cluster import make_directory

ROOT = "/bulk"


@click.command()
@click.option("--filters", default=5_000, show_default=True, help="Filters in the file.")
@click.option(
    "--poll-budget-share", default=0.05, show_default=True, help="The publisher's setting of that name."
)
def main(filters: int, poll_budget_share: float) -> None:
    """Apply a file of filters beside a publisher and a proxy, and watch the proxy's gate."""
    spec = ClusterSpec(hadoop_version=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION, with_zookeeper=True)
    with Cluster.start(spec, progress=Console(stderr=True).print) as cluster:
        assert cluster.zookeeper is not None
        make_directory(cluster, ROOT)
        with tempfile.TemporaryDirectory() as scratch:
            figures = run_bulk(
                cluster, cluster.zookeeper.address, ROOT, Path(scratch), filters, share=poll_budget_share
            )
    for line in figures.lines():
        click.echo("  " + line)
    shortfalls = figures.shortfalls()
    if figures.is_slow:
        shortfalls.append(f"the filters were applied in {figures.apply_s:.1f} s, not in {MOST_S:g} s")
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
