"""Listening, many clients at a time, and a graceful stop."""

import asyncio
import contextlib
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from nncache.clock import boottime
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import ENDINGS_PER_ITERATION, Server
from tests.patience import HANG_S
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import GET, RawClient, limits_of_tests, read_body, serving, until

MANY = int(os.environ.get("NNCACHE_TEST_CONNECTIONS", "1500"))  # 10000 is what the limits are made for


async def hello(request: Request) -> RawResponse:
    """Answer `hello`."""
    await read_body(request)
    return RawResponse(200, "OK", (), body=b"hello")


def server_of(handler: Handler = hello) -> Server:
    """Return a server that does not listen yet."""
    return Server(handler, fast_path_alone(boottime), limits_of_tests())


async def test_many_clients_connect_at_once() -> None:
    """The backlog is large enough: no connection is refused, and each is answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * MANY + 200)), hard))

    async def one(number: int, port: int) -> int:
        local = f"127.0.0.{2 + number % 8}"  # ephemeral ports are counted for each address
        async with RawClient.connected(port, local=local) as client:
            client.send(GET)
            status = (await client.reply()).status
            answered.append(number)
            await all_answered.wait()
            return status

    answered: list[int] = []
    all_answered = asyncio.Event()
    async with serving(hello) as server, asyncio.timeout(60):
        async with asyncio.TaskGroup() as tasks:
            clients = [tasks.create_task(one(number, server.port)) for number in range(MANY)]
            await until(lambda: len(answered) == MANY)
            assert server.stats().connections_open == MANY
            all_answered.set()
        assert {client.result() for client in clients} == {200}
        assert server.stats().connections_refused == 0


@contextlib.contextmanager
def crowd(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connect without running the server's event loop: the kernel accepts the connections."""
    with contextlib.ExitStack() as close:
        yield [
            close.enter_context(socket.create_connection(("127.0.0.1", port), timeout=HANG_S))
            for _ in range(count)
        ]


async def per_iteration(figure: Callable[[], int], end: int) -> list[int]:
    """Return how much a figure changes in each loop iteration, until it reaches `end`."""
    seen = [figure()]
    async with asyncio.timeout(HANG_S):
        while seen[-1] != end:
            await asyncio.sleep(0)
            seen.append(figure())
    return [abs(after - before) for before, after in pairwise(seen)]


async def test_one_connection_is_accepted_each_loop_iteration() -> None:
    """Open connections are served in between. libuv does this; asyncio's own loop does not."""
    async with serving(hello) as server:
        with crowd(server.port, 100):
            news = await per_iteration(lambda: server.stats().connections_accepted, 100)
            assert max(news) == 1


async def test_connections_left_by_a_busy_loop_are_accepted() -> None:
    """While iterations are long, one connection each would be too few. A stopped server releases its port."""
    async with serving(hello) as server:
        with crowd(server.port, 300):
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(server.catch_up())
                iterations = 0
                while server.stats().connections_accepted < 300:
                    await asyncio.sleep(0)
                    time.sleep(0.01)  # noqa: ASYNC251 - the loop is busy
                    iterations += 1
                running.cancel()
            assert iterations < 150
        port = server.port
        await server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=HANG_S)


@pytest.mark.parametrize("has_asked", [False, True])
async def test_a_few_connections_are_closed_each_iteration(has_asked: bool) -> None:
    """Closing takes longer than accepting, and libuv reports all closed connections in one iteration."""
    async with serving(hello) as server:
        with crowd(server.port, 300) as clients:
            if has_asked:
                for client in clients:
                    client.sendall(GET)
                await until(lambda: server.requests == len(clients))
                await until(lambda: server.stats().requests_in_progress == 0)
                for client in clients:  # with an answer unread it would not be closed, but reset
                    assert client.recv(4096).endswith(b"hello")
            await until(lambda: server.stats().connections_open == len(clients))
            for client in clients:
                client.close()
            news = await per_iteration(lambda: server.stats().connections_open, 0)
            assert max(news) <= ENDINGS_PER_ITERATION < len(clients) / 2


class LeftAtTheEnd(RawResponse):
    """A reply whose client closes its half of the connection once it has read all of it.

    `leave` gets the callback that delivers the close.
    """

    def __init__(self, connection: ClientConnection, leave: Callable[[Callable[[], object]], object]) -> None:
        super().__init__(200, "OK", (), body=b"hello")
        self._connection = connection
        self._leave = leave

    async def write_eof(self) -> None:
        """Write the end, and deliver the client's close."""
        await super().write_eof()
        self._leave(self._end)

    def _end(self) -> None:
        """Act as a transport whose peer has closed."""
        if not self._connection.eof_received() and self._connection.transport is not None:
            self._connection.transport.close()


@pytest.mark.parametrize("is_later", [False, True])
async def test_a_connection_ends_after_its_clients_last_reply(is_later: bool) -> None:
    """A client that closes once it has its reply, as curl does, does not count as open until `idle_timeout_s`."""

    async def handler(request: Request) -> RawResponse:
        soon = asyncio.get_running_loop().call_soon
        return LeftAtTheEnd(request.connection, soon if is_later else lambda act: act())

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        assert (await client.reply()).body == b"hello"
        assert await client.rest() == b""
        await until(lambda: server.stats().connections_open == 0)


async def test_stopping_finishes_what_is_in_progress() -> None:
    """Requests finish, even one whose body is still arriving; idle connections are closed immediately."""
    begun = asyncio.Event()

    async def handler(request: Request) -> RawResponse:
        begun.set()
        data = await read_body(request)
        return RawResponse(200, "OK", (), body=b"%d" % len(data))

    server = server_of(handler)
    await server.start("127.0.0.1", 0)
    port = server.port
    async with RawClient.connected(port) as idle, RawClient.connected(port) as busy:
        idle.send(GET)
        await idle.reply()
        begun.clear()
        busy.send(b"POST / HTTP/1.1\r\nHost: nn\r\nContent-Length: 8\r\n\r\n1234")
        await begun.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.stop())
            assert await idle.rest() == b""
            with pytest.raises(OSError, match=r"refused|reset"):
                await asyncio.open_connection("127.0.0.1", port)
            busy.send(b"5678")
            reply = await busy.reply()
            assert (reply.body, reply.all(b"Connection")) == (b"8", [b"close"])
            assert await busy.rest() == b""
    assert server.stats().connections_open == 0


async def test_stopping_has_a_deadline() -> None:
    """A request that does not finish is cut off after `drain_timeout_s`."""

    async def never(_: Request) -> RawResponse:
        await asyncio.Event().wait()
        raise AssertionError

    began = boottime()
    async with (
        serving(never, limits=limits_of_tests(drain_timeout_s=0.2)) as server,
        RawClient.connected(server.port) as client,
    ):
        client.send(GET)
        await until(lambda: server.stats().requests_in_progress == 1)
        await server.stop()
        assert await client.rest() == b""
    assert boottime() - began < HANG_S


async def test_a_bug_ends_one_request_only(caplog: pytest.LogCaptureFixture) -> None:
    """The client gets a 500 without internal details; the error is logged and counted."""

    async def handler(_: Request) -> RawResponse:
        raise KeyError("secret")

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        reply = await client.reply()
        assert reply.status == 500
        assert b"secret" not in reply.body
        assert server.stats().bugs == 1
    assert "KeyError" in caplog.text


@pytest.mark.parametrize("reads_body", [True, False])
async def test_a_trailer_never_becomes_a_field_of_the_next_request(reads_body: bool) -> None:
    """The trailer is dropped, and the connection stays usable (RFC 9112, section 7.1.2)."""
    seen = list[tuple[tuple[bytes, bytes], ...]]()

    async def handler(request: Request) -> RawResponse:
        if reads_body:
            await read_body(request)
        seen.append(tuple(request.fields))
        return RawResponse(200, "OK", (), body=b"ok")

    chunked = b"PUT /webhdfs/v1/f HTTP/1.1\r\nHost: nn\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(chunked + b"1\r\na\r\n0\r\nCookie: hadoop.auth=theirs\r\n\r\n" + GET)
        for _ in range(2):
            reply = await client.reply()
            assert (reply.status, reply.all(b"Connection")) == (200, [])
    assert seen == [((b"Host", b"nn"), (b"Transfer-Encoding", b"chunked")), ((b"Host", b"nn"),)]


@pytest.mark.parametrize("line", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_no_error_is_written_into_a_reply_that_has_begun(line: bytes) -> None:
    """Verbatim: a client would take the error for the rest of the NameNode's body. The connection is reset instead."""
    begun = asyncio.Event()

    async def handler(request: Request) -> RawResponse:
        response = RawResponse(200, "OK", (), length=1000)
        response.prepare(request)
        await response.write(b"begun")
        await begun.wait()
        raise LookupError("a bug")

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET.replace(b"HTTP/1.1", line))
        await client.reader.readuntil(b"begun")
        begun.set()
        with pytest.raises(ConnectionResetError):
            await client.reader.read()
        assert server.stats().bugs == 1


async def test_a_reply_that_is_given_up_at_the_end_does_not_look_whole() -> None:
    """This also holds for HTTP/1.0, where the end of the connection is the end of the body."""
    begun = asyncio.Event()

    async def handler(request: Request) -> RawResponse:
        response = RawResponse(200, "OK", ())
        response.prepare(request)
        await response.write(b"begun")
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets that")

    limits = limits_of_tests(drain_timeout_s=0.1)
    async with serving(handler, limits=limits) as server, RawClient.connected(server.port) as client:
        client.send(GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
        await begun.wait()
        await client.reader.readuntil(b"begun")
        await server.stop()
        with pytest.raises(ConnectionResetError):
            await client.reader.read()


async def test_connections_of_one_address_leave_room_for_others() -> None:
    """However many connections one address opens, another address is served."""
    limits = limits_of_tests(max_connections=8)
    async with serving(hello, limits=limits) as server, contextlib.AsyncExitStack() as stack:
        for _ in range(12):
            await stack.enter_async_context(RawClient.connected(server.port, "127.0.0.2"))
        await until(lambda: server.stats().connections_refused == 5)
        assert server.stats().connections_open == 7
        async with RawClient.connected(server.port, "127.0.0.3") as other:
            other.send(GET)
            assert (await other.reply()).status == 200


async def test_a_connection_that_cannot_be_served_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else would ever close it."""

    def fails(*_: object) -> None:
        raise KeyError("no answer")

    monkeypatch.setattr(Server, "respond", fails)
    async with serving(hello) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        assert await client.rest() == b""
        await until(lambda: server.stats().connections_open == 0)
