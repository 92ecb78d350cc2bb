"""CORS: pages of other origins may read from the proxy (Fetch standard, section 3.2).

For the configured origins this replaces Hadoop's own `hadoop.http.cross-origin.enabled` (CrossOriginFilter, 3.4.1):
the NameNode does not get their `Origin`, since it would answer with CORS fields of its own. No answer with CORS fields
is cached: the cache keeps the NameNode's reply, and the fast path does not remember these heads.
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
    """Answers preflights of the configured origins, and adds CORS fields to the answers to their reads."""

    def __init__(self, settings: CorsSettings, traffic: Traffic, others: Handler) -> None:
        """Answer preflights of the configured origins; `others` answers all other requests."""
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
                request.whole = None  # the same head must come here again, not to the fast path
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
    """Return the origin of a request; "": it names none, or several."""
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
