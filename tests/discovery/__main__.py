"""`python -m tests.discovery`: a proxy comes, is found in every way, and goes, on a cluster of its own."""

import os
import sys

import click
from rich.console import Console

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.discovery.finders import FINDERS
from tests.discovery.run import come_and_go
from tests.registry.samples import place_of_its_own


@click.command()
def main() -> None:
    """Print when a proxy was found and gone in each way; exit code 1 if that took too long, or a request failed."""
    spec = ClusterSpec(hadoop_version=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION, with_zookeeper=True)
    with (
        Cluster.start(spec, progress=Console(stderr=True).print) as cluster,
        place_of_its_own(cluster) as place,
    ):
        reported = come_and_go(cluster, place, FINDERS)
    for line in reported.lines():
        click.echo(f"  {line}")
    shortfalls = tuple(reported.shortfalls())
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
