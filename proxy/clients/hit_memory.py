"""Hand hits of the ordinary path to the fast path, which answers them next time. (proxy/clients/hit_memory.py)"""

from aiohttp import web

from nncache.cache.entries import Hit
from nncache.proxy.clients.connection import repeatable_head
from nncache.proxy.clients.fastpath import FastPath


class FastPathMemory:
    """`nncache.proxy.front_end.HitMemory` over the fast path's table of heads."""

    def __init__(self, fast_path: FastPath) -> None:
        self._fast_path = fast_path

    def remember(self, request: web.BaseRequest, hit: Hit, body: bytes) -> None:
        """Keep the answer to this very request, if its bytes are known and may be answered without a parser."""
        head = repeatable_head(request)
        if head is not None:
            self._fast_path.remember(head, hit, body)
