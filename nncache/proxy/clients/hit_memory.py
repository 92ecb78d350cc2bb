"""Hand hits of the ordinary path to the fast path, which answers them next time."""

from aiohttp import HttpVersion11, web

from nncache.cache.entries import Hit
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.fastpath import FastPath


class FastPathMemory:
    """`nncache.proxy.front_end.HitMemory` over the fast path's table of heads."""

    def __init__(self, fast_path: FastPath) -> None:
        self._fast_path = fast_path

    def remember(self, request: web.BaseRequest, hit: Hit, body: bytes, *, until: float) -> None:
        """Keep the answer to this very request, if its bytes are known and may be answered without a parser."""
        connection = request.protocol
        head = connection.whole_head if isinstance(connection, ClientConnection) else None
        if head is not None and request.method == "GET":
            is_last = repeatable_head(request) is None
            self._fast_path.remember(head, hit, body, until=until, is_last=is_last)


def repeatable_head(request: web.BaseRequest) -> bytes | None:
    """Return the bytes that this request consists of, if its connection goes on and they need no parser next time.

    Only a GET of HTTP/1.1 without a body; whether the cache may answer it is for the caller to know.
    """
    connection = request.protocol
    if not isinstance(connection, ClientConnection):
        return None
    if request.method != "GET" or request.version != HttpVersion11 or not request.keep_alive:
        return None
    return connection.whole_head
