"""How a connection handles known requests, crowds, and clients that do not read."""

import asyncio
import socket
from typing import Any, cast

import pytest

from nncache.cache.replies import StoredReply
from nncache.proxy.clients.connection import MAX_TICKET_BYTES, ClientConnection
from nncache.proxy.clients.paced_work import ARRIVALS_PER_ITERATION as PER_ITERATION
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.server import Server
from tests.hostile.fuzzing.transport import DeafTransport
from tests.proxy.clients.house import POST, SLOW, House, body, client_of, house
from tests.proxy.kept_hits import kept_hit
from tests.proxy.wire import GET, RawClient, limits_of_tests, until


async def learn(made: House) -> None:
    """Let the server learn the head of GET."""
    async with client_of(made) as client:
        client.send(GET)
        await body(client)
    await until(lambda: made.server.stats().connections_open == 0)


@pytest.mark.parametrize("is_quick", [False, True])
async def test_a_client_that_reads_nothing_does_not_fill_the_memory(is_quick: bool) -> None:
    """Once the socket's buffer is full, the ordinary path takes over; it waits, and gives up after a timeout."""
    async with house(body_timeout_s=0.2) as h:
        if is_quick:  # its first request is known already
            await learn(h)
        server = h.server
        async with RawClient.connected(server.port, receive_buffer=4096) as client:
            if not is_quick:
                client.send(GET)
                await body(client)
            client.pause()
            while len(h.handled) == 1 and server.stats().connections_open:
                client.send(GET)
                await asyncio.sleep(0)
            await until(lambda: server.stats().connections_open == 0)
            assert len(h.handled) == 2


class FullTransport(DeafTransport):
    """A transport whose client reads nothing from the n-th reply on."""

    def __init__(self, replies: int) -> None:
        super().__init__()
        self.replies = 0
        self._full_at = replies

    def write(self, data: Any) -> None:
        """Call `pause_writing` once, as transports do."""
        super().write(data)
        self.replies += 1
        if self.replies == self._full_at:
            self.get_protocol().pause_writing()


def served(transport: DeafTransport, **limits: float) -> Server:
    """Serve a transport with a server that knows GET."""
    h = House()
    h.fast_path.remember(GET, kept_hit(h.store, "/f", StoredReply(200, (), b"x")), b"x")
    server = Server(h.handle, h.fast_path, limits_of_tests(**limits))
    transport.connect(server.connection())
    return server


@pytest.mark.parametrize("replies", range(1, 8))
async def test_a_client_that_stops_reading_gets_nothing_more(replies: int) -> None:
    """Q2: this holds whichever reply fills the socket, also for the last reply before the fast path resumes."""
    transport = FullTransport(replies)
    served(transport)
    transport.get_protocol().data_received(POST.replace(b"4", b"0"))
    await until(lambda: transport.replies == 1)
    for _ in range(20):
        transport.get_protocol().data_received(GET)
    assert transport.replies == replies
    transport.get_protocol().connection_lost(None)


async def test_nothing_known_is_answered_behind_a_refusal() -> None:
    """After a refusal the connection is closing, and its write side is closed."""
    transport = DeafTransport()
    served(transport)
    transport.get_protocol().data_received(b"\x16\x03\x01\r\n")
    await until(lambda: b"400" in transport.written)
    before = bytes(transport.written)
    transport.get_protocol().data_received(GET)
    assert transport.written == before
    transport.get_protocol().connection_lost(None)


class _EagerClient(DeafTransport):
    """A transport whose client sends its next request in the loop iteration of the reply."""

    def write(self, data: Any) -> None:
        if not self.written:
            asyncio.get_running_loop().call_soon(self.get_protocol().data_received, GET)
        super().write(data)


async def test_a_client_is_served_in_the_iteration_of_its_reply() -> None:
    """If the connection were busy until later, every client under load would take the ordinary path."""
    transport = _EagerClient()
    served(transport)
    transport.get_protocol().data_received(POST.replace(b"4", b"0"))
    await until(lambda: transport.written.count(b"HTTP/1.1 200") == 2)
    assert b"nncache; hit" in transport.written, "the second one is known"
    transport.get_protocol().connection_lost(None)


async def test_it_ends_when_it_was_idle_for_long() -> None:
    """The idle timer counts from the last request, known or not."""
    transport = DeafTransport()
    server = served(transport, idle_timeout_s=0.05)
    connection = transport.get_protocol()
    await until(lambda: transport.is_closed)
    transport.is_closed = False
    connection.data_received(GET)
    connection.check_idle()
    assert (transport.is_closed, bool(transport.written)) == (False, True)
    connection.connection_lost(None)
    assert server.stats().connections_open == 0


# ---- crowds of which nothing is known ---------------------------------------------------------------


class _PausedTransport(DeafTransport):
    """A transport that records whether reading is paused."""

    is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


async def crowd(h: House, size: int) -> tuple[Server, list[_PausedTransport]]:
    """Connect `size` clients, which all send the same request in one loop iteration."""
    server = Server(h.handle, h.fast_path, limits_of_tests())
    transports = [_PausedTransport() for _ in range(size)]
    for transport in transports:
        transport.connect(server.connection())
    for transport in transports:
        transport.get_protocol().data_received(GET)
    return server, transports


async def test_equal_requests_are_answered_with_the_first() -> None:
    """They are not all parsed before the first answer is there."""
    h = House()
    server, transports = await crowd(h, 40 * PER_ITERATION)
    assert [transport.is_read for transport in transports].count(True) == PER_ITERATION
    await until(lambda: all(transport.written for transport in transports))
    assert all(transport.is_read for transport in transports)
    assert len(h.handled) <= 4 * PER_ITERATION
    for transport in transports:
        transport.get_protocol().connection_lost(None)
    assert server.stats().connections_open == 0


async def test_what_waits_is_served_whole_and_in_order() -> None:
    """While a request waits, further bytes and a half-close are kept; a client that has left gets nothing."""
    h = House()
    server, transports = await crowd(h, 2 * PER_ITERATION)
    gone, *_, more, part, closing = transports[PER_ITERATION:]  # the others wait after the client that leaves
    more.get_protocol().data_received(SLOW.replace(b"slow", b"more"))
    part.get_protocol().data_received(SLOW.replace(b"slow", b"part")[:20])
    assert closing.get_protocol().eof_received()
    gone.get_protocol().connection_lost(None)
    part.get_protocol().data_received(SLOW.replace(b"slow", b"part")[20:])
    await until(lambda: b"slow /more" in more.written and b"slow /part" in part.written)
    for transport, name in ((more, b"/more"), (part, b"/part")):
        assert transport.written.count(b"HTTP/1.1 200") == 2
        assert transport.written.index(b"/f") < transport.written.index(name)
    await until(lambda: closing.written.count(b"HTTP/1.1 200") == 1 and closing.is_closed)
    assert not gone.written
    for transport in transports:
        if transport is not gone:
            transport.get_protocol().connection_lost(None)
    assert server.stats().connections_open == 0


async def test_an_internal_error_ends_one_connection_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in a queued request has the same effect as in one that starts immediately."""
    h = House()
    _, transports = await crowd(h, 2 * PER_ITERATION)
    unlucky = transports[PER_ITERATION].get_protocol()
    begin = ClientConnection._begin  # noqa: SLF001 - as if the parser had a bug

    def fail(connection: ClientConnection, *arguments: Any, **options: Any) -> None:
        if connection is unlucky:
            raise RuntimeError("broken")
        begin(connection, *arguments, **options)

    monkeypatch.setattr(ClientConnection, "_begin", fail)
    monkeypatch.setattr(h.fast_path, "answer", lambda _: None)
    await until(lambda: sum(bool(transport.written) for transport in transports) == 2 * PER_ITERATION - 1)
    assert [transport for transport in transports if transport.is_closed] == [transports[PER_ITERATION]]
    for transport in transports:
        transport.get_protocol().connection_lost(None)


async def test_a_close_is_seen_while_reading_is_paused() -> None:
    """A half-close counts as well. A transport without a socket (in tests) reports no close."""
    ours, theirs = socket.socketpair()
    with ours, theirs:

        class WithSocket(_PausedTransport):
            def get_extra_info(self, name: str, default: Any = None) -> Any:
                return ours if name == "socket" else default

        h = House()
        server = Server(h.handle, h.fast_path, limits_of_tests())
        with_socket, without = server.connection(), server.connection()
        WithSocket().connect(with_socket)
        _PausedTransport().connect(without)
        theirs.send(b"more")
        assert not with_socket.has_closed()
        theirs.shutdown(socket.SHUT_WR)
        assert with_socket.has_closed()
        assert not without.has_closed()


async def test_what_waits_is_answered_before_the_server_ends() -> None:
    """Queued requests are drained like others, even if their head is known by then; each reply ends its connection."""
    h = House()
    server, transports = await crowd(h, 4 * PER_ITERATION)
    server._listener = cast(Any, DeafTransport())  # noqa: SLF001 - it only has to be closed
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.stop())
        await until(lambda: all(transport.written for transport in transports))
        assert all(b"Connection: close" in transport.written for transport in transports[PER_ITERATION:])
        for transport in transports:
            transport.get_protocol().connection_lost(None)


class _UnreadTransport(DeafTransport):
    """A transport with `unread` bytes in its buffer; with TLS, the handshake may have just ended."""

    def __init__(self, unread: int, *, is_tls: bool) -> None:
        super().__init__()
        self._unread = unread
        self._context = object() if is_tls else None

    def get_write_buffer_size(self) -> int:
        return self._unread

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the TLS context, if any."""
        return self._context if name == "sslcontext" else default


@pytest.mark.parametrize(
    ("unread", "is_tls", "may_be_forwarded"),
    [
        (0, False, True),
        (1, False, False),
        (510, False, False),
        (510, True, True),
        (MAX_TICKET_BYTES + 1, True, False),
    ],
)
async def test_a_first_request_need_not_wait_for_what_tls_has_to_say(
    monkeypatch: pytest.MonkeyPatch, *, unread: int, is_tls: bool, may_be_forwarded: bool
) -> None:
    """Q2: the first request arrives with the end of the handshake; a later one waits until the last reply is read."""
    for is_first in (True, False):
        transport, tried = _UnreadTransport(unread, is_tls=is_tls), list[Request]()
        server = served(transport)
        if not is_first:
            transport.get_protocol().data_received(GET)
        monkeypatch.setattr(server, "begin", lambda request, tried=tried: tried.append(request))
        transport.get_protocol().data_received(SLOW)
        assert bool(tried) == (may_be_forwarded and (is_first or not unread))
        transport.get_protocol().connection_lost(None)
