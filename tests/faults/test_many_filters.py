"""The load of a proxy on ZooKeeper does not grow with the number of filters."""

from pathlib import Path

import pytest

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS, Filter, encode_definition
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.real.beside import on_hdfs
from tests.service import InotifyService

pytestmark = pytest.mark.timeout(180)

MANY = 1_000
HANDFUL = 4
"""The most watches that one proxy and its publisher may have together."""

NEW = tuple(Filter(f"f{number}", f"/t/{number}/*/_SUCCESS", "alice", ("bob",)) for number in range(MANY))


@pytest.mark.long
def test_a_thousand_filters_need_no_more_watches_than_one(
    cluster: Cluster, zookeeper: ZooKeeperServer, tmp_path: Path
) -> None:
    """ZooKeeper itself counts the watches, while the filters are in force."""
    service = InotifyService.of(cluster, zookeeper.address)
    drafts = f"/drafts{service.filters_path}"
    put_drafts(cluster, tmp_path, drafts)
    service.add("first", "/t/first/*")
    with service.publisher() as publisher, service.proxy() as proxy:
        proxy.await_gate()
        proxy.process.await_that(lambda: proxy.metrics()["nncache_channel_filters"] == 1, "has not 1 filter")
        with_one = (zookeeper.monitored("zk_global_sessions"), zookeeper.monitored("zk_watch_count"))
        publish(service, drafts)
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_channel_filters"] == MANY + 1, f"has not {MANY + 1} filters"
        )
        proxy.await_gate()
        with_many = (zookeeper.monitored("zk_global_sessions"), zookeeper.monitored("zk_watch_count"))
        assert publisher.readiness()["ready"]
    assert with_one == with_many
    assert with_many[0] == 2  # the publisher's and the proxy's
    assert with_many[1] <= HANDFUL


def put_drafts(cluster: Cluster, scratch: Path, drafts: str) -> None:
    """Write the drafts of all new filters outside the filters' directory, with one client.

    WebHDFS has the DataNode start a client for each file: 1,000 calls of `FilterStore.add` would measure only that.
    """
    for new in NEW:
        subscribers = scratch / drafts[1:] / new.name / SUBSCRIBERS
        subscribers.mkdir(parents=True)
        (subscribers.parent / DEFINITION).write_bytes(encode_definition(new))
        for user in new.allowed_subscribers:
            (subscribers / user).touch()
    assert cluster.fs_shell("-mkdir", "-p", drafts.rpartition("/")[0]).returncode == 0
    put = cluster.fs_shell("-put", "-d", str(scratch / drafts[1:]), drafts)
    assert put.returncode == 0, put.stderr


def publish(service: InotifyService, drafts: str) -> None:
    """Publish all drafts as `FilterStore.add` does, eight at a time, as several administrators would."""

    async def carry_out(hdfs: WebHdfs) -> None:
        async def one(new: Filter) -> None:
            draft = f"{drafts}/{new.name}"
            await hdfs.set_owner(f"{draft}/{SUBSCRIBERS}", owner=new.owner)
            await hdfs.rename_to(draft, f"{service.filters_path}/{new.name}")

        await each_bounded(NEW, one, at_once=8)
        stored = await FilterStore(hdfs, service.filters_path).get(NEW[-1].name)
        assert stored.filter == NEW[-1]  # the drafts are what the store would have written

    on_hdfs(service.cluster, carry_out)
