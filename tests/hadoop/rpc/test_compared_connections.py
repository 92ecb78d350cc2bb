"""The namespace at the other end of a connection: `connection.py` queries it, `hadoop/namespace.py` compares it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.errors import RpcError, RpcUnavailableError, WrongAddressError
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.rpc.connection import RpcConnection
from tests.hadoop.rpc.fake_server import (
    Answer,
    Call,
    Cut,
    Failure,
    FakeServer,
    Later,
    Raw,
    fake_server,
    version,
)
from tests.hadoop.rpc.test_connection import YES, ask

OURS, THEIRS = Namespace("CID-1", "BP-1"), Namespace("CID-2", "BP-2")


class Moving:
    """A server that serves one namespace, then another."""

    def __init__(self) -> None:
        self.namespace = OURS
        self.refusal: Answer | None = None  # to versionRequest

    def answer(self, call: Call) -> Answer:
        """Answer a call."""
        if call.method == "versionRequest":
            return self.refusal or version(self.namespace)
        return YES


def check_of(address: str) -> NamespaceCheck:
    """Return a check of a NameNode that reports OURS over HTTP."""
    check = NamespaceCheck("nn:9870", address)
    check.note_over_http(OURS)
    return check


@asynccontextmanager
async def comparing() -> AsyncIterator[tuple[Moving, FakeServer, RpcConnection, NamespaceCheck]]:
    """Run the server, and yield a checked connection to it."""
    moving = Moving()
    async with fake_server(moving.answer) as server:
        check = check_of(server.address)
        connection = RpcConnection(server.address, "alice", check=check)
        try:
            yield moving, server, connection, check
        finally:
            await connection.close()


async def test_each_connection_is_compared_before_its_first_call() -> None:
    """I4: once per connection; one to another namespace sends no call and is closed."""
    async with comparing() as (moving, server, connection, _):
        assert await ask(connection)
        assert await ask(connection)
        moving.namespace = THEIRS
        server.cut_all()
        for _ in range(2):
            with pytest.raises(WrongAddressError, match="BP-2 of cluster CID-2"):
                await ask(connection)
        await server.until(lambda: server.open == 0)
        moving.namespace = OURS
        assert await ask(connection)
        assert [(call.connection, call.method) for call in server.calls] == [
            (1, "versionRequest"),
            (1, "isFileClosed"),
            (1, "isFileClosed"),
            (2, "versionRequest"),
            (3, "versionRequest"),
            (4, "versionRequest"),
            (4, "isFileClosed"),
        ]


async def test_another_namespace_over_http_ends_the_connection() -> None:
    """I4: a NameNode was formatted, or its HTTP address now leads elsewhere."""
    async with comparing() as (moving, server, connection, check):
        assert await ask(connection)
        check.note_over_http(THEIRS)
        with pytest.raises(WrongAddressError):
            await ask(connection)
        moving.namespace = THEIRS
        assert await ask(connection)
        assert server.connections == 3


@pytest.mark.parametrize(
    "refusal",
    [Failure("org.apache.hadoop.security.AccessControlException", "no"), Cut(), Raw(b"\x00\x00\x00\x01\x00")],
)
async def test_a_server_that_does_not_say_is_asked_nothing(refusal: Answer) -> None:
    """A query that another cluster might answer is not sent."""
    async with comparing() as (moving, server, connection, _):
        moving.refusal = refusal
        with pytest.raises(RpcError):
            await ask(connection)
        assert "isFileClosed" not in {call.method for call in server.calls}
        moving.refusal = None
        assert await ask(connection)


async def test_those_who_wait_for_a_connection_share_its_refusal() -> None:
    """One attempt suffices for all calls that were waiting when it started."""
    released = asyncio.Event()
    async with comparing() as (moving, server, connection, _):
        moving.refusal = Later(released, version(THEIRS))
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(_failure(connection)) for _ in range(5)]
            await server.until(lambda: len(server.calls) == 1)
            released.set()
        assert all("BP-2 of cluster CID-2" in str(each.result()) for each in asked)
        assert not any(each.result().is_sent for each in asked)
        assert server.connections == 2, "one attempt had begun when the others came"


async def _failure(connection: RpcConnection) -> RpcUnavailableError:
    with pytest.raises(RpcUnavailableError) as caught:
        await ask(connection)
    return caught.value


async def test_a_connection_that_was_compared_is_not_asked_again() -> None:
    """It ends with the process at its other end; the first user of a new connection compares it."""
    async with comparing() as (moving, server, connection, _):
        for _ in range(2):
            await connection.confirm_namespace(5.0)
        assert await ask(connection)
        assert [call.method for call in server.calls] == ["versionRequest", "isFileClosed"]
        moving.namespace = THEIRS
        server.cut_all()
        with pytest.raises(WrongAddressError):
            await ask(connection)  # which finds that the connection is lost
        with pytest.raises(WrongAddressError):
            await connection.confirm_namespace(5.0)
        moving.namespace = OURS
        await connection.confirm_namespace(5.0)
        assert await ask(connection)
        unchecked = RpcConnection(server.address, "alice")
        await unchecked.confirm_namespace(5.0)
        await unchecked.close()


async def test_a_confirmed_connection_ends_another_ones_trouble() -> None:
    """N2: callers have their own connections, and none of them has to reconnect to end the trouble."""
    async with comparing() as (moving, server, callers, check):
        ours = RpcConnection(server.address, "hdfs", check=check)
        await ours.confirm_namespace(5.0)
        moving.namespace = THEIRS
        with pytest.raises(WrongAddressError):
            await callers.confirm_namespace(5.0)
        assert "BP-2" in check.trouble
        await ours.confirm_namespace(5.0)
        assert check.trouble == ""
        await ours.close()


async def test_a_connection_is_waited_for_no_longer_than_that() -> None:
    """The server accepts the connection and sends nothing."""
    never = asyncio.Event()
    async with comparing() as (moving, _, connection, _):
        moving.refusal = Later(never, version(OURS))
        with pytest.raises(RpcUnavailableError, match=r"no connection in 0\.05 s") as caught:
            await connection.confirm_namespace(0.05)
        assert not caught.value.is_sent
