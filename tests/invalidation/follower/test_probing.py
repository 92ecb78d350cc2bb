"""Probing, in a run: coverage follows the NameNode's log position, and callers can request a probe."""

import asyncio

import pytest

from nncache.hadoop.errors import WrongAddressError
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError, WrongNamespaceError
from nncache.invalidation.follower.probing import Probing
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.virtual_time import clock


async def test_an_idle_cluster_is_covered_without_any_record(followed: FakeCluster) -> None:
    """Bounded: each probe covers, also while ZooKeeper is unavailable."""
    for _ in range(3):
        await asyncio.sleep(1)
        asked_at = clock()
        followed.pool.probe()
        assert (await followed.next_covered(asked_at)).txid == 10
    followed.server.disconnect()
    await asyncio.sleep(10)
    asked_at = clock()
    followed.pool.probe()
    assert (await followed.next_covered(asked_at)).txid == 10


async def test_a_steady_flow_keeps_no_coverage_back(fake_cluster: FakeCluster) -> None:
    """Each probe is covered as soon as its own transaction is read, however many follow."""

    async def flow() -> None:
        while True:
            fake_cluster.unlink("/joe/a")
            fake_cluster.stream.request_probe()
            await asyncio.sleep(0.001)

    fake_cluster.press.max_records = 100
    async with fake_cluster.stream as stream, asyncio.TaskGroup() as tasks:
        flowing = tasks.create_task(flow())
        for _ in range(50):
            covered = await fake_cluster.next_covered(0)
            assert clock() - covered.as_of < 0.05
        assert stream.stats().records.records_read > 2000
        flowing.cancel()


async def test_no_life_begins_ahead_of_the_log(fake_cluster: FakeCluster) -> None:
    """S1: a log that went back and grows again must not be taken for the published one."""
    fake_cluster.namenode.restart(lost=3)
    with pytest.raises(MissingEventsError, match="its last transaction is 8, was 10"):
        await fake_cluster.stream.open()


async def test_no_life_begins_without_word_of_the_log(fake_cluster: FakeCluster) -> None:
    """A NameNode that does not report its log position cannot prove freshness."""
    fake_cluster.namenode.answers_journal = False
    with pytest.raises(ChannelUnavailableError, match="how far its log has come"):
        await fake_cluster.stream.open()
    assert len(fake_cluster.pool.suspicions) <= 25
    suspicions = len(fake_cluster.pool.suspicions)
    await asyncio.sleep(5)
    assert len(fake_cluster.pool.suspicions) == suspicions


async def test_only_a_lasting_want_of_word_of_the_log_counts() -> None:
    """Ten seconds of replies without a log position count; a NameNode without any reply is another case."""
    namenode = FakeNameNode()
    pool = FakePool(clock, namenode)
    probing = Probing(pool, await pool.wait_active(1), clock)
    await probing.begin(-1)

    async def probe(times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(1)
            pool.probe()
            probing.look()
            probing.check_shown()

    for answers, times in ((True, 30), (False, 10), (True, 1), (False, 5)):
        namenode.answers_journal = answers
        await probe(times)
    namenode.answers_jmx = False
    await probe(30)
    namenode.answers_jmx = True
    await probe(10)
    with pytest.raises(
        ChannelUnavailableError, match="nn:9870 has not said for 10 s how far its log has come"
    ):
        await probe(1)


async def test_who_waits_for_coverage_is_probed_for(followed: FakeCluster) -> None:
    """A probe is sent immediately, but at most once per PROBE_SPACING_S; an earlier request is met a little later."""
    await asyncio.sleep(1)
    before = len(followed.pool.suspicions)
    for _ in range(20):
        await asyncio.sleep(0.001)
        asked_at = clock()
        followed.stream.request_probe()
        await followed.next_covered(asked_at)
        assert clock() - asked_at < 0.06
    assert len(followed.pool.suspicions) - before <= 20
    for _ in range(1000):
        followed.stream.request_probe()
        await asyncio.sleep(0.001)
    assert len(followed.pool.suspicions) - before <= 42


async def test_an_rpc_connection_to_another_namespace_ends_the_life(fake_cluster: FakeCluster) -> None:
    """OpenFileUncached, OwnWrites: RPC calls reach the published namespace, or the gate closes."""
    other = FakeNameNode("other")
    other.namespace = Namespace("CID-2", "BP-2")
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.namenode.rpc_leads_to = other
        fake_cluster.namenode.cut()
        with pytest.raises(WrongAddressError):
            await fake_cluster.pool.rpc(fake_cluster.namenode.address).confirm_namespace()
        with pytest.raises(WrongNamespaceError, match=r"BP-2 of cluster CID-2.*--namenode-rpc"):
            await fake_cluster.next_covered(clock() + 10)
    with pytest.raises(WrongNamespaceError):
        await fake_cluster.stream.open()
    fake_cluster.namenode.rpc_leads_to = None
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
