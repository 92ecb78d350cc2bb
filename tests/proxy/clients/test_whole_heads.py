"""Heads are read whole, one at a time: which limits follow, and how the result equals a NameNode's."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from tests.proxy.wire import GET, RawClient, limits_of_tests, read_body, serving, until


@dataclass
class Fixture:
    """A server with one client; its handler answers with the target, and holds `/slow` until `may_end`."""

    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    handled: list[str] = field(default_factory=list)
    connections: list[ClientConnection] = field(default_factory=list)

    async def handle(self, request: Request) -> RawResponse:
        """Answer one request."""
        self.handled.append(request.target)
        self.connections.append(request.connection)
        if request.target == "/slow":
            await self.may_end.wait()
        body = await read_body(request)
        return RawResponse(200, "OK", (), body=request.target.encode() + body)


@asynccontextmanager
async def fixture(**limits: float) -> AsyncIterator[tuple[Fixture, RawClient]]:
    """Run the server and connect a client."""
    made = Fixture()
    async with (
        serving(made.handle, limits=limits_of_tests(**limits)) as server,
        RawClient.connected(server.port) as client,
    ):
        yield made, client


def get(target: str, *fields: str) -> bytes:
    """Return a head."""
    return "\r\n".join((f"GET {target} HTTP/1.1", "Host: nn", *fields, "", "")).encode()


POST = b"POST /post HTTP/1.1\r\nHost: nn\r\nContent-Length: 4\r\n\r\nbody"
CHUNKS = b"POST /chunks HTTP/1.1\r\nHost: nn\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"
STREAM = get("/a") + POST + get("/b") + get("/é") + POST + get("/c") + get("/last", "Connection: close")


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50, 10_000])
async def test_requests_are_the_same_however_tcp_cuts_them(step: int) -> None:
    """Verbatim: even a cut within a character of the request line, or bytes after the last request, change nothing."""
    async with fixture() as (s, client):
        for start in range(0, len(STREAM), step):
            is_last = start + step >= len(STREAM)
            client.send(STREAM[start : start + step] + (b"behind" + get("/never") if is_last else b""))
            if step > 1 or start % 16 == 0:
                await asyncio.sleep(0.0005)
        bodies = [(await client.reply()).body.decode() for _ in range(7)]
        assert bodies == ["/a", "/postbody", "/b", "/%C3%A9", "/postbody", "/c", "/last"]
        assert await client.rest() == b""
        assert "/never" not in s.handled


@pytest.mark.parametrize("cut", [1, 40, 140, 10_000])
async def test_nothing_behind_the_last_request_is_one(cut: int) -> None:
    """`Connection: close` marks the last request."""
    async with fixture() as (s, client):
        raw = CHUNKS.replace(b"Host", b"Connection: close\r\nHost", 1) + get("/b") + get("/c")[:20]
        client.send(raw[:cut])
        await asyncio.sleep(0.02)
        client.send(raw[cut:])
        reply = await client.reply()
        assert (reply.status, reply.all(b"Connection")) == (200, [b"close"])
        assert await client.rest() == b""
        assert s.handled == ["/chunks"]


@pytest.mark.parametrize("first", [CHUNKS, get("/chunks", "Connection: upgrade", "Upgrade: websocket")])
@pytest.mark.parametrize("cut", [1, 40, 140, 10_000])
async def test_a_connection_goes_on_behind_chunks_and_upgrades(first: bytes, cut: int) -> None:
    """A NameNode does the same (tornado #1125, aiohttp #3597, requests #3458: others close it silently)."""
    async with fixture() as (s, client):
        raw = first + get("/b") + get("/c")
        client.send(raw[:cut])
        await asyncio.sleep(0.02)
        client.send(raw[cut:])
        replies = [await client.reply() for _ in range(3)]
        assert [reply.all(b"Connection") for reply in replies] == [[], [], []]
        assert s.handled == ["/chunks", "/b", "/c"]


async def test_a_letter_that_tcp_cuts_in_two_is_one() -> None:
    """The second half arrives after the first was read."""
    raw = get("/é")
    at = raw.index(b"\xa9")
    async with fixture() as (s, client):
        client.send(raw[:at])
        await asyncio.sleep(0.05)
        client.send(raw[at:])
        assert (await client.reply()).status == 200
        assert s.handled == ["/%C3%A9"]


async def test_equal_hosts_are_one_and_different_ones_none() -> None:
    """A NameNode answers in the same way. Two different hosts are ambiguous (RFC 9112, section 3.2)."""
    async with fixture() as (s, client):
        for fields in (("Host: nn",), ("X: 1", "host:nn\t", "HOST:  nn")):
            client.send(get("/twice", *fields))
            assert (await client.reply()).status == 200
        assert s.connections[-1] is s.connections[0]
        client.send(get("/differ", "Host: other"))
        assert (await client.reply()).status == 400
        assert "/differ" not in s.handled


@pytest.mark.parametrize("first", [b"", b"GET /next HTTP/1.1\r\nHost: nn\r\n"], ids=["later", "at once"])
async def test_a_head_without_end_behind_a_request_is_bounded(first: bytes) -> None:
    """Availability (H3): bytes beyond the limit stay in the kernel; the request gets its reply, the head a 431."""
    async with fixture(max_head_bytes=4096) as (s, client):
        client.send(get("/slow") + first)
        await until(lambda: s.handled == ["/slow"])
        (connection,) = s.connections
        if not first:
            client.send(b"GET /next HTTP/1.1\r\nHost: nn\r\n")
        for number in itertools.count():
            client.send(b"X-%d: %s\r\n" % (number, b"x" * 500))
            await asyncio.sleep(0)
            transport = connection.transport
            assert transport is not None
            assert connection.incoming_bytes <= 4096 + 256 * 1024
            if not transport.is_reading():
                break
        assert number < 2_000
        s.may_end.set()
        assert (await client.reply()).body == b"/slow"
        assert (await client.reply()).status == 431
        assert s.handled == ["/slow"]


async def test_whole_requests_behind_one_in_progress_are_bounded() -> None:
    """Availability (H3): aiohttp bounds their number, the connection their bytes; in the end all are answered."""
    async with fixture(max_head_bytes=4096) as (s, client):
        client.send(get("/slow"))
        await until(lambda: s.handled == ["/slow"])
        (connection,) = s.connections
        sent = 0
        while connection.transport is not None and connection.transport.is_reading():
            client.send(get(f"/{sent}", "X: " + "x" * 1_000))
            sent += 1
            await asyncio.sleep(0)
        assert connection.incoming_bytes <= 4096 + 1_100 + 256 * 1024
        s.may_end.set()
        assert (await client.reply()).body == b"/slow"
        assert [(await client.reply()).body.decode() for _ in range(sent)] == [f"/{n}" for n in range(sent)]


async def test_a_body_behind_a_request_in_progress_is_no_head() -> None:
    """The limit of a head does not apply to its bytes, however many."""
    size = 300_000
    async with fixture(max_head_bytes=4096) as (s, client):
        client.send(get("/slow"))
        await until(lambda: s.handled == ["/slow"])
        client.send(b"POST /p HTTP/1.1\r\nHost: nn\r\nContent-Length: %d\r\n\r\n" % size + b"b" * size)
        client.send(GET)
        await asyncio.sleep(0.05)
        s.may_end.set()
        assert (await client.reply()).body == b"/slow"
        assert len((await client.reply()).body) == size + 2
        assert (await client.reply()).status == 200


async def test_too_many_fields_get_the_parsers_status() -> None:
    """431 for the first field beyond the limit, even if more arrive."""
    async with fixture(max_header_fields=20) as (s, client):
        client.send(get("/", *(f"X-{number}: 1" for number in range(3_000))))
        assert (await client.reply()).status == 431
        assert s.handled == []
