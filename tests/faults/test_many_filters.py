"""What a proxy costs ZooKeeper does not grow with the number of filters."""

import asyncio
from collections.abc import Iterator

import pytest

from hadoop.webhdfs import WebHdfs
from invalidation.filters.definition import Filter
from invalidation.filters.hdfs_store import FilterStore
from testbed import Cluster
from testbed.zookeeper import ZooKeeperServer
from tests.cluster import HADOOP
from tests.service import Service

pytestmark = pytest.mark.timeout(180)

MANY = 1_000
HANDFUL = 4
"""Watches of one proxy and its publisher."""


@pytest.fixture(scope="module")
def zookeeper() -> Iterator[ZooKeeperServer]:
    """A ZooKeeper in which nobody else has a session."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        yield server


def test_one_session_and_a_handful_of_watches_with_1000_filters_as_with_one(
    cluster: Cluster, zookeeper: ZooKeeperServer
) -> None:
    """Counted by ZooKeeper itself; the filters are in force while it counts."""
    service = Service.of(cluster, zookeeper.address)
    service.add("first", "/t/first/*")
    with service.publisher() as publisher, service.proxy() as proxy:
        proxy.await_gate()
        proxy.process.await_that(lambda: proxy.metrics()["nncache_channel_filters"] == 1, "has not 1 filter")
        with_one = (zookeeper.sessions(), zookeeper.watches())
        asyncio.run(_add_many(service))
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_channel_filters"] == MANY + 1, f"has not {MANY + 1} filters"
        )
        proxy.await_gate()
        with_many = (zookeeper.sessions(), zookeeper.watches())
        assert publisher.readiness()["ready"]
    assert with_one == with_many
    assert with_many[0] == 2  # the publisher's and the proxy's
    assert with_many[1] <= HANDFUL


async def _add_many(service: Service) -> None:
    """Add all filters; eight at a time, as several administrators would."""
    numbers = iter(range(MANY))
    cluster = service.cluster
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        store = FilterStore(hdfs, service.filters_path)

        async def one_after_the_other() -> None:
            for number in numbers:
                await store.add(Filter(f"f{number}", f"/t/{number}/*/_SUCCESS", "alice", ("bob",)))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(one_after_the_other())
