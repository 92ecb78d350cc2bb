"""Fixtures of all tests. No JVM starts unless a test asks for the cluster."""

import uuid
from collections.abc import Iterator

import pytest

from testbed import Cluster
from testbed.jars import resolve
from testbed.zookeeper import ZooKeeperServer
from tests.cluster import HADOOP, SESSION, make_directory

NEED_JARS = {"cluster", "zookeeper_server"}
"""Fixtures that start a JVM."""


def pytest_runtestloop(session: pytest.Session) -> None:
    """Bring Hadoop's jars before the first test that needs them: a download is not a hung test."""
    if session.config.option.collectonly:
        return
    if any(not NEED_JARS.isdisjoint(getattr(item, "fixturenames", ())) for item in session.items):
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        resolve(HADOOP, progress=reporter.write_line if reporter is not None else print)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A NameNode, a DataNode and a ZooKeeper of release HADOOP, one of each for the whole session.

    Leave it as it was found: whoever kills, pauses or reconfigures a server starts a cluster of their own.
    """
    with Cluster.start(SESSION) as started:
        yield started


@pytest.fixture(scope="session")
def zookeeper_server() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper for tests that need no NameNode. It may be killed and wiped, but is left serving."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        yield server


@pytest.fixture
def hdfs_directory(cluster: Cluster) -> str:
    """Return a directory in HDFS, mode 777, that is this test's alone."""
    path = f"/t/{uuid.uuid4().hex[:12]}"
    make_directory(cluster, "/t")
    make_directory(cluster, path)
    return path
