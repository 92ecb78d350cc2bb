"""The pool of NameNodes, against NameNodes that are told what to say."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from hadoop.errors import NoActiveNameNodeError, RemoteCallError
from hadoop.namenode_settings import NameNodeSettings
from hadoop.pool import MIN_PROBE_PAUSE_S, NameNodePool
from hadoop.remote_exception import Verdict
from testbed import Cluster, ClusterSpec
from tests.cluster import HADOOP
from tests.hadoop.fake_jmx import FakeJmx, fake_jmx


@asynccontextmanager
async def watched(
    *fakes: FakeJmx, interval_s: float = 0.02, timeout_s: float = 5.0
) -> AsyncIterator[NameNodePool]:
    """Run a pool over these NameNodes."""
    settings = NameNodeSettings(
        namenode_http=tuple(fake.namenode.http for fake in fakes),
        namenode_rpc=tuple(fake.namenode.rpc for fake in fakes),
        user="hdfs",
        namenode_probe_interval_s=interval_s,
        namenode_probe_timeout_s=timeout_s,
    )
    pool = NameNodePool(settings, time.monotonic)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run())
        try:
            yield pool
        finally:
            running.cancel()
    await pool.close()


async def until(fake: FakeJmx, rule: Callable[[], bool]) -> None:
    """Wait until this is true, looking again whenever this NameNode is asked."""
    async with asyncio.timeout(5):
        while not rule():
            await fake.until_asked()


async def test_a_single_namenode_is_found_and_confirmed() -> None:
    """The first term begins, and each probe confirms it as of the time at which it was sent."""
    began_at = time.monotonic()
    async with fake_jmx() as only, watched(only) as pool:
        assert pool.active is None
        active = await pool.wait_active(5)
        assert (active.namenode, active.term, active.started_ms) == (only.namenode, 1, 1)
        first = pool.confirmed_as_of
        assert first is not None
        assert began_at <= first <= time.monotonic()
        await until(only, lambda: (pool.confirmed_as_of or 0) > first)
        assert pool.active is active


async def test_the_active_one_of_several_is_found() -> None:
    """It is first in order; those who can't be reached are last."""
    async with fake_jmx(FakeJmx(state="standby")) as standby, fake_jmx() as other:
        gone = FakeJmx()
        async with fake_jmx(gone):
            pass
        async with watched(gone, standby, other) as pool:
            assert (await pool.wait_active(5)).namenode == other.namenode
            assert pool.order() == (other.namenode, standby.namenode, gone.namenode)
            stats = pool.stats()
            assert (stats.namenodes, stats.reachable, stats.has_active, stats.term) == (3, 2, 1, 1)
            assert stats.failed_probes >= 1


async def test_nobody_is_active() -> None:
    """The error says what each one is."""
    async with fake_jmx(FakeJmx(state="standby")) as standby, watched(standby) as pool:
        await standby.until_asked(2)
        with pytest.raises(
            NoActiveNameNodeError, match=f"^no active NameNode: {standby.namenode.http} is standby$"
        ):
            await pool.wait_active(0.01)
        assert pool.order() == (standby.namenode,)


async def test_a_restart_is_another_term() -> None:
    """The process says when it started."""
    async with fake_jmx() as only, watched(only) as pool:
        await pool.wait_active(5)
        only.started_ms = 2
        await until(only, lambda: pool.active is not None and pool.active.term == 2)


async def test_who_says_nothing_is_not_active() -> None:
    """Neither hung nor broken; when it is back, the same life has the same term."""
    async with fake_jmx() as only, watched(only, timeout_s=0.1) as pool:
        await pool.wait_active(5)
        only.is_hung = True
        await until(only, lambda: pool.active is None)
        assert pool.confirmed_as_of is None
        only.is_hung = False
        assert (await pool.wait_active(5)).term == 1
        only.status = 500
        await until(only, lambda: pool.active is None)


async def test_an_end_is_seen_and_so_is_the_return() -> None:
    """A refused connection counts like silence; the process that comes back is another one."""
    async with (
        fake_jmx() as first,
        fake_jmx(FakeJmx(state="standby")) as second,
        watched(first, second) as pool,
    ):
        await pool.wait_active(5)
        await first.end()
        await until(second, lambda: pool.active is None)
        first.started_ms = 7
        await first.start()
        assert (await pool.wait_active(5)).term == 2


async def test_another_takes_over() -> None:
    """Killed, then another one says that it is active."""
    async with (
        fake_jmx() as first,
        fake_jmx(FakeJmx(state="standby")) as second,
        watched(first, second) as pool,
    ):
        await pool.wait_active(5)
        await first.end()
        second.state, second.transition_ms = "active", 9
        await until(second, lambda: pool.active is not None and pool.active.namenode == second.namenode)
        active = pool.active
        assert active is not None
        assert (active.term, active.transition_ms) == (2, 9)


async def test_two_that_say_active_close_everything() -> None:
    """None of them is, until one gives in; what follows is a new term."""
    async with (
        fake_jmx() as first,
        fake_jmx(FakeJmx(state="standby")) as second,
        watched(first, second) as pool,
    ):
        await pool.wait_active(5)
        second.state = "active"
        await until(second, lambda: pool.active is None)
        assert pool.confirmed_as_of is None
        second.state = "standby"
        assert (await pool.wait_active(5)).term == 2


async def test_a_hung_standby_does_not_hold_up_the_rest() -> None:
    """Its probe runs into the deadline while the active one goes on being confirmed."""
    async with (
        fake_jmx() as first,
        fake_jmx(FakeJmx(state="standby")) as second,
        watched(first, second, timeout_s=0.2) as pool,
    ):
        await pool.wait_active(5)
        second.is_hung = True
        await until(first, lambda: pool.stats().reachable == 1)
        confirmed_as_of = pool.confirmed_as_of or 0
        await first.until_asked(3)
        assert pool.active is not None
        assert (pool.confirmed_as_of or 0) > confirmed_as_of


async def test_a_suspicion_is_looked_into_at_once() -> None:
    """All are asked, long before it is their turn."""
    async with (
        fake_jmx() as first,
        fake_jmx(FakeJmx(state="standby")) as second,
        watched(first, second, interval_s=1000) as pool,
    ):
        await pool.wait_active(5)
        second.state, first.state = "active", "standby"
        pool.suspect(first.namenode, "StandbyException")
        await until(second, lambda: pool.active is not None and pool.active.term == 2)
        assert pool.stats().suspicions == 1


async def test_a_storm_of_suspicions_is_no_storm_of_probes() -> None:
    """However often it is suspected, a NameNode is left in peace for a while after each probe."""
    async with fake_jmx() as only, watched(only, interval_s=1000) as pool:
        await pool.wait_active(5)
        began_at, asked = time.monotonic(), only.asked
        async with asyncio.timeout(5):
            while only.asked < asked + 4:
                pool.suspect(only.namenode, "again")
                await asyncio.sleep(0)
        assert time.monotonic() - began_at >= 3 * MIN_PROBE_PAUSE_S


async def test_a_broken_off_probe_is_repeated_at_once() -> None:
    """One unanswered probe of the active NameNode is followed by another, not by a second of doubt."""
    async with fake_jmx() as only, watched(only, interval_s=1000) as pool:
        await pool.wait_active(5)
        only.status = 500
        pool.suspect(only.namenode, "cut")
        await until(only, lambda: pool.active is None)


async def test_while_nobody_is_active_it_looks_more_often() -> None:
    """A failover is seen when it is over, not up to an interval later."""
    async with fake_jmx(FakeJmx(state="standby")) as only, watched(only, interval_s=1000) as pool:
        await only.until_asked(3)
        only.state = "active"
        assert (await pool.wait_active(5)).term == 1


async def test_a_redirect_is_not_followed() -> None:
    """A proxy or a login page in between is not a NameNode."""
    async with fake_jmx(FakeJmx(status=302)) as only, watched(only) as pool:
        await only.until_asked(2)
        assert pool.active is None


async def test_there_is_one_rpc_client_for_each() -> None:
    """All who ask share one connection to each NameNode."""
    async with fake_jmx() as first, fake_jmx() as second, watched(first, second) as pool:
        assert pool.rpc(first.namenode) is pool.rpc(first.namenode)
        assert pool.rpc(first.namenode) is not pool.rpc(second.namenode)


async def test_a_real_pair_fails_over() -> None:
    """Handed over, then killed: each time the other one is the active one, with a term of its own."""
    spec = ClusterSpec(hadoop_version=HADOOP, ha=True, with_datanode=False)
    cluster = await asyncio.to_thread(Cluster.start, spec)
    try:
        settings = NameNodeSettings(
            namenode_http=tuple(namenode.http for namenode in cluster.namenodes),
            namenode_rpc=tuple(namenode.rpc for namenode in cluster.namenodes),
            user=cluster.superuser,
        )
        pool = NameNodePool(settings, time.monotonic)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(pool.run())
            await _fail_over(cluster, pool)
            running.cancel()
        await pool.close()
    finally:
        await asyncio.to_thread(cluster.stop)


async def _fail_over(cluster: Cluster, pool: NameNodePool) -> None:
    first, second = pool.namenodes
    active = await pool.wait_active(10)
    assert (active.namenode, active.term) == (first, 1)
    last_txid = await pool.rpc(first).get_current_edit_log_txid()

    await asyncio.to_thread(cluster.transition_to_standby, 0)
    with pytest.raises(RemoteCallError) as caught:
        await pool.rpc(first).get_edits(last_txid)  # on a connection from when it was active
    assert caught.value.verdict is Verdict.STANDBY
    await asyncio.to_thread(cluster.transition_to_active, 1)
    pool.suspect(first, "StandbyException")
    async with asyncio.timeout(10):
        while (active_now := pool.active) is None or active_now.term == 1:
            await pool.wait_probed()
    assert active_now.namenode == second
    assert active_now.transition_ms > active.transition_ms
    assert await pool.rpc(second).get_current_edit_log_txid() > last_txid

    cluster.namenodes[1].process.kill()
    await asyncio.to_thread(cluster.transition_to_active, 0)
    pool.suspect(second, "connection refused")
    async with asyncio.timeout(10):
        while (active_now := pool.active) is None or active_now.namenode == second:
            await pool.wait_probed()
    assert active_now.namenode == first
    assert active_now.term > 2
    assert active_now.started_ms == active.started_ms
    assert active_now.transition_ms > active.transition_ms
