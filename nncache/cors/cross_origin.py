"""Lets pages of other origins read what the proxy serves: CORS, as the Fetch standard has it (section 3.2).

Hadoop's own is `hadoop.http.cross-origin.enabled` (CrossOriginFilter, 3.4.1), which this takes the place of for the
origins that are named here: their `Origin` does not go to the NameNode, which would answer it with fields of its own.
No answer with fields for an origin is kept: the cache keeps the NameNode's, and the fast path takes no such head.
"""

from collections.abc import Awaitable
from typing import Final

from nncache.cors.settings import CorsSettings
from nncache.proxy.clients.counted_answer import counted_answer
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse, date_field
from nncache.proxy.messages import Headers
from nncache.proxy.traffic import Exchange, Result, Traffic

_READS: Final = frozenset({"GET", "HEAD"})
_METHODS: Final = b"GET, HEAD"
_ASKS: Final = b"access-control-request-method"
_MAY_SEND: Final = (
    b"Accept, Authorization, Cache-Control, Content-Type, If-None-Match, Last-Event-ID, Prefer, "
    b"X-Request-Id, X-Requested-With"
)
_MAY_SEE: Final = b"Age, Cache-Status, ETag, Preference-Applied, Retry-After"
_MAX_AGE_S: Final = 1_800  # as CrossOriginFilter's


class CrossOrigin:
    """Answers the preflights of named origins, and adds to the answers to their reads who may see them."""

    def __init__(self, settings: CorsSettings, traffic: Traffic, others: Handler) -> None:
        """Answer for these origins; all else `others` does."""
        self._origins = frozenset(settings.cors_origins)
        self._traffic = traffic
        self._others = others

    def handle(self, request: Request) -> Awaitable[RawResponse | None]:
        """Answer one request."""
        origin = _origin_of(request)
        if origin in self._origins:
            if request.method == "OPTIONS" and _ASKS in request.names:
                return counted_answer(self._traffic, request, self._preflight)
            if request.method in _READS:
                request.fields = tuple(each for each in request.fields if each[0].lower() != b"origin")
                request.names -= {b"origin"}
                request.whole = None  # the same bytes from another connection are for this place again
                request.adds = (*_of_origin(origin), (b"Access-Control-Expose-Headers", _MAY_SEE))
        return self._others(request)

    async def _preflight(self, request: Request, exchange: Exchange) -> RawResponse:
        exchange.result = Result.PREFLIGHT
        fields = (
            date_field(),
            *_of_origin(_origin_of(request)),
            (b"Access-Control-Allow-Methods", _METHODS),
            (b"Access-Control-Allow-Headers", _MAY_SEND),
            (b"Access-Control-Max-Age", b"%d" % _MAX_AGE_S),
        )
        return RawResponse(204, "No Content", fields, body=b"")


def _origin_of(request: Request) -> str:
    """Return the origin that a request names; "": none, or several."""
    if b"origin" not in request.names:
        return ""
    named = [value for name, value in request.fields if name.lower() == b"origin"]
    return named[0].decode("latin-1") if len(named) == 1 else ""


def _of_origin(origin: str) -> Headers:
    return (
        (b"Access-Control-Allow-Origin", origin.encode()),
        (b"Access-Control-Allow-Credentials", b"true"),
        (b"Vary", b"Origin"),
    )
