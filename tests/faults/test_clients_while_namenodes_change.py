"""The active NameNode dies, comes back, or hands over: clusters of their own, to be broken."""

import time
from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, ClusterSpec
from tests.channels import Channel, proxied
from tests.cluster import HADOOP, make_directory
from tests.patience import HANG_S, SLACK_S
from tests.pollers import Pollers
from tests.world import MAX_STALENESS_S, Where, World

GLOBS = ("/t/*", "/t/*/*")


BOTH = pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)


@pytest.fixture
def lone_world(channel: Channel) -> Iterator[World]:
    """A cluster of one NameNode that may be killed, and a proxy."""
    spec = ClusterSpec(hadoop_version=HADOOP, with_zookeeper=channel is Channel.ZOOKEEPER)
    with Cluster.start(spec) as cluster:
        make_directory(cluster, "/t")
        with proxied(cluster, *GLOBS, channel=channel) as world:
            yield world


@BOTH
def test_a_restarted_namenode_means_an_empty_cache(lone_world: World) -> None:
    """What a NameNode showed before it died may never have reached its log: all is asked for again."""
    world = lone_world
    world.make_hit("/t/f", "alice")
    flushes = world.proxy.metrics()["nncache_cache_flushes_total"]
    term = world.proxy.explain("/t/f")["term"]
    namenode = world.cluster.namenodes[0].process
    namenode.kill()
    time_of_death = time.monotonic()
    gone = world.ask("/t/f", "alice")
    assert gone.status in {404, 502, 503, 504}, gone
    world.proxy.await_gate(is_open=False)
    assert time.monotonic() - time_of_death <= MAX_STALENESS_S + SLACK_S
    namenode.start()
    world.direct.close()
    world.proxy.await_gate()
    world.cluster.await_writable()
    world.must(world.call(Where.NAMENODE, "PUT", "MKDIRS", "/t/f"))
    since = time.monotonic()
    world.await_agreement("/t/f", "alice", since=since)
    world.make_hit("/t/f", "alice")
    assert world.proxy.explain("/t/f")["term"] > term
    assert world.proxy.metrics()["nncache_cache_flushes_total"] > flushes


@BOTH
@pytest.mark.timeout(240)
def test_reads_go_on_with_the_other_namenode_of_a_pair(channel: Channel) -> None:
    """FailToNameNode: after a failover the same clients are answered, by the new active, and from memory again."""
    spec = ClusterSpec(hadoop_version=HADOOP, ha=True, with_zookeeper=channel is Channel.ZOOKEEPER)
    with Cluster.start(spec) as cluster:
        make_directory(cluster, "/t")
        first, second = cluster.namenodes
        with proxied(cluster, *GLOBS, channel=channel) as world:
            world.make_hit("/t/f", "alice")
            term = world.proxy.explain("/t/f")["term"]
            cluster.transition_to_standby(0)
            cluster.transition_to_active(1)
            world.direct.address = second.http
            world.direct.close()
            since = time.monotonic()
            world.must(world.call(Where.NAMENODE, "PUT", "MKDIRS", "/t/f"))
            with Pollers(world.proxy.address, [("/t/f", "alice")]) as pollers:
                world.await_agreement("/t/f", "alice", since=since)
                first.process.kill()
                pollers.await_hits(after=time.monotonic(), timeout_s=HANG_S)
            assert pollers.failed() == []
            assert world.proxy.explain("/t/f")["term"] > term
            world.must(world.call(Where.PROXY, "DELETE", "DELETE", "/t/f"))
            assert world.disagreement("/t/f", "alice") == []
            assert world.make_hit("/t/f", "alice").status == 404
