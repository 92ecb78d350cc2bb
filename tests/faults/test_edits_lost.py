"""The direct channel over real NameNodes that are restarted, killed, or have purged what was not read yet."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, ClusterSpec, Relay
from tests.cluster import HADOOP
from tests.faults.follower import Follower

pytestmark = pytest.mark.timeout(300)  # clusters of their own are started

PURGING = {
    "dfs.namenode.num.extra.edits.retained": "0",
    "dfs.namenode.num.checkpoints.retained": "1",
    "dfs.namenode.checkpoint.txns": "1",  # or an image so soon after the last is refused (ImageServlet)
    "dfs.namenode.secondary.http-address": "127.0.0.1:0",
}
"""One checkpoint by a secondary NameNode, and all that was before it is gone."""


@pytest.fixture(scope="module")
def lone() -> Iterator[Cluster]:
    """A NameNode to be maltreated."""
    spec = ClusterSpec(hadoop_version=HADOOP, with_datanode=False, overrides=PURGING)
    with Cluster.start(spec) as started:
        yield started


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """An HA pair to be maltreated."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_datanode=False, ha=True)) as started:
        yield started


async def test_a_killed_and_restarted_namenode_costs_everything(lone: Cluster) -> None:
    """What it had shown may not have been in its log: another term, a flush, and coverage again."""
    follower = Follower(lone)
    namenode = lone.namenodes[0].process
    async with follower.running():
        await follower.covered()
        await follower.make("/restart/a")
        await follower.covered()
        await asyncio.to_thread(namenode.kill)
        await asyncio.to_thread(namenode.start)
        await follower.until(lambda: follower.judge.opened == 2)
        await follower.make("/restart/b")
        await follower.covered()
    (reason,) = follower.judge.closed[:1]
    assert "another one or was restarted" in reason
    assert follower.consumer.stats().streams_lost == 1
    assert set(follower.judge.applied_at) >= {"/restart/a", "/restart/b"}


async def test_edits_purged_before_they_were_read_cost_everything(lone: Cluster) -> None:
    """The NameNode skips them without a word; the gap is noticed all the same (GapFlush)."""
    with Relay(lone.namenodes[0].rpc) as relay:
        follower = Follower(lone, rpc=(relay.address,))
        async with follower.running():
            await follower.covered()
            relay.cut()
            await follower.make("/purged/a")
            await asyncio.to_thread(checkpoint, lone)
            relay.restore()
            await follower.until(lambda: follower.judge.opened == 2)
            await follower.covered()
        assert "purged: asked for" in follower.judge.closed[0]
        assert "/purged/a" not in follower.judge.applied_at


def checkpoint(cluster: Cluster) -> None:
    """Have a secondary NameNode write an image, upon which the NameNode purges older segments."""
    main = "org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode"
    result = cluster.run_main(main, "-checkpoint", "force")
    assert result.exit_code == 0, result.stderr


async def test_a_paused_namenode_covers_nothing_and_costs_nothing(lone: Cluster) -> None:
    """A long collector's pause: the gate closes by time, the stream goes on where it was."""
    follower = Follower(lone)
    namenode = lone.namenodes[0].process
    async with follower.running():
        await follower.covered()
        namenode.pause()
        await asyncio.sleep(4.0)
        namenode.resume()
        await follower.covered()
        await follower.make("/paused/a")
        await follower.covered()
    assert follower.judge.opened == 1


async def test_a_failover_costs_everything_and_is_followed(pair: Cluster) -> None:
    """The active one is killed: nothing is covered until the other is, under another term."""
    follower = Follower(pair)
    async with follower.running():
        await follower.covered()
        await follower.make("/pair/a")
        await follower.covered()
        pair.namenodes[0].process.signal(signal.SIGKILL)
        await asyncio.to_thread(pair.transition_to_active, 1)
        await follower.until(lambda: follower.judge.opened == 2)
        await follower.make("/pair/b")
        await follower.covered()
    assert {"/pair/a", "/pair/b"} <= set(follower.judge.applied_at)
    assert "another one" in follower.judge.closed[0]
