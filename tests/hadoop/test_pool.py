"""The pool of NameNodes, with fake NameNodes whose replies the tests set."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.election_view import HaState, NameNode
from nncache.hadoop.errors import MalformedReplyError, NoActiveNameNodeError, WrongAddressError
from nncache.hadoop.jmx import JOURNAL_QUERY
from nncache.hadoop.namenode_settings import MIN_PROBE_PAUSE_S, NameNodeSettings
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.user import RpcUser
from tests.hadoop.fake_jmx import NAMESPACE, FakeJmx, fake_jmx
from tests.hadoop.rpc.fake_server import Answer, Call, FakeServer, Result, fake_server, version
from tests.patience import HANG_S


@asynccontextmanager
async def watched(
    *fakes: FakeJmx, interval_s: float = 0.02, timeout_s: float = 5.0, web: NameNodeWeb = PLAIN
) -> AsyncIterator[NameNodePool]:
    """Run a pool with these NameNodes."""
    settings = NameNodeSettings(
        namenode_http=tuple(fake.namenode.http for fake in fakes),
        namenode_rpc=tuple(fake.namenode.rpc for fake in fakes),
        user="hdfs",
        namenode_probe_interval_s=interval_s,
        namenode_probe_timeout_s=timeout_s,
    )
    pool = NameNodePool(settings, time.monotonic, web=web)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run())
        try:
            yield pool
        finally:
            running.cancel()
    await pool.close()


async def until(fake: FakeJmx, rule: Callable[[], bool]) -> None:
    """Wait until the rule is true; it is checked at each query to this NameNode."""
    async with asyncio.timeout(HANG_S):
        while not rule():
            await fake.until_asked()


@asynccontextmanager
async def pair(
    *, last_txids: tuple[int, int] = (100, 100), interval_s: float = 0.02, timeout_s: float = 5.0
) -> AsyncIterator[tuple[FakeJmx, FakeJmx, NameNodePool]]:
    """Run a pool with an active NameNode and a standby; yield all three when the active one is known."""
    async with (
        fake_jmx(FakeJmx(last_txid=last_txids[0])) as first,
        fake_jmx(FakeJmx(state="standby", last_txid=last_txids[1])) as second,
        watched(first, second, interval_s=interval_s, timeout_s=timeout_s) as pool,
    ):
        await pool.wait_active(5)
        yield first, second, pool


@asynccontextmanager
async def over_rpc(
    answer: Callable[[Call], Answer],
) -> AsyncIterator[tuple[FakeServer, NameNode, NameNodePool]]:
    """Run a pool with a NameNode that has this RPC server, until it is active; check that all connections end."""
    async with fake_server(answer) as server, fake_jmx() as only:
        namenode = NameNode(only.namenode.http, server.address)
        async with watched(FakeJmx(namenode=namenode)) as pool:
            await pool.wait_active(5)
            yield server, namenode, pool
        await server.until(lambda: server.open == 0)


async def test_a_single_namenode_is_found_and_confirmed() -> None:
    """The first term begins, and each probe confirms it as of the time when it was sent."""
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


async def test_each_probe_has_a_log_position_and_its_namenode() -> None:
    """The position is as of the time when the probe was sent; the log was queried later."""
    async with fake_jmx(FakeJmx(last_txid=70)) as only, watched(only) as pool:
        active = await pool.wait_active(5)
        assert active.namespace == only.namespace
        first = pool.last_probe
        assert first is not None
        assert (first.txid, first.term, first.as_of) == (70, 1, pool.confirmed_as_of)
        assert first.as_of < first.asked_at < time.monotonic()
        only.last_txid = 75
        await until(only, lambda: pool.last_probe is not None and pool.last_probe.txid == 75)
        assert pool.last_probe is not None
        assert pool.last_probe.as_of > first.as_of


async def test_an_unreadable_position_leaves_the_active_one_known() -> None:
    """FailToNameNode: a release with another format still serves, and the direct channel is not affected."""
    async with fake_jmx(FakeJmx(odd={JOURNAL_QUERY})) as only, watched(only) as pool:
        assert (await pool.wait_active(5)).term == 1
        first = pool.confirmed_as_of or 0
        await until(only, lambda: (pool.confirmed_as_of or 0) > first)
        assert pool.last_probe is None
        with pytest.raises(MalformedReplyError):
            await pool.last_txid(only.namenode)


async def test_a_standby_that_is_ahead_stops_the_proof_and_is_counted() -> None:
    """Bounded: another process wrote to a log that the active NameNode does not know."""
    async with pair(last_txids=(70, 71)) as (first, _, pool):
        await until(first, lambda: pool.stats().contradictions > 0)
        stood_at = pool.last_probe
        confirmed_as_of = pool.confirmed_as_of or 0
        await until(first, lambda: (pool.confirmed_as_of or 0) > confirmed_as_of)
        assert pool.last_probe == stood_at
        first.last_txid = 71
        await until(first, lambda: pool.last_probe is not None and pool.last_probe.txid == 71)


async def test_the_last_transaction_is_the_active_ones_to_say() -> None:
    """A standby's log may lack changes that were acknowledged long ago."""
    async with pair(last_txids=(70, 60), interval_s=1000) as (first, second, pool):
        first.last_txid = 80
        assert await pool.last_txid(first.namenode) == 80
        with pytest.raises(NoActiveNameNodeError, match=r"is standby$"):
            await pool.last_txid(second.namenode)


async def test_the_active_one_of_several_is_found() -> None:
    """It comes first in the order, and unreachable ones come last."""
    async with fake_jmx(FakeJmx(state="standby")) as standby, fake_jmx() as other:
        gone = FakeJmx()
        async with fake_jmx(gone):
            pass
        async with watched(gone, standby, other) as pool:
            assert (await pool.wait_active(5)).namenode == other.namenode
            assert pool.order() == (other.namenode, standby.namenode, gone.namenode)
            assert [pool.state_of(each) for each in pool.order()] == [HaState.ACTIVE, HaState.STANDBY, None]
            stats = pool.stats()
            assert (stats.namenodes, stats.reachable, stats.has_active, stats.term) == (3, 2, 1, 1)
            assert stats.failed_probes >= 1


async def test_a_pool_that_does_not_run_says_so() -> None:
    """It knows nothing about NameNodes that it does not watch."""
    pool = NameNodePool(NameNodeSettings(user="hdfs"), time.monotonic)
    with pytest.raises(NoActiveNameNodeError, match="not being watched"):
        await pool.last_txid(pool.namenodes[0])


async def test_nobody_is_active() -> None:
    """The error has the state of each NameNode."""
    async with fake_jmx(FakeJmx(state="standby")) as standby, watched(standby) as pool:
        await standby.until_asked(2)
        with pytest.raises(NoActiveNameNodeError) as caught:
            await pool.wait_active(0.01)
        assert str(caught.value) == "no active NameNode", "clients are told this"
        assert caught.value.whole == f"no active NameNode: {standby.namenode.http} is standby"
        assert pool.order() == (standby.namenode,)


async def test_who_says_nothing_is_not_active() -> None:
    """It hangs or returns errors; when it recovers, the same life has the same term."""
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
    """A refused connection counts like silence; the restarted process begins a new term."""
    async with pair() as (first, second, pool):
        await first.end()
        await until(second, lambda: pool.active is None)
        first.started_ms = 7
        await first.start()
        assert (await pool.wait_active(5)).term == 2


async def test_a_hung_standby_does_not_hold_up_the_rest() -> None:
    """Its probe runs into the deadline while probes of the active one continue."""
    async with pair(timeout_s=0.2) as (first, second, pool):
        second.is_hung = True
        await until(first, lambda: pool.stats().reachable == 1)
        confirmed_as_of = pool.confirmed_as_of or 0
        await first.until_asked(3)
        assert pool.active is not None
        assert (pool.confirmed_as_of or 0) > confirmed_as_of


async def test_a_suspicion_is_looked_into_at_once() -> None:
    """All NameNodes are probed long before the next interval."""
    async with pair(interval_s=1000) as (first, second, pool):
        second.state, first.state = "active", "standby"
        pool.suspect(first.namenode, "StandbyException")
        await until(second, lambda: pool.active is not None and pool.active.term == 2)
        assert pool.stats().suspicions == 1


async def test_a_storm_of_suspicions_is_no_storm_of_probes() -> None:
    """However often a NameNode is suspected, there is a minimum pause after each probe."""
    async with fake_jmx() as only, watched(only, interval_s=1000) as pool:
        await pool.wait_active(5)
        began_at, asked = time.monotonic(), only.asked
        async with asyncio.timeout(HANG_S):
            while only.asked < asked + 4:
                pool.suspect(only.namenode, "again")
                await asyncio.sleep(0)
        assert time.monotonic() - began_at >= 3 * MIN_PROBE_PAUSE_S


async def test_a_broken_off_probe_is_repeated_at_once() -> None:
    """An unanswered probe of the active NameNode is followed by another immediately, not after an interval."""
    async with fake_jmx() as only, watched(only, interval_s=1000) as pool:
        await pool.wait_active(5)
        only.status = 500
        pool.suspect(only.namenode, "cut")
        await until(only, lambda: pool.active is None)


async def test_while_nobody_is_active_it_looks_more_often() -> None:
    """A failover is detected when it is over, not up to an interval later."""
    async with fake_jmx(FakeJmx(state="standby")) as only, watched(only, interval_s=1000) as pool:
        await only.until_asked(3)
        only.state = "active"
        assert (await pool.wait_active(5)).term == 1


async def test_a_redirect_is_not_followed() -> None:
    """A proxy or a login page before it is not a NameNode."""
    async with fake_jmx(FakeJmx()) as other:
        redirect = FakeJmx(status=302, leads_to=other.namenode.http)
        async with fake_jmx(redirect) as only, watched(only) as pool:
            await only.until_asked(2)
            assert pool.active is None
        assert other.queries == []


def closed(call: Call) -> Answer:
    """Answer isFileClosed, and versionRequest with the namespace that the fake reports over HTTP."""
    if call.method == "versionRequest":
        return version(NAMESPACE)
    return Result(client.IsFileClosedResponse(result=True))


async def test_no_connection_leads_to_another_namespace_than_http() -> None:
    """OpenFileUncached, OwnWrites: neither the service's nor a caller's connection sends calls to another cluster."""

    def elsewhere(call: Call) -> Answer:
        return version(Namespace("CID-2", "BP-2")) if call.method == "versionRequest" else closed(call)

    async with over_rpc(elsewhere) as (server, namenode, pool):
        assert pool.wrong_namespace(namenode) == ""
        with pytest.raises(WrongAddressError, match="BP-2 of cluster CID-2"):
            await pool.rpc(namenode).is_file_closed("/f")
        async with pool.rpc_as(namenode, RpcUser("alice")) as rpc:
            with pytest.raises(WrongAddressError):
                await rpc.is_file_closed("/f")
        assert "--namenode-rpc" in pool.wrong_namespace(namenode)
        assert pool.namespace_check(namenode).over_http == NAMESPACE
        server.answer = closed
        assert await pool.rpc(namenode).is_file_closed("/f")
        assert pool.wrong_namespace(namenode) == ""
        assert all(call.method == "versionRequest" for call in server.calls[:-1])


async def test_a_pair_of_two_namespaces_is_named() -> None:
    """Bounded: the settings mix two clusters, so nothing is confirmed."""
    standby = FakeJmx(state="standby", namespace=Namespace("CID-2", "BP-2"))
    async with fake_jmx() as active, fake_jmx(standby), watched(active, standby) as pool:
        await pool.wait_active(5)
        assert pool.confirmed_as_of is None
        assert "BP-2 of cluster CID-2" in pool.wrong_namespace(active.namenode)


async def test_of_several_active_the_latest_is_tried_first() -> None:
    """OwnWrites: a write through the new one is not read from the old one, which resumed after a pause."""
    standby = FakeJmx(state="standby")
    async with fake_jmx() as first, fake_jmx(standby) as second, watched(first, second) as pool:
        await pool.wait_active(5)
        await until(second, lambda: second.asked > 1)
        second.state, second.transition_ms = "active", 1
        await until(second, lambda: pool.active is None)
        assert pool.order() == (second.namenode, first.namenode)


async def test_ownwrites_no_observer_is_asked() -> None:
    """An observer would answer a read from an old log; it is avoided, even while silent, until its state changes."""
    observer = FakeJmx(state="observer")
    async with fake_jmx(observer), fake_jmx() as active, watched(observer, active) as pool:
        assert (await pool.wait_active(5)).namenode == active.namenode
        assert pool.order() == (active.namenode,)
        observer.status = 500
        await until(observer, lambda: pool.state_of(observer.namenode) is None)
        assert pool.order() == (active.namenode,)
        observer.status, observer.state = 200, "standby"
        await until(observer, lambda: pool.order() == (active.namenode, observer.namenode))


async def test_why_no_namenode_is_known_to_be_active_is_reported() -> None:
    """For example, a NameNode that requires Kerberos for /jmx."""
    async with fake_jmx(FakeJmx(status=401)) as only, watched(only) as pool:
        await only.until_asked(2)
        with pytest.raises(NoActiveNameNodeError) as caught:
            await pool.wait_active(0)
        assert re.search("answers 401 to user hdfs: .*--principal and --keytab", caught.value.whole)


async def test_callers_have_connections_that_end_with_the_pool() -> None:
    """Each connection has the caller's own name; `doas` adds the real user."""
    async with over_rpc(closed) as (server, namenode, pool):
        assert await pool.rpc(namenode).is_file_closed("/f")
        for user in (RpcUser("alice"), RpcUser("alice", real_name="oozie"), RpcUser("alice")):
            async with pool.rpc_as(namenode, user) as rpc:
                assert await rpc.is_file_closed("/f")
        assert pool.stats().caller_connections == 2
        assert [(call.user, call.real_user) for call in server.calls if call.method == "isFileClosed"] == [
            (pool.user, ""),
            ("alice", ""),
            ("alice", "oozie"),
            ("alice", ""),
        ]


async def test_idle_connections_of_callers_are_closed_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NameNode keeps no descriptor open for a caller who has left."""
    monkeypatch.setattr("nncache.hadoop.namenodes.pool.IDLE_S", 0.02)
    monkeypatch.setattr("nncache.hadoop.rpc.callers.IDLE_S", 0.02)
    async with over_rpc(closed) as (server, namenode, pool):
        async with pool.rpc_as(namenode, RpcUser("alice")) as rpc:
            assert await rpc.is_file_closed("/f")
        await server.until(lambda: server.open == 0)
        assert pool.stats().caller_connections == 0
