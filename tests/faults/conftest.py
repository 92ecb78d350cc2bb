"""Fixtures that several files of faults share."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.cluster import HADOOP
from tests.real.proxied_cluster import ProxiedCluster
from tests.real.stand import Channel, proxied


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper without sessions of other tests."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        yield server


@pytest.fixture
def two_filters(cluster: Cluster, hdfs_directory: str) -> Iterator[ProxiedCluster]:
    """A service with two filters, f0 for a/*, f1 for b/*, and a proxy."""
    globs = (f"{hdfs_directory}/a/*", f"{hdfs_directory}/b/*")
    with proxied(cluster, *globs, channel=Channel.ZOOKEEPER) as proxied_cluster:
        for name in "abc":
            proxied_cluster.mkdirs(f"{hdfs_directory}/{name}", "alice")
        proxied_cluster.settle()
        yield proxied_cluster
