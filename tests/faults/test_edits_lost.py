"""Real NameNodes are restarted or killed, cannot read their edits, or purge edits that were not read yet."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from nncache.testbed import Cluster, ClusterSpec, Relay
from tests.cluster import HADOOP, make_directory
from tests.faults.follower import Follower
from tests.faults.outage import survive
from tests.patience import until_so
from tests.real.faults import paused
from tests.real.proxied_cluster import CallTarget
from tests.real.stand import Channel, proxied

pytestmark = pytest.mark.timeout(300)  # clusters of their own are started

PURGING = {
    "dfs.namenode.num.extra.edits.retained": "0",
    "dfs.namenode.num.checkpoints.retained": "1",
    "dfs.namenode.checkpoint.txns": "1",  # otherwise an image so soon after the last one is refused (ImageServlet)
    "dfs.namenode.secondary.http-address": "127.0.0.1:0",
}
"""One checkpoint by a secondary NameNode then purges all earlier edits."""


@pytest.fixture(scope="module")
def lone() -> Iterator[Cluster]:
    """A NameNode that purges edits, and that tests may break."""
    spec = ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, overrides=PURGING)
    with Cluster.start(spec) as started:
        yield started


def test_purged_edits_are_reported_to_every_filter(lone: Cluster) -> None:
    """GapFlush: no edit is skipped silently. Proxies forget everything; subscribers receive the bounds of the gap."""
    for directory in ("/t", "/t/a", "/t/b"):
        make_directory(lone, directory)
    with proxied(lone, "/t/a/*", "/t/b/*", channel=Channel.ZOOKEEPER) as proxied_cluster:
        assert proxied_cluster.service is not None
        assert proxied_cluster.publisher is not None
        path = "/t/a/f"
        proxied_cluster.make_hit(path, "alice")
        with (
            proxied_cluster.service.subscriber("f0") as one,
            proxied_cluster.service.subscriber("f1") as other,
        ):
            proxied_cluster.settle()
            flushes = proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"]
            proxied_cluster.publisher.process.stop()
            made = proxied_cluster.put(CallTarget.NAMENODE, path, b"x", "alice")
            proxied_cluster.await_agreement(path, "alice", since=made.ended_at)
            checkpoint(proxied_cluster.cluster)
            proxied_cluster.publisher.process.start()
            for subscriber in (one, other):
                subscriber.await_that(lambda it: bool(it.gaps()), "is told of no gap")
            assert proxied_cluster.make_hit(path, "alice").status == 200
            assert proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"] > flushes
            gone = proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", path, "alice")
            proxied_cluster.await_agreement(path, "alice", since=gone.ended_at)
            one.await_that(
                lambda it: any(event["type"] == "UNLINK" for event in it.events()),
                "is told of nothing after the gap",
            )
            assert [event["type"] for event in one.events()] == ["UNLINK"]
            assert other.events() == ()


@contextmanager
def unreadable_edits(cluster: Cluster) -> Iterator[None]:
    """Hide the open segment from the NameNode, which keeps writing to it."""
    current = cluster.directory / "data" / cluster.namenodes[0].id / "current"
    (segment,) = current.glob("edits_inprogress_*")
    away = Path(cluster.directory / segment.name)
    segment.rename(away)
    try:
        yield
    finally:
        away.rename(segment)


def test_without_edits_reads_succeed_within_the_bound(lone: Cluster) -> None:
    """FailToNameNode and Bounded: calls are forwarded while edits cannot be read; then caching resumes."""
    make_directory(lone, "/u")
    with proxied(lone, "/u/*/*", roll_interval_s=0) as proxied_cluster, ExitStack() as broken:
        survive(proxied_cluster, "/u", lambda: broken.enter_context(unreadable_edits(lone)), broken.close)


async def test_a_killed_and_restarted_namenode_costs_everything(lone: Cluster) -> None:
    """Edits that it showed before may not be in its log: a new term begins with a flush, and coverage resumes."""
    follower = Follower(lone)
    namenode = lone.namenodes[0].process
    async with follower.running():
        await follower.covered()
        await follower.make("/restart/a")
        await follower.covered()
        await asyncio.to_thread(namenode.kill)
        await asyncio.to_thread(namenode.start)
        await until_so(lambda: follower.judge.opened == 2)
        await follower.make("/restart/b")
        await follower.covered()
    (reason,) = follower.judge.closed[:1]
    assert "another one or was restarted" in reason
    assert follower.consumer.stats().streams_lost == 1
    assert set(follower.judge.applied_at) >= {"/restart/a", "/restart/b"}


async def test_edits_purged_before_they_were_read_cost_everything(lone: Cluster) -> None:
    """The NameNode skips them without an error; the gap is noticed nevertheless (GapFlush)."""
    with Relay(lone.namenodes[0].rpc) as relay:
        follower = Follower(lone, rpc=(relay.address,))
        async with follower.running():
            await follower.covered()
            relay.cut()
            await follower.make("/purged/a")
            await asyncio.to_thread(checkpoint, lone)
            relay.restore()
            await until_so(lambda: follower.judge.opened == 2)
            await follower.covered()
        assert "purged: asked for" in follower.judge.closed[0]
        assert "/purged/a" not in follower.judge.applied_at


def checkpoint(cluster: Cluster) -> None:
    """Have a secondary NameNode write an image; the NameNode then purges older segments."""
    main = "org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode"
    result = cluster.run_main(main, "-checkpoint", "force")
    assert result.returncode == 0, result.stderr


async def test_a_paused_namenode_covers_nothing_and_costs_nothing(lone: Cluster) -> None:
    """A long GC pause: the gate closes after its time, and the stream resumes where it was."""
    follower = Follower(lone)
    namenode = lone.namenodes[0].process
    async with follower.running():
        await follower.covered()
        with paused(namenode):
            await asyncio.sleep(4.0)
        await follower.covered()
        await follower.make("/paused/a")
        await follower.covered()
    assert follower.judge.opened == 1
