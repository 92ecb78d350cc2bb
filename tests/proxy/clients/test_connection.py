"""One connection: when a repeated head is answered immediately, and how long the connection lives."""

import asyncio
import contextlib
import socket

import pytest

from nncache.clock import boottime
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.limits import MAX_AWAITING_REFUSAL
from tests.patience import HANG_S
from tests.proxy.clients.house import POST, SLOW, body, client_of, house, knowing
from tests.proxy.wire import GET, RawClient, limits_of_tests, serving, until


async def test_a_repeated_head_is_answered_at_once() -> None:
    """This also holds on another connection."""
    async with house() as h, client_of(h) as one, client_of(h) as two:
        one.send(GET)
        assert (await body(one)).startswith(b"slow ")
        for client in (one, two, one):
            client.send(GET)
            assert (await body(client)).startswith(b"fast ")
        assert len(h.handled) == 1
        assert h.fast_path.stats().hits == 3


async def test_early_bytes_are_a_head_like_others() -> None:
    """Bytes that arrive before aiohttp waits for them are timed and read as a whole head, and use the fast path."""
    async with house(head_timeout_s=0.2) as h:
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", h.server.port)) as sock:  # blocks: the server sleeps
                sock.sendall(GET)
                await until(lambda: h.fast_path.stats().heads == 1)
        assert h.heads == [GET]
        with socket.create_connection(("127.0.0.1", h.server.port)) as sock:
            sock.sendall(GET[:20])
            reader, writer = await asyncio.open_connection(sock=sock)
            assert b" 408 " in await RawClient(reader, writer).interim()
            writer.close()


async def test_a_long_pipeline_is_answered_whole() -> None:
    """The pipeline is longer than aiohttp's queue, and arrives in odd pieces."""
    raw = (GET + POST + b"body") * 60
    async with house() as h, client_of(h) as client:
        for start in range(0, len(raw), 997):
            client.send(raw[start : start + 997])
            await asyncio.sleep(0)
        bodies = [await body(client) for _ in range(120)]
        assert {b.split()[1] for b in bodies[1::2]} == {b"/x"}
        assert len(h.handled) + h.fast_path.stats().hits == 120


# ---- how long a connection lives ------------------------------------------------------------------------


async def test_fast_answers_keep_a_connection_alive() -> None:
    """Idle time counts from the last answer, on either path."""
    async with knowing(idle_timeout_s=0.4) as (_, client):
        began = boottime()
        for _ in range(5):
            await asyncio.sleep(0.2)
            client.send(GET)
            assert (await body(client)).startswith(b"fast ")
        assert boottime() - began > 0.8
        last = boottime()
        assert await client.rest() == b""
        assert 0.35 < boottime() - last < HANG_S


async def test_a_slow_head_is_refused() -> None:
    """408 after `head_timeout_s`, even if bytes keep arriving."""
    async with house(head_timeout_s=0.3) as h, client_of(h) as client:
        began = boottime()
        for byte in GET[:-1]:
            client.send(bytes([byte]))
            await asyncio.sleep(0.01)
            if boottime() - began > 0.35:
                break
        assert (await client.reply()).status == 408
        assert await client.rest() == b""
        assert h.handled == []


async def test_a_request_is_answered_before_a_slow_head_behind_it() -> None:
    """The request in progress gets its reply; then the incomplete head after it gets a 408."""
    async with house(head_timeout_s=0.2) as h, client_of(h) as client:
        client.send(SLOW)
        await until(lambda: "/slow" in h.handled)
        client.send(GET[:20])
        await asyncio.sleep(0.5)
        h.slow_may_end.set()
        assert await body(client) == b"slow /slow"
        assert (await client.reply()).status == 408


async def test_a_head_on_its_way_is_not_cut_by_the_idle_timer() -> None:
    """Only the head's own timeout ends the connection."""
    async with house(idle_timeout_s=0.2, head_timeout_s=2.0) as h, client_of(h) as client:
        client.send(GET[:20])
        await asyncio.sleep(0.4)
        client.send(GET[20:])
        assert (await client.reply()).status == 200
        assert await client.rest() == b"", "afterwards it is idle again"


@pytest.mark.parametrize(
    ("start", "status"), [(b"GET /" + b"a" * 3000, 414), (GET[:-2] + b"X: " + b"a" * 3000, 431)]
)
async def test_a_head_without_end_is_refused_early(start: bytes, status: int) -> None:
    """The head is refused long before its end, and a client that keeps sending can still read the refusal."""
    async with house(max_head_bytes=2048) as h, client_of(h) as client:
        for at in range(0, len(start), 500):
            client.send(start[at : at + 500])
            await asyncio.sleep(0.005)
        client.send(b"b" * 100_000)
        assert (await client.reply()).status == status
        assert h.handled == []


async def test_a_client_that_closed_its_own_half_gets_its_reply() -> None:
    """`nc -N` closes its half like this, and a NameNode answers it."""
    async with house() as h, client_of(h) as client:
        client.send(GET)
        client.writer.write_eof()
        reply = await client.reply()
        assert reply.body.startswith(b"slow ")
        assert await client.rest() == b""
    async with house() as h, client_of(h) as client:
        client.send(POST + b"bo")
        client.writer.write_eof()
        assert await client.rest() == b"", "a body that broke off gets none"


async def test_requests_before_a_half_close_are_answered() -> None:
    """Each request of a pipeline is answered. The last reply has no `Connection: close`, like a NameNode's."""
    async with house() as h, client_of(h) as client:
        client.send(SLOW + GET + GET)
        await until(lambda: len(h.handled) == 1)
        client.writer.write_eof()
        await asyncio.sleep(0.02)
        h.slow_may_end.set()
        replies = [await client.reply() for _ in range(3)]
        assert [reply.all(b"Connection") for reply in replies] == [[], [], []]
        assert await client.rest() == b""


async def test_a_request_that_can_never_be_whole_ends_the_connection() -> None:
    """The client closed its half while its second request was incomplete (RFC 9112, section 8)."""
    async with house() as h, client_of(h) as client:
        client.send(SLOW + POST + b"bo")
        await until(lambda: len(h.handled) == 1)
        client.writer.write_eof()
        await asyncio.sleep(0.02)
        h.slow_may_end.set()
        assert (await client.reply()).status == 200
        assert await client.rest() == b""
        assert len(h.handled) == 1


async def test_too_many_connections_are_answered_with_503() -> None:
    """Connections beyond the limit get a 503; the others stay, and a closed one makes room."""
    async with house(max_connections=2) as h:
        async with client_of(h) as one, client_of(h) as two:
            for client in (one, two):
                client.send(GET)
                await body(client)
            async with client_of(h) as three:
                three.send(GET)
                assert (await three.reply()).status == 503
                assert await three.rest() == b""
            one.send(GET)
            assert (await body(one)).startswith(b"fast ")
        server = h.server
        await until(lambda: server.stats().connections_open == 0)
        assert server.stats().connections_refused == 1
        async with client_of(h) as four:
            four.send(GET)
            assert (await four.reply()).status == 200


async def test_connections_beyond_the_limit_take_few_files() -> None:
    """Otherwise silent connections would hold one file each for `head_timeout_s`, and leave none for the NameNode's."""
    async with house(max_connections=1) as h, contextlib.AsyncExitStack() as stack:
        server = h.server
        one = await stack.enter_async_context(client_of(h))
        await until(lambda: server.stats().connections_open == 1)
        many = [await stack.enter_async_context(client_of(h)) for _ in range(MAX_AWAITING_REFUSAL + 3)]
        assert [await client.rest() for client in many[MAX_AWAITING_REFUSAL:]] == [b""] * 3, "closed at once"
        many[0].send(GET)
        assert (await many[0].reply()).status == 503, "the others are told"
        many[0].writer.close()
        one.send(GET)
        assert (await one.reply()).status == 200


@pytest.mark.parametrize("end", [b"", b"Connection: close\r\n"], ids=["idle", "close"])
async def test_a_client_that_never_reads_its_replies_is_let_go(end: bytes) -> None:
    """A closing transport waits for its client to read, without a timeout of its own."""
    transports: list[asyncio.Transport] = []

    async def answer(request: Request) -> RawResponse:
        assert request.transport is not None
        transports.append(request.transport)
        return RawResponse(200, "OK", (), body=b"x" * 20_000)

    limits = limits_of_tests(body_timeout_s=0.2, idle_timeout_s=0.5)
    async with (
        serving(answer, limits=limits) as server,
        RawClient.connected(server.port, receive_buffer=2048) as client,
    ):
        client.pause()
        while not transports or transports[0].get_write_buffer_size() == 0:  # until the kernel takes no more
            sent = len(transports)
            client.send(GET)
            await until(lambda sent=sent: len(transports) > sent)  # type: ignore[misc] # a default is no argument
            await asyncio.sleep(0)
        if end:
            client.send(GET.removesuffix(b"\r\n") + end + b"\r\n")
        await until(lambda: server.stats().connections_open == 0)
