"""A hit is handed to the fast path only with the exact bytes of its request."""

import asyncio
from math import inf

import pytest
from aiohttp import web

from nncache.cache.replies import Reply
from nncache.cache.store import Store
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.hit_memory import FastPathMemory
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from tests.patience import HANG_S
from tests.proxy.kept_hits import good, kept_hit

HEAD = b"GET /webhdfs/v1/x?op=GETFILESTATUS HTTP/1.1\r\nHost: h\r\n\r\n"
BODY = b'{"as": "asked"}'
REPLY = Reply(status=404, headers=((b"Pragma", b"no-cache"),), body=b"")


class Site:
    """A server whose every answer is a hit."""

    def __init__(self) -> None:
        self.handled = 0
        self._store = Store(max_bytes=1 << 20, max_items=1_000)
        self.fast_path = FastPath(good, self._store, lambda: 3.0, LimitSettings())
        self._memory = FastPathMemory(self.fast_path)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Remember the request as a hit."""
        self.handled += 1
        self._memory.remember(request, kept_hit(self._store, "/x", REPLY, replied_at=1.0), BODY, until=inf)
        return RawResponse(404, "Not Found", (), body=BODY)

    async def exchange(self, *requests: tuple[bytes, ...]) -> list[bytes]:
        """Send requests, each in these pieces, on one connection; return their replies."""
        server = Server(self.handle, self.fast_path, LimitSettings())
        await server.start("127.0.0.1", 0)
        replies = []
        try:
            async with asyncio.timeout(HANG_S):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                for pieces in requests:
                    for piece in pieces:
                        writer.write(piece)
                        await writer.drain()
                        await asyncio.sleep(0)  # the pieces leave one by one
                    replies.append(await reader.readuntil(BODY))
                writer.close()
                await writer.wait_closed()
        finally:
            await server.stop()
        return replies


async def test_the_same_bytes_are_answered_without_the_handler() -> None:
    """The kept reply with the body that the hit had, and its age since the NameNode's reply."""
    site = Site()
    _, second = await site.exchange((HEAD,), (HEAD,))
    assert site.handled == 1
    assert second.startswith(b"HTTP/1.1 404 Not Found\r\nDate: ")
    assert b"\r\nPragma: no-cache\r\nAge: 2\r\nCache-Status: nncache; hit\r\n" in second


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace(b"1.1", b"1.0"),
        HEAD.replace(b"1.1\r\n", b"1.0\r\nConnection: keep-alive\r\n"),
        HEAD.replace(b"Host", b"Connection: close\r\nHost"),
        HEAD.replace(b"Host", b"connection: Keep-Alive, Close\r\nHost"),
        HEAD.replace(b"Host", b"Connection: close\r\nCookie: a=b\r\nHost"),
    ],
)
async def test_the_last_request_of_a_connection_is_answered_at_once(head: bytes) -> None:
    """As urllib, Net::HTTP and older clients send it: the answer says that the connection ends, and it does."""
    site = Site()
    server = Server(site.handle, site.fast_path, LimitSettings())
    await server.start("127.0.0.1", 0)
    try:
        for number in range(3):
            async with asyncio.timeout(HANG_S):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(head.replace(b"\r\n\r\n", b"\r\ntraceparent: %d\r\n\r\n" % number))
                text = await reader.read()
                assert text.endswith(BODY)
                if number:
                    assert b"nncache; hit\r\nContent-Length: 15\r\nConnection: close\r\n\r\n" in text
                writer.close()
                await writer.wait_closed()
        assert site.handled == 1
        site.fast_path.check()
    finally:
        await server.stop()


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace(b"GET", b"HEAD"),
        HEAD.replace(b"Host", b"Connection: close\r\nHost") + b"behind",
        HEAD.replace(b"1.1", b"1.0") + HEAD,
    ],
)
async def test_what_the_fast_path_must_not_answer_is_not_remembered(head: bytes) -> None:
    """Another method, and what is not alone."""
    site = Site()
    server = Server(site.handle, site.fast_path, LimitSettings())
    await server.start("127.0.0.1", 0)
    try:
        async with asyncio.timeout(HANG_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(head)
            assert (await reader.readline()).endswith(b" 404 Not Found\r\n")
            writer.close()
            await writer.wait_closed()
    finally:
        await server.stop()
    assert site.fast_path.stats().heads == 0


async def test_a_head_whose_bytes_are_not_known_is_not_remembered() -> None:
    """Two requests in one piece: neither is the whole of what came."""
    site = Site()
    await site.exchange((HEAD + HEAD,), ())
    assert site.handled == 2
    assert site.fast_path.stats().heads == 0


def test_a_remembered_answer_ends_with_its_entry() -> None:
    """Such as a cookie, and the key that signed it: the ordinary path reads the head again."""
    store, head = Store(max_bytes=1 << 20, max_items=1_000), HEAD
    path = FastPath(good, store, lambda: 1.0, LimitSettings())
    hit = kept_hit(store, "/x", REPLY, replied_at=1.0)
    path.remember(head, hit, BODY, until=1.5)
    (held,) = store.held.values()
    assert held.expires_at == 1.5 < hit.expires_at
    path.forget_all()
    assert path.answer(head) is None
    path.check()
    store.check()
