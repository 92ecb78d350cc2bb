"""Connections are lent one at a time, bounded, and not kept beyond their use."""

import asyncio

import pytest

from hadoop.election_view import NameNode
from proxy.connections import Connection, Connections
from proxy.errors import NotSentError, OverloadedError
from tests.proxy.doubles import FakeClock
from tests.proxy.wire import RawNameNode, limits_of_tests, until


async def test_a_connection_that_came_back_is_lent_again() -> None:
    """Unless a fresh one is asked for, or it was not left clean."""
    async with RawNameNode() as namenode:
        connections = Connections(limits_of_tests(), FakeClock())
        one = await connections.acquire(namenode.namenode, fresh=False)
        assert not one.was_used
        connections.release(one, reusable=True)
        fresh = await connections.acquire(namenode.namenode, fresh=True)
        assert fresh is not one
        again = await connections.acquire(namenode.namenode, fresh=False)
        assert again is one
        assert again.was_used
        connections.release(again, reusable=False)
        connections.release(fresh, reusable=False)
        counts = connections.counts()
        assert (counts.in_use, counts.idle, counts.opened) == (0, 0, 2)


async def test_an_unused_connection_is_given_up_before_the_namenode_does() -> None:
    """upstream_idle_s, by the local clock."""
    clock = FakeClock()
    async with RawNameNode() as namenode:
        connections = Connections(limits_of_tests(upstream_idle_s=30.0), clock)
        one = await connections.acquire(namenode.namenode, fresh=False)
        connections.release(one, reusable=True)
        clock.now += 31
        two = await connections.acquire(namenode.namenode, fresh=False)
        assert two is not one
        connections.release(two, reusable=True)
        connections.close()
        assert connections.counts().idle == 0


async def test_a_connection_that_the_namenode_closed_is_not_lent() -> None:
    """Its end is seen as soon as it arrives."""
    async with RawNameNode() as namenode:
        connections = Connections(limits_of_tests(), FakeClock())
        one = await connections.acquire(namenode.namenode, fresh=False)
        connections.release(one, reusable=True)
    await until(lambda: not one.is_usable)
    async with RawNameNode() as other:
        two = await connections.acquire(other.namenode, fresh=False)
        connections.release(two, reusable=False)
    with pytest.raises(NotSentError):
        await connections.acquire(one.namenode, fresh=False)
    assert connections.counts().in_use == 0


async def test_the_number_of_connections_is_bounded() -> None:
    """Who finds none waits for one, not for ever; idle ones make room for fresh ones."""
    limits = limits_of_tests(upstream_connections=2, upstream_timeout_s=0.1)
    async with RawNameNode() as namenode:
        connections = Connections(limits, FakeClock())
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
    """Neither in the queue nor while it connects."""
    limits = limits_of_tests(upstream_connections=1)
    async with RawNameNode() as namenode:
        connections = Connections(limits, FakeClock())
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


async def test_a_namenode_without_an_address_is_not_reached() -> None:
    """An error of the way there, not a bug."""
    connections = Connections(limits_of_tests(), FakeClock())
    with pytest.raises(NotSentError, match="no-such-host"):
        await connections.acquire(NameNode("no-such-host.invalid:9870", "x:1"), fresh=False)


def give_back(connections: Connections, lent: list[Connection]) -> None:
    """Release all, for good."""
    for connection in lent:
        connections.release(connection, reusable=False)
