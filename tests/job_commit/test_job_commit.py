"""The short form of `make job-commit`."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from tests.cluster import HADOOP
from tests.job_commit.run import globs_of, run_job
from tests.real.stand import Channel, proxied
from tests.zookeepers import ZooKeeperServer

pytestmark = pytest.mark.timeout(180)

PARTS = 1_000


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper in which nobody else writes."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        yield server


def test_a_commit_costs_few_writes_and_no_hit_elsewhere(
    cluster: Cluster, zookeeper: ZooKeeperServer, hdfs_directory: str
) -> None:
    """The write rate is bounded by time and not by edits; the one mark reaches its subscriber."""
    with proxied(
        cluster, *globs_of(hdfs_directory), channel=Channel.ZOOKEEPER, zookeeper=zookeeper.address
    ) as simulation:
        figures = run_job(simulation, zookeeper, hdfs_directory, PARTS)
    assert figures.shortfalls() == [], figures


def test_parts_that_match_a_filter_cost_no_more(
    cluster: Cluster, zookeeper: ZooKeeperServer, hdfs_directory: str
) -> None:
    """Every part is an event of its filter and makes their directory stale: told in few records all the same."""
    globs = (*globs_of(hdfs_directory), f"{hdfs_directory}/jobs/*", f"{hdfs_directory}/jobs/*/*")
    with proxied(cluster, *globs, channel=Channel.ZOOKEEPER, zookeeper=zookeeper.address) as simulation:
        figures = run_job(simulation, zookeeper, hdfs_directory, PARTS)
    assert figures.shortfalls() == [], figures
