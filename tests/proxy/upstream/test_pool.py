"""Connections are lent to one call at a time, bounded in number, and closed when idle too long."""

import asyncio
import contextlib
import functools

import pytest

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.namenode_web import PLAIN
from nncache.proxy.errors import NotSentError, OverloadedError
from nncache.proxy.upstream.pool import Connection, ConnectionPool
from nncache.testbed.certificates import Authority
from tests.proxy.doubles import FakeClock
from tests.proxy.wire import GET, OK, Heard, RawNameNode, limits_of_tests, until
from tests.tls import server_context, web_of


async def test_an_idle_connection_is_closed_before_the_namenode() -> None:
    """`upstream_idle_s` counts by the local clock."""
    clock = FakeClock()
    async with RawNameNode() as namenode:
        connections = ConnectionPool(limits_of_tests(upstream_idle_s=30.0), clock)
        one = await connections.acquire(namenode.namenode, fresh=False)
        connections.release(one, reusable=True)
        clock.now += 31
        two = await connections.acquire(namenode.namenode, fresh=False)
        assert two is not one
        connections.release(two, reusable=True)
        connections.close()
        assert connections.counts().idle == 0


@pytest.mark.parametrize("is_tls", [False, True])
async def test_a_connection_that_the_namenode_closed_is_not_lent(
    authority: Authority, *, is_tls: bool
) -> None:
    """EOF and close_notify are noticed as soon as they arrive."""

    async def once(heard: Heard) -> None:
        await heard.say(OK)
        heard.writer.close()

    tls, how = (server_context(authority), web_of(authority)) if is_tls else (None, PLAIN)
    connections = ConnectionPool(limits_of_tests(), FakeClock(), how)
    async with RawNameNode(once, tls=tls) as namenode:
        one = await connections.acquire(namenode.namenode, fresh=False)
        one.protocol.expect_reply("GET")
        one.send_head(GET)
        await one.protocol.read_head()
        connections.release(one, reusable=True)
        await until(lambda: not one.protocol.is_reusable)
        assert connections.acquire_kept(namenode.namenode, "me") is None
    with pytest.raises(NotSentError):
        await connections.acquire(one.namenode, fresh=False)
    assert connections.counts().in_use == 0


async def test_the_number_of_connections_is_bounded() -> None:
    """A call that finds none waits for a limited time; idle connections are closed to make room for fresh ones."""
    limits = limits_of_tests(upstream_connections=2, upstream_timeout_s=0.1)
    async with RawNameNode() as namenode:
        connections = ConnectionPool(limits, FakeClock())
        lent = [await connections.acquire(namenode.namenode, fresh=False) for _ in range(2)]
        with pytest.raises(OverloadedError):
            await connections.acquire(namenode.namenode, fresh=False)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(connections.acquire(namenode.namenode, fresh=False))
            await asyncio.sleep(0)
            connections.release(lent.pop(), reusable=True)
        lent.append(waiting.result())
        connections.release(lent.pop(), reusable=True)
        lent.append(await connections.acquire(namenode.namenode, fresh=True))
        counts = connections.counts()
        assert counts.in_use + counts.idle <= 2
        give_back(connections, lent)


async def test_a_wait_that_is_cancelled_takes_no_place() -> None:
    """This holds in the queue and during the connect."""
    limits = limits_of_tests(upstream_connections=1)
    async with RawNameNode() as namenode:
        connections = ConnectionPool(limits, FakeClock())
        one = await connections.acquire(namenode.namenode, fresh=False)
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(connections.acquire(namenode.namenode, fresh=False))
            await asyncio.sleep(0)
            waiting.cancel()
        give_back(connections, [one])
        async with asyncio.TaskGroup() as tasks:
            opening = tasks.create_task(connections.acquire(namenode.namenode, fresh=False))
            await asyncio.sleep(0)
            opening.cancel()
        give_back(connections, [await connections.acquire(namenode.namenode, fresh=False)])
        assert connections.counts().in_use == 0


async def test_a_slow_client_makes_room_for_waiting_calls() -> None:
    """The addresses with most connections are cut first, no more than are needed, and none after a short wait."""
    clock, cut = FakeClock(), list[int]()
    async with RawNameNode() as namenode, asyncio.TaskGroup() as tasks:
        where = namenode.namenode
        connections = ConnectionPool(limits_of_tests(upstream_connections=4), clock)
        peers = ("10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2")
        lent = [await connections.acquire(where, fresh=True, peer=peer) for peer in peers]
        with contextlib.ExitStack() as waits:
            for number in (0, 1, 3):
                waits.enter_context(lent[number].waiting_for_client(functools.partial(cut.append, number)))
                clock.now += 0.25
            connections.relieve(where)
            assert cut == []  # no call waits
            waiting = tasks.create_task(connections.acquire(where, fresh=True, peer="10.0.0.3"))
            await asyncio.sleep(0)
            assert connections.counts().waiting == 1
            connections.relieve(where)
            assert cut == []  # waited for too short a time
            clock.now += 1.0
            connections.relieve(where)
            assert cut == [0]
            connections.relieve(where)
            assert cut == [0, 1]
            assert connections.counts().clients_cut == 2
        clock.now += 10
        connections.relieve(where)  # no connection waits for its client any more
        assert cut == [0, 1]
        connections.release(lent.pop(0), reusable=False)
        lent.append(await waiting)
        connections.close()
        give_back(connections, lent)


async def test_a_client_is_not_cut_for_one_that_holds_more() -> None:
    """A call of the address with most connections waits for that address's own connections."""
    clock, cut = FakeClock(), list[str]()
    async with RawNameNode() as namenode, asyncio.TaskGroup() as tasks:
        where = namenode.namenode
        connections = ConnectionPool(limits_of_tests(upstream_connections=8), clock)
        lent = [await connections.acquire(where, fresh=True, peer="greedy") for _ in range(7)]
        lent.append(await connections.acquire(where, fresh=True, peer="modest"))
        waiting = tasks.create_task(connections.acquire(where, fresh=True, peer="greedy"))
        await asyncio.sleep(0)
        with lent[-1].waiting_for_client(lambda: cut.append("modest")):
            clock.now += 5
            connections.relieve(where)
            assert cut == []
            with lent[0].waiting_for_client(lambda: cut.append("greedy")):
                clock.now += 5
                connections.relieve(where)
                assert cut == ["greedy"]
        waiting.cancel()
        await asyncio.sleep(0)
        connections.close()
        give_back(connections, lent)


async def test_a_client_may_be_waited_for_twice() -> None:
    """It neither reads nor sends: progress in one direction resets no timer of the other, nor does a single byte."""
    clock, cut = FakeClock(), list[str]()
    async with RawNameNode() as namenode, asyncio.TaskGroup() as tasks:
        where = namenode.namenode
        connections = ConnectionPool(limits_of_tests(upstream_connections=1), clock)
        lent = [await connections.acquire(where, fresh=True, peer="10.0.0.1")]
        waiting = tasks.create_task(connections.acquire(where, fresh=True, peer="10.0.0.2"))
        await asyncio.sleep(0)
        with lent[0].waiting_for_client(lambda: cut.append("does not read")):
            clock.now += 0.75
            with lent[0].waiting_for_client(lambda: cut.append("does not send")):
                clock.now += 0.1
            clock.now += 0.2
            connections.relieve(where)
        assert cut == ["does not read"]
        with lent[0].waiting_for_client(lambda: cut.append("drips"), spent_s=0.95):
            clock.now += 0.1
            connections.relieve(where)
        assert cut == ["does not read", "drips"]
        waiting.cancel()
        await asyncio.sleep(0)
        connections.close()
        give_back(connections, lent)


async def test_a_namenode_without_an_address_is_not_reached() -> None:
    """The error is one of the connection, not an internal error."""
    connections = ConnectionPool(limits_of_tests(), FakeClock())
    with pytest.raises(NotSentError, match="no-such-host"):
        await connections.acquire(NameNode("no-such-host.invalid:9870", "x:1"), fresh=False)


def give_back(connections: ConnectionPool, lent: list[Connection]) -> None:
    """Close all connections that were lent."""
    for connection in lent:
        connections.release(connection, reusable=False)
