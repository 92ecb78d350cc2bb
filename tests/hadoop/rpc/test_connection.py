"""One shared connection to a NameNode."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.errors import (
    FramingError,
    RemoteCallError,
    RpcAuthenticationError,
    RpcError,
    RpcUnavailableError,
)
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.connection import Method, RpcConnection
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from tests.hadoop.rpc.fake_server import (
    Answer,
    Call,
    Cut,
    Failure,
    FakeServer,
    Later,
    Never,
    Raw,
    Result,
    fake_server,
    frame_of,
)

READ = Method("some.Protocol", "isFileClosed", is_repeatable=True)
WRITE = Method("some.Protocol", "rollEdits", is_repeatable=False)
YES = Result(client.IsFileClosedResponse(result=True))
NO = Result(client.IsFileClosedResponse(result=False))


@asynccontextmanager
async def connected(answer: Callable[[Call], Answer]) -> AsyncIterator[tuple[FakeServer, RpcConnection]]:
    """Run a server, and yield a connection to it as alice."""
    async with fake_server(answer) as server:
        connection = RpcConnection(server.address, "alice")
        try:
            yield server, connection
        finally:
            await connection.close()


async def ask(
    connection: RpcConnection, path: str = "/f", *, method: Method = READ, timeout_s: float = 5.0
) -> bool:
    """Query whether a file is closed."""
    request = client.IsFileClosedRequest(src=path)
    return (await connection.call(method, request, client.IsFileClosedResponse, timeout_s)).result


def path_of(call: Call) -> str:
    """Return the path of a call."""
    return client.IsFileClosedRequest.FromString(call.request).src


async def test_a_call_brings_its_result() -> None:
    """The first call connects, sends the context and the call; later calls use the same connection."""
    async with connected(lambda _: YES) as (server, connection):
        assert connection.connection_id == 0
        assert await ask(connection)
        assert await ask(connection)
        assert connection.connection_id == 1
        assert server.preambles == [b"hrpc\x09\x00\x00"]
        assert {(call.user, call.protocol, call.method) for call in server.calls} == {
            ("alice", "some.Protocol", "isFileClosed")
        }


async def test_calls_share_one_connection_and_overtake_each_other() -> None:
    """Many concurrent calls connect once; replies are matched to their calls in any order."""
    released = asyncio.Event()

    def answer(call: Call) -> Answer:
        number = int(path_of(call)[1:])
        return Later(released, NO) if number % 2 else YES

    async with connected(answer) as (server, connection):
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(ask(connection, f"/{number}")) for number in range(50)]
            await asyncio.wait(asked[::2], timeout=5)
            assert not any(task.done() for task in asked[1::2])
            released.set()
        assert [task.result() for task in asked] == [number % 2 == 0 for number in range(50)]
        assert server.connections == 1
        assert len({call.call_id for call in server.calls}) == 50


async def test_a_cancelled_call_harms_no_other() -> None:
    """The other calls on the connection get their replies, and it stays in use."""
    released = asyncio.Event()
    async with connected(lambda _: Later(released, YES)) as (server, connection):
        async with asyncio.TaskGroup() as tasks:
            kept = tasks.create_task(ask(connection, "/kept"))
            given_up = tasks.create_task(ask(connection, "/given-up"))
            await server.until(lambda: len(server.calls) == 2)
            given_up.cancel()
            await asyncio.wait([given_up])
            released.set()
        assert kept.result()
        assert await ask(connection)
        assert connection.connection_id == 1


async def test_who_gives_up_while_connecting_leaves_it_to_the_next() -> None:
    """The call that started to connect is cancelled; the one that waited for it connects and succeeds."""
    async with connected(lambda _: YES) as (_, connection):
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(ask(connection))
            second = tasks.create_task(ask(connection))
            await asyncio.sleep(0)  # both are waiting now
            first.cancel()
        assert first.cancelled()
        assert second.result()


async def test_a_call_that_is_too_slow_leaves_the_others_alone() -> None:
    """Each call has its own deadline, and the connection stays while anything arrives over it."""
    async with connected(lambda call: Never() if path_of(call) == "/slow" else YES) as (server, connection):

        async def quick() -> bool:
            await server.until(lambda: len(server.calls) == 1)
            return await ask(connection, "/quick")

        slow, answered = await asyncio.gather(
            ask(connection, "/slow", timeout_s=0.2), quick(), return_exceptions=True
        )
        assert isinstance(slow, RpcUnavailableError)
        assert slow.is_sent
        assert answered is True
        assert await ask(connection)
        assert connection.connection_id == 1


async def test_a_connection_that_says_nothing_is_replaced() -> None:
    """After a deadline in complete silence the next call reconnects; calls on the old connection may still wait."""
    released = asyncio.Event()
    answers: dict[str, Answer] = {"/slow": Never(), "/patient": Later(released, NO)}
    async with connected(lambda call: answers.get(path_of(call), YES)) as (server, connection):

        async def impatient() -> bool:
            with pytest.raises(RpcUnavailableError, match=r"no reply to isFileClosed in 0\.1 s"):
                await ask(connection, "/slow", timeout_s=0.1)
            answered = await ask(connection)
            released.set()
            return answered

        patient, answered = await asyncio.gather(ask(connection, "/patient"), impatient())
        assert (patient, answered) == (False, True)
        assert connection.connection_id == 2
        assert [call.connection for call in server.calls if path_of(call) == "/patient"] == [1]


async def test_a_read_is_asked_again_when_the_connection_is_lost() -> None:
    """A NameNode that closes an idle connection, or restarts, costs a read only a reconnect."""
    async with connected(lambda _: YES) as (server, connection):
        assert await ask(connection)
        server.answer = lambda call: Cut() if call.connection == 1 else YES
        assert await ask(connection)
        assert connection.connection_id == 2
        assert len(server.calls) == 3
        server.cut_all()
        assert await ask(connection)


@pytest.mark.parametrize(("method", "asked"), [(READ, 2), (WRITE, 1)], ids=["read", "write"])
async def test_only_a_read_is_asked_again_and_only_once(method: Method, asked: int) -> None:
    """Endless cuts cause no endless retries; the error says that a write's outcome is unknown."""
    async with connected(lambda _: Cut()) as (server, connection):
        with pytest.raises(RpcUnavailableError, match="cut") as caught:
            await ask(connection, method=method)
        assert caught.value.is_sent
        assert len(server.calls) == asked


async def test_nobody_there() -> None:
    """A refused port fails immediately, and the error says that nothing was sent."""
    async with fake_server(lambda _: YES) as server:
        address = server.address
    connection = RpcConnection(address, "alice")
    with pytest.raises(RpcUnavailableError, match="cannot connect") as caught:
        await ask(connection)
    assert not caught.value.is_sent
    await connection.close()


async def test_a_herd_does_not_connect_one_after_the_other() -> None:
    """If the connect fails, all calls that waited for it fail."""
    async with fake_server(lambda _: YES) as server:
        address = server.address
    connection = RpcConnection(address, "alice")
    outcomes = await asyncio.gather(*(ask(connection) for _ in range(100)), return_exceptions=True)
    assert all(isinstance(outcome, RpcUnavailableError) for outcome in outcomes)
    assert connection.attempts == 2
    with pytest.raises(RpcUnavailableError):
        await ask(connection)
    assert connection.attempts == 3
    await connection.close()


async def test_no_connection_in_time() -> None:
    """A host that drops all packets costs the deadline and no more, and nothing was sent."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.socket() as queued:
        queued.connect(full.getsockname())  # fills the queue: Linux drops later connects
        connection = RpcConnection(f"127.0.0.1:{full.getsockname()[1]}", "alice")
        with pytest.raises(RpcUnavailableError, match="no connection in") as caught:
            await ask(connection, timeout_s=0.1)
        assert not caught.value.is_sent
        await connection.close()


async def test_an_exception_of_the_server_is_this_calls_own() -> None:
    """It arrives as data with its verdict, and the connection stays."""
    failure = Failure("org.apache.hadoop.ipc.StandbyException", "not me")
    async with connected(lambda _: failure) as (server, connection):
        with pytest.raises(
            RemoteCallError, match=r"isFileClosed at .* as alice: StandbyException: not me$"
        ) as caught:
            await ask(connection)
        assert caught.value.verdict is Verdict.STANDBY
        assert caught.value.remote.java_class_name == failure.class_name
        server.answer = lambda _: YES
        assert await ask(connection)
        assert connection.connection_id == 1


async def test_a_server_that_refuses_simple_authentication_says_so() -> None:
    """A secured NameNode answers the context with a fatal error that has its own call id."""
    failure = Failure(
        "org.apache.hadoop.security.AccessControlException",
        "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]",
        is_fatal=True,
        detail=pb.FATAL_UNAUTHORIZED,
    )
    async with connected(lambda _: failure) as (_, connection):
        with pytest.raises(RpcAuthenticationError, match=r"SIMPLE authentication is not enabled.*Kerberos"):
            await ask(connection)


@pytest.mark.parametrize("kind", ["RetriableException", "StandbyException"])
async def test_a_busy_server_refuses_one_call_and_ends_the_connection(kind: str) -> None:
    """With ipc.PORT.backoff.enable: that call was not carried out; the outcome of the others is unknown."""
    busy = Failure(f"org.apache.hadoop.ipc.{kind}", "Server too busy - disconnecting", is_fatal=True)
    answers: dict[str, Answer] = {"/busy": busy, "/other": Never()}
    async with connected(lambda call: answers.get(path_of(call), YES)) as (server, connection):

        async def refused() -> bool:
            await server.until(lambda: len(server.calls) == 1)
            return await ask(connection, "/busy")

        other, asked = await asyncio.gather(
            ask(connection, "/other", method=WRITE), refused(), return_exceptions=True
        )
        assert isinstance(asked, RemoteCallError)
        assert asked.verdict in {Verdict.RETRIABLE, Verdict.STANDBY}
        assert isinstance(other, RpcUnavailableError)
        assert other.is_sent
        assert "closed the connection: Server too busy" in str(other)
        assert await ask(connection)
        assert (connection.connection_id, len(server.calls)) == (2, 3)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"\x7f\xff\xff\xff",
        frame_of(b"\xff\xff"),
        frame_of(),
        b"\x00\x00\x00\x02\x05a",
    ],
)
async def test_garbage_ends_the_connection_and_the_calls_on_it(raw: bytes) -> None:
    """Waiting calls fail immediately; the next call reconnects."""
    async with connected(lambda _: Raw(raw)) as (server, connection):
        with pytest.raises(FramingError):
            await ask(connection)
        server.answer = lambda _: YES
        assert await ask(connection)
        assert connection.connection_id == 2


async def test_a_result_that_cannot_be_read_is_an_error() -> None:
    """A result of another type is not mistaken for the expected one."""
    async with connected(lambda _: Result(client.GetCurrentEditLogTxidRequest())) as (_, connection):
        with pytest.raises(RpcError, match="lacks"):
            await ask(connection)


async def test_a_quiet_connection_is_kept_by_pings() -> None:
    """A NameNode with thousands of connections closes those that are silent for 20 s; this one sends pings."""
    async with fake_server(lambda _: YES) as server:
        connection = RpcConnection(server.address, "alice", ping_interval_s=0.02)
        assert await ask(connection)
        await server.until(lambda: server.pings >= 3)
        assert await ask(connection)
        assert connection.connection_id == 1
        await connection.close()


async def test_a_closed_client_stays_closed() -> None:
    """Calls in flight fail, and so do later ones."""
    async with connected(lambda _: Never()) as (server, connection):

        async def close() -> None:
            await server.until(lambda: len(server.calls) == 1)
            await connection.close()

        outcome, _ = await asyncio.gather(ask(connection, method=WRITE), close(), return_exceptions=True)
        assert isinstance(outcome, RpcUnavailableError)
        with pytest.raises(RpcUnavailableError, match="closed"):
            await ask(connection)
        assert server.connections == 1
