"""`make job-commit`: a job of 10,000 part files on a cluster of its own."""

import os
import sys

import click
from rich.console import Console
from rich.progress import Progress

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.cluster import make_directory
from tests.job_commit.run import globs_of, run_job
from tests.real.stand import Channel, proxied
from tests.zookeepers import ZooKeeperServer

ROOT = "/jobs"


@click.command()
@click.option("--parts", default=10_000, show_default=True, help="Part files of the job.")
@click.option(
    "--among", is_flag=True, help="Let a further filter match the parts themselves and their directory."
)
def main(parts: int, *, among: bool) -> None:
    """Commit a job beside a filtered _SUCCESS and count what it costs."""
    console = Console(stderr=True)
    hadoop = os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
    globs = globs_of(ROOT) + ((f"{ROOT}/jobs/*", f"{ROOT}/jobs/*/*") if among else ())
    with (
        Cluster.start(ClusterSpec(hadoop_version=hadoop), progress=console.print) as cluster,
        ZooKeeperServer(hadoop_version=hadoop) as zookeeper,
    ):
        make_directory(cluster, ROOT)
        with (
            proxied(cluster, *globs, channel=Channel.ZOOKEEPER, zookeeper=zookeeper.address) as simulation,
            Progress(console=console) as bar,
        ):
            task = bar.add_task("parts written and committed", total=2 * parts)
            figures = run_job(simulation, zookeeper, ROOT, parts, lambda: bar.advance(task))
    for line in figures.lines():
        click.echo("  " + line)
    shortfalls = figures.shortfalls()
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
