"""A short run of `make job-commit`."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import HADOOP
from tests.job_commit.run import globs_of, run_job
from tests.real.stand import Channel, proxied

pytestmark = pytest.mark.timeout(180)

PARTS = 1_000


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper without other writers."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        yield server


@pytest.mark.parametrize("among", [False, True], ids=["mark filtered", "parts filtered, too"])
def test_a_commit_costs_few_writes_and_no_hit_elsewhere(
    cluster: Cluster, zookeeper: ZooKeeperServer, hdfs_directory: str, *, among: bool
) -> None:
    """Time, not edits, bounds the write rate, even if every part is an event; a subscriber gets the mark's events."""
    globs = globs_of(hdfs_directory, among=among)
    with proxied(cluster, *globs, channel=Channel.ZOOKEEPER, zookeeper=zookeeper.address) as simulation:
        figures = run_job(simulation, zookeeper, hdfs_directory, PARTS)
    assert figures.shortfalls() == [], figures
