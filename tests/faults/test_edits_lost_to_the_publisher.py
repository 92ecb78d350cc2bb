"""Edits are purged before the publisher has read them."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, ClusterSpec
from tests.channels import Channel, proxied
from tests.cluster import HADOOP, make_directory
from tests.faults.test_edits_lost import PURGING, checkpoint
from tests.world import Where, World

pytestmark = pytest.mark.timeout(240)  # a cluster of its own is started


@pytest.fixture
def world() -> Iterator[World]:
    """A cluster that purges, a service with two filters, and a proxy."""
    spec = ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, overrides=PURGING)
    with Cluster.start(spec) as cluster:
        make_directory(cluster, "/t")
        make_directory(cluster, "/t/a")
        make_directory(cluster, "/t/b")
        with proxied(cluster, "/t/a/*", "/t/b/*", channel=Channel.ZOOKEEPER) as world:
            yield world


def test_purged_edits_are_told_to_every_filter(world: World) -> None:
    """GapFlush: never a silent skip. Proxies forget everything, subscribers are told from where to where."""
    assert world.service is not None
    assert world.publisher is not None
    path = "/t/a/f"
    world.make_hit(path, "alice")
    with world.service.subscriber("f0") as one, world.service.subscriber("f1") as other:
        world.settle()
        flushes = world.proxy.metrics()["nncache_cache_flushes_total"]
        world.publisher.process.stop()
        made = world.must(world.write(Where.NAMENODE, path, b"x", "alice"))
        world.await_agreement(path, "alice", since=made.ended_at)
        checkpoint(world.cluster)
        world.publisher.process.start()
        for subscriber in (one, other):
            subscriber.await_that(lambda it: bool(it.gaps()), "is told of no gap")
        assert world.make_hit(path, "alice").status == 200
        assert world.proxy.metrics()["nncache_cache_flushes_total"] > flushes
        gone = world.must(world.call(Where.NAMENODE, "DELETE", "DELETE", path, "alice"))
        world.await_agreement(path, "alice", since=gone.ended_at)
        one.await_that(
            lambda it: any(event["type"] == "UNLINK" for event in it.events()),
            "is told of nothing after the gap",
        )
        assert [event["type"] for event in one.events()] == ["UNLINK"]
        assert other.events() == ()
