"""GET /v1/registry/PATH: what is registered, for clients of HTTP. (proxy/registry_endpoint.py)

Read-only, and for every client: the registry is world-readable by design.
"""

import hashlib
import math
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Final, Protocol

from aiohttp import web
from cachetools import LRUCache

from nncache.hadoop.token_bucket import TokenBucket
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Handler
from nncache.proxy.counted_answer import counted_answer
from nncache.proxy.errors import (
    MethodNotAllowedError,
    TooManyRequestsError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.registry_turns import RegistryTurns
from nncache.proxy.registry_wish import RegistryWish, is_registry, read_registry_wish
from nncache.proxy.shares import holder_of
from nncache.proxy.traffic import Exchange, Result, Traffic

PER_S: Final = 20.0
"""What a client address may use in each second: one for a request."""

BURST: Final = 100.0

MANY: Final = 10.0
"""What a request costs for which a whole subtree is read."""

CLIENTS: Final = 4_096
"""Addresses whose use is remembered."""

_ALLOW: Final = b"GET, HEAD"
_METHODS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class RegistryPage:
    """What is found: bytes of JSON."""

    body: bytes


class RegistrySource(Protocol):
    """Where it is found."""

    async def page(self, wish: RegistryWish) -> RegistryPage:
        """Return what is asked for.

        Raises:
            ClientError: there is no such thing, or the question is none.
            RegistryUnavailableError: ZooKeeper does not answer.
        """


class RegistryEndpoint:
    """Serves the registry."""

    def __init__(self, source: RegistrySource, traffic: Traffic, limits: LimitSettings) -> None:
        self._source = source
        self._traffic = traffic
        self._limits = limits
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(CLIENTS)  # by address
        self._turns = RegistryTurns()  # of those who ask about subtrees

    def before(self, others: Handler) -> Handler:
        """Return what answers all requests; those for other targets `others` does."""

        def handle(request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
            return self.handle(request) if is_registry(request.raw_path) else others(request)

        return handle

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        return await counted_answer(self._traffic, request, self._answer, allow=_ALLOW)

    async def _answer(self, request: web.BaseRequest, exchange: Exchange) -> web.StreamResponse:
        if request.method not in _METHODS:
            raise MethodNotAllowedError("the registry is read with GET; it is written with nncache registry")
        wish = read_registry_wish(request.raw_path, tuple(request.raw_headers))
        holder = holder_of(exchange.peer)
        self._admit(holder, MANY if wish.reads_many else 1.0)
        page = await self._page(wish, holder)
        etag = f'"{hashlib.blake2b(page.body, digest_size=12).hexdigest()}"'
        fields = (
            (b"Content-Type", b"application/json"),
            (b"Cache-Control", b"no-cache"),
            (b"ETag", etag.encode()),
            (b"X-Content-Type-Options", b"nosniff"),
        )
        exchange.result = Result.REGISTRY
        if etag in wish.etags or "*" in wish.etags:
            return RawResponse(304, "Not Modified", fields, body=b"", limits=self._limits)
        exchange.body_bytes = len(page.body)
        return RawResponse(200, "OK", fields, body=page.body, limits=self._limits)

    def _admit(self, holder: str, cost: float) -> None:
        """Charge a client address for a request.

        Raises:
            TooManyRequestsError: it has used what it may; says when to come back.
        """
        now = self._traffic.clock()
        bucket = self._buckets.get(holder)
        if bucket is None:
            bucket = self._buckets[holder] = TokenBucket(PER_S, BURST, now)
        if bucket.left(now) < cost:
            wait_s = math.ceil(bucket.ready_at(cost) - now)
            raise TooManyRequestsError(
                f"too many questions about the registry: {PER_S:g} a second, of which one about a subtree is {MANY:g}",
                max(1, wait_s),
            )
        bucket.charge(cost, now)

    async def _page(self, wish: RegistryWish, holder: str) -> RegistryPage:
        if not wish.reads_many:
            return await self._source.page(wish)
        async with self._turns.turn(holder):
            return await self._source.page(wish)
