"""Connections as callers: limited in number, kept while in use, closed afterwards."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.errors import RpcUnavailableError, TooManyCallersError
from nncache.hadoop.rpc.callers import IDLE_S, CallerConnections
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.user import RpcUser
from tests.hadoop.rpc.fake_server import Answer, Call, FakeServer, Later, Result, fake_server

CLOSED = Result(client.IsFileClosedResponse(result=True))
ALICE, BOB, CAROL = RpcUser("alice"), RpcUser("bob"), RpcUser("carol")


class Clock:
    """Stands in for the clock; the test sets it."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time of the test."""
        return self.now


def closed(call: Call) -> Answer:
    """Answer isFileClosed."""
    return CLOSED


@asynccontextmanager
async def lender(clock: Clock | None = None, *, most: int = 2) -> AsyncIterator[CallerConnections]:
    """Yield a small pool of connections, and close it."""
    callers = CallerConnections(clock or Clock(), timeout_s=5.0, max_connections=most)
    try:
        yield callers
    finally:
        await callers.close()


async def ask(callers: CallerConnections, server: FakeServer, user: RpcUser) -> None:
    """Send a query as this user."""
    async with callers.borrow(server.address, user, None) as rpc:
        assert await rpc.is_file_closed("/f")


async def test_each_is_asked_as_themselves_over_one_connection() -> None:
    """A second query uses the same connection."""
    async with fake_server(closed) as server, lender() as callers:
        for user in (ALICE, BOB, ALICE):
            await ask(callers, server, user)
        assert [(call.user, call.connection) for call in server.calls] == [
            ("alice", 1),
            ("bob", 2),
            ("alice", 1),
        ]


async def test_who_acts_for_somebody_has_a_connection_of_their_own() -> None:
    """The NameNode must get both names: oozie and alice have different rights."""
    async with fake_server(closed) as server, lender() as callers:
        await ask(callers, server, ALICE)
        await ask(callers, server, RpcUser("alice", real_name="oozie"))
        assert [(call.user, call.real_user) for call in server.calls] == [("alice", ""), ("alice", "oozie")]
        assert server.connections == 2


async def test_the_one_used_longest_ago_makes_room() -> None:
    """L1: the least recently used connection is closed."""
    async with fake_server(closed) as server, lender() as callers:
        for user in (ALICE, BOB, ALICE, CAROL, ALICE, BOB):
            await ask(callers, server, user)
            assert len(callers) <= 2
        assert [call.connection for call in server.calls] == [1, 2, 1, 3, 1, 4]
        await server.until(lambda: server.open == 2)


async def test_one_in_use_makes_no_room() -> None:
    """L2: if all connections are in use, the caller gets an error, and no query is sent."""
    released = asyncio.Event()
    async with (
        fake_server(lambda _: Later(released, CLOSED)) as server,
        lender() as callers,
        asyncio.TaskGroup() as tasks,
    ):
        for user in (ALICE, BOB):
            tasks.create_task(ask(callers, server, user))
        await server.until(lambda: len(server.calls) == 2)
        with pytest.raises(TooManyCallersError, match=r"^all 2 connections as callers are in use$"):
            await ask(callers, server, CAROL)
        tasks.create_task(ask(callers, server, ALICE))  # one user may have any number of queries
        released.set()
    assert [call.user for call in server.calls] == ["alice", "bob", "alice"]


async def test_what_nobody_uses_is_closed() -> None:
    """A NameNode keeps no descriptor open for a caller who has left."""
    clock = Clock()
    async with fake_server(closed) as server, lender(clock) as callers:
        await ask(callers, server, ALICE)
        clock.now = IDLE_S / 2
        await ask(callers, server, BOB)
        clock.now = IDLE_S
        async with callers.borrow(server.address, CAROL, None):
            assert len(callers) == 2, "alice's made room"
        await ask(callers, server, ALICE)
        clock.now = IDLE_S * 1.5
        await callers.close_idle()
        assert len(callers) == 2
        clock.now = IDLE_S * 2
        async with callers.borrow(server.address, ALICE, None):
            clock.now = IDLE_S * 4
            await callers.close_idle()
            assert len(callers) == 1, "L2"
        await server.until(lambda: server.open == 1)


async def test_closed_for_good() -> None:
    """Calls in flight fail, and no connection is lent any more."""
    async with fake_server(closed) as server, lender() as callers:
        await ask(callers, server, ALICE)
        async with callers.borrow(server.address, ALICE, None) as rpc:
            await callers.close()
            with pytest.raises(RpcUnavailableError):
                await rpc.is_file_closed("/f")
        assert len(callers) == 0
        with pytest.raises(TooManyCallersError):
            await ask(callers, server, BOB)
        await server.until(lambda: server.open == 0)
