"""What a proxy costs ZooKeeper does not grow with the number of filters."""

import asyncio
from pathlib import Path

import pytest

from nncache.hadoop.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS, Filter, encode_definition
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from tests.service import Service
from tests.zookeepers import ZooKeeperServer

pytestmark = pytest.mark.timeout(180)

MANY = 1_000
HANDFUL = 4
"""Watches of one proxy and its publisher."""

NEW = tuple(Filter(f"f{number}", f"/t/{number}/*/_SUCCESS", "alice", ("bob",)) for number in range(MANY))


@pytest.mark.long
def test_a_thousand_filters_need_no_more_watches_than_one(
    cluster: Cluster, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    """Counted by ZooKeeper itself; the filters are in force while it counts."""
    service = Service.of(cluster, zookeeper.address)
    drafts = f"/drafts{service.filters_path}"
    put_drafts(cluster, tmp_path, drafts)
    service.add("first", "/t/first/*")
    with service.publisher() as publisher, service.proxy() as proxy:
        proxy.await_gate()
        proxy.process.await_that(lambda: proxy.metrics()["nncache_channel_filters"] == 1, "has not 1 filter")
        with_one = (zookeeper.sessions(), zookeeper.watches())
        asyncio.run(publish(service, drafts))
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_channel_filters"] == MANY + 1, f"has not {MANY + 1} filters"
        )
        proxy.await_gate()
        with_many = (zookeeper.sessions(), zookeeper.watches())
        assert publisher.readiness()["ready"]
    assert with_one == with_many
    assert with_many[0] == 2  # the publisher's and the proxy's
    assert with_many[1] <= HANDFUL


def put_drafts(cluster: Cluster, scratch: Path, drafts: str) -> None:
    """Write all new filters where nobody looks for them, with one client.

    WebHDFS has the DataNode start a client for each file: that is what 1,000 times `FilterStore.add` would measure.
    """
    for new in NEW:
        subscribers = scratch / drafts[1:] / new.name / SUBSCRIBERS
        subscribers.mkdir(parents=True)
        (subscribers.parent / DEFINITION).write_bytes(encode_definition(new))
        for user in new.allowed_subscribers:
            (subscribers / user).touch()
    assert cluster.fs_shell("-mkdir", "-p", drafts.rpartition("/")[0]).exit_code == 0
    put = cluster.fs_shell("-put", "-d", str(scratch / drafts[1:]), drafts)
    assert put.exit_code == 0, put.stderr


async def publish(service: Service, drafts: str) -> None:
    """Publish all drafts as `FilterStore.add` does; eight at a time, as several administrators would."""
    waiting = iter(NEW)
    cluster = service.cluster
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:

        async def one_after_the_other() -> None:
            for new in waiting:
                draft = f"{drafts}/{new.name}"
                await hdfs.set_owner(f"{draft}/{SUBSCRIBERS}", owner=new.owner)
                await hdfs.rename_to(draft, f"{service.filters_path}/{new.name}")

        async with asyncio.TaskGroup() as tasks:
            for _ in range(8):
                tasks.create_task(one_after_the_other())
        store = FilterStore(hdfs, service.filters_path)
        assert (await store.get(NEW[-1].name)).filter == NEW[
            -1
        ]  # the drafts are what the store would have written
