"""The fast path remembers a hit only under the exact bytes of its request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.cache.replies import StoredReply
from nncache.cache.store import CacheStore
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.limits import LimitSettings
from tests.proxy.kept_hits import good, kept_hit
from tests.proxy.wire import RawClient, serving

HEAD = b"GET /webhdfs/v1/x?op=GETFILESTATUS HTTP/1.1\r\nHost: h\r\n\r\n"
BODY = b'{"as": "asked"}'
REPLY = StoredReply(status=404, headers=((b"Pragma", b"no-cache"),), body=b"")


class Site:
    """A server that answers every request with a hit."""

    def __init__(self) -> None:
        self.handled = 0
        self._store = CacheStore(max_bytes=1 << 20, max_items=1_000)
        self.fast_path = FastPath(good, self._store, lambda: 3.0, LimitSettings())

    async def _handle(self, request: Request) -> RawResponse:
        self.handled += 1
        if request.whole is not None and request.method == "GET":
            hit, is_last = kept_hit(self._store, "/x", REPLY, replied_at=1.0), request.repeatable is None
            self.fast_path.remember(request.whole, hit, BODY, is_last=is_last)
        return RawResponse(404, "Not Found", (), body=BODY)

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RawClient]:
        """Run the server and connect a client."""
        async with (
            serving(self._handle, fast_path=self.fast_path) as server,
            RawClient.connected(server.port) as client,
        ):
            yield client


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace(b"1.1", b"1.0"),
        HEAD.replace(b"Host", b"Connection: close\r\nHost"),
        HEAD.replace(b"Host", b"connection: Keep-Alive, Close\r\nHost"),
        HEAD.replace(b"Host", b"Connection: close\r\nCookie: a=b\r\nHost"),
    ],
)
async def test_the_last_request_of_a_connection_is_answered_at_once(head: bytes) -> None:
    """urllib, Net::HTTP and older clients send this: the answer has `Connection: close`, and the connection ends."""
    site = Site()
    for number in range(3):
        async with site.client() as client:
            client.send(head.replace(b"\r\n\r\n", b"\r\ntraceparent: %d\r\n\r\n" % number))
            text = await client.rest()
        assert text.endswith(BODY)
        if number:
            assert b"nncache; hit\r\nContent-Length: 15\r\nConnection: close\r\n\r\n" in text
    assert site.handled == 1
    site.fast_path.check()


@pytest.mark.parametrize("more", [b"", b"Cookie: a=b\r\n"])
async def test_a_connection_of_http_1_0_goes_on_if_it_asks_for_that(more: bytes) -> None:
    """RFC 9112, section 9.3: each answer says `keep-alive`, also from memory; else the client waits for the end."""
    site = Site()
    head = HEAD.replace(b"1.1\r\n", b"1.0\r\nConnection: Keep-Alive\r\n" + more)
    async with site.client() as client:
        for number in range(4):
            client.send(head.replace(b"\r\n\r\n", b"\r\ntraceparent: %d\r\n\r\n" % number))
            reply = await client.reply()
            assert (reply["Connection"], reply.body) == ("keep-alive", BODY)
            assert ("Cache-Status" in reply) is bool(number)
        client.send(HEAD)
        assert "Connection" not in await client.reply()
    assert site.handled == 2
    site.fast_path.check()


@pytest.mark.parametrize(
    "head",
    [
        HEAD.replace(b"GET", b"HEAD"),
        HEAD.replace(b"Host", b"Connection: close\r\nHost") + b"behind",
        HEAD.replace(b"1.1", b"1.0") + HEAD,
        HEAD + HEAD,
    ],
)
async def test_what_the_fast_path_must_not_answer_is_not_remembered(head: bytes) -> None:
    """Another method is not remembered, nor is either of two requests that arrive in one piece."""
    site = Site()
    async with site.client() as client:
        client.send(head)
        assert (await client.reply(head[:4].strip().decode())).status == 404
    assert site.fast_path.stats().heads == 0


def test_a_remembered_answer_ends_with_its_entry() -> None:
    """It expires with its cookie, or when the key that signed it is retired: the ordinary path reads the head again."""
    store, head = CacheStore(max_bytes=1 << 20, max_items=1_000), HEAD
    path = FastPath(good, store, lambda: 1.0, LimitSettings())
    hit = kept_hit(store, "/x", REPLY, replied_at=1.0)
    path.remember(head, hit, BODY, until=1.5)
    (held,) = store.held.values()
    assert held.expires_at == 1.5 < hit.expires_at
    path.forget_all()
    assert path.answer(head) is None
    path.check()
    store.check()
