"""`make job-commit`: a job of 10,000 part files on a cluster of its own."""

from dataclasses import replace

import click

from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import HADOOP, SESSION, make_directory
from tests.job_commit.run import globs_of, run_job
from tests.real.command import conclude, progress, show, started
from tests.real.stand import Channel, proxied

ROOT = "/jobs"


@click.command()
@click.option("--parts", default=10_000, show_default=True, help="Part files of the job.")
@click.option(
    "--among", is_flag=True, help="Let a further filter match the parts themselves and their directory."
)
def main(parts: int, *, among: bool) -> None:
    """Commit a job next to a filtered _SUCCESS, and count its costs."""
    globs = globs_of(ROOT, among=among)
    with (
        started(replace(SESSION, with_zookeeper=False)) as cluster,
        ZooKeeperServer(hadoop_version=HADOOP) as zookeeper,
    ):
        make_directory(cluster, ROOT)
        with (
            proxied(cluster, *globs, channel=Channel.ZOOKEEPER, zookeeper=zookeeper.address) as simulation,
            progress("parts written and committed", 2 * parts) as step,
        ):
            figures = run_job(simulation, zookeeper, ROOT, parts, step)
    show(figures.lines())
    conclude(figures.shortfalls())


if __name__ == "__main__":
    main()
