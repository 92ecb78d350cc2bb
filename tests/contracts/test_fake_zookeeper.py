"""Features of the ZooKeeper fake alone: virtual time, and control of a single commit."""

import asyncio

import pytest

from nncache.coordination.errors import BadVersionError, ConnectionLostError
from nncache.coordination.zookeeper import CreateOp, SetDataOp
from tests.coordination.fake_zookeeper import SESSION_TIMEOUT_S, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.virtual_time import clock


def test_a_lost_commit_is_carried_out_or_not() -> None:
    """The test decides whether the next commit is applied. The session continues over another connection."""

    async def story() -> None:
        zookeeper = FakeZooKeeper(clock)
        async with zookeeper.session() as session:
            await session.commit([CreateOp("/a", b"0")])
            for after, version in ((False, 0), (True, 1)):
                before = session.session_id, session.connection_id
                zookeeper.lose_next_commit(after=after)
                with pytest.raises(ConnectionLostError):
                    await session.commit([SetDataOp("/a", b"1")])
                assert (session.session_id, session.connection_id) == (before[0], before[1] + 1)
                assert (await session.get("/a")).version == version
            await session.commit([SetDataOp("/a", b"2", 1)])
            assert zookeeper.writes == 3

    virtual_time.run(story())


def test_what_takes_long_takes_no_time() -> None:
    """Sessions expire in virtual time after a disconnection."""

    async def story() -> None:
        zookeeper = FakeZooKeeper(clock)
        async with zookeeper.session() as victim, zookeeper.session() as other:
            await victim.commit([CreateOp("/e", b"", ephemeral=True)])
            look = other.watch("/e")
            await look.read()
            began = clock()
            zookeeper.disconnect(victim)
            assert not await look.changed(SESSION_TIMEOUT_S - 0.1)
            assert await look.changed(1.0)
            assert clock() - began == pytest.approx(SESSION_TIMEOUT_S, abs=0.01)
            zookeeper.connect()
            zookeeper.disconnect()
            with pytest.raises(ConnectionLostError):
                await other.wait_connected(3600.0)
            zookeeper.connect()
            assert zookeeper.tree.paths == ()
            assert victim.session_id != other.session_id

    virtual_time.run(story())


def test_calls_take_their_time_in_order() -> None:
    """Pipelined calls share one latency; each sees the effects of those before it."""

    async def story() -> None:
        zookeeper = FakeZooKeeper(clock, latency_s=0.01)
        async with zookeeper.session() as session:
            await session.commit([CreateOp("/a", b"")])
            began = clock()
            async with asyncio.TaskGroup() as tasks:
                for version in range(100):
                    tasks.create_task(session.commit([SetDataOp("/a", b"", version)]))
            assert clock() - began == pytest.approx(0.01, abs=0.001)
            with pytest.raises(BadVersionError):
                await session.commit([SetDataOp("/a", b"", 99)])
            assert zookeeper.writes == 101

    virtual_time.run(story())


def test_its_watches_are_counted() -> None:
    """There is one per path and session, until it fires or the connection ends."""

    async def story() -> None:
        zookeeper = FakeZooKeeper(clock)
        async with zookeeper.session() as one, zookeeper.session() as other:
            for session in (one, one, other):
                await session.watch("/a").read()
            assert zookeeper.watches == 2
            zookeeper.expire(one)
            assert zookeeper.watches == 1
            await one.commit([CreateOp("/a", b"")])
            assert zookeeper.watches == 0

    virtual_time.run(story())
