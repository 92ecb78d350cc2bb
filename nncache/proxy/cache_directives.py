"""What the headers of a read ask of the cache.

The target of a plain read has been vetted by `nncache.hadoop.calls.parse_plain`; here its headers are.
Whatever could make a NameNode answer in another way leaves the cache out of it; of what authenticates, cookies are read
in `nncache.proxy.credentials`.
"""

import re
from collections.abc import Iterable
from enum import Enum

_ODD_HEADERS = frozenset(
    {
        b"authorization",  # SPNEGO: the credential is not in the target
        b"expect",  # 100-continue announces a body
        b"origin",  # hadoop.http.cross-origin.enabled answers it with headers of its own
        b"proxy-authorization",  # a credential again
        b"transfer-encoding",  # a body
    }
)
_JSON_RANGES = frozenset({b"*/*", b"application/*", b"application/json"})
_MAX_MEDIA_RANGES = 100  # with their parameters; a browser sends ten
_NEVER = re.compile(rb"q\s*=\s*0(\.0*)?")  # a weight of zero


class CacheDirective(Enum):
    """How far the cache may take part in a read."""

    ORDINARY = "ordinary"
    """Answer from memory, or ask and keep the answer."""
    REFRESH = "refresh"
    """Ask the NameNode, and keep its answer (RFC 9111, section 5.2.1.4, no-cache)."""
    NO_TRACE = "no-trace"
    """Pass the call through; it neither reads nor fills the cache."""


def cache_directive_of(headers: Iterable[tuple[bytes, bytes]]) -> CacheDirective:
    """Say what the raw request headers wish for.

    `Pragma: no-cache` counts only without `Cache-Control` (RFC 9111, section 5.4).
    """
    directives: set[bytes] = set()
    says_cache_control = pragma_no_cache = False
    for raw_name, value in headers:
        name = raw_name.lower()
        if name in _ODD_HEADERS:
            return CacheDirective.NO_TRACE
        match name:
            case b"content-length" if value.strip() != b"0":
                return CacheDirective.NO_TRACE
            case b"accept" if not _accepts_json(value):
                return CacheDirective.NO_TRACE  # Hadoop answers 500 to `Accept: text/xml`
            case b"cache-control":
                says_cache_control = True
                directives.update(directive.strip().lower() for directive in value.split(b","))
            case b"pragma":
                pragma_no_cache |= b"no-cache" in value.lower()
            case _:
                pass
    if b"no-store" in directives:
        return CacheDirective.NO_TRACE
    if directives & {b"no-cache", b"max-age=0"} or (pragma_no_cache and not says_cache_control):
        return CacheDirective.REFRESH
    return CacheDirective.ORDINARY


def _accepts_json(value: bytes) -> bool:
    """Whether JSON is among the media ranges of an `Accept` header (RFC 9110, section 12.5.1), as far as it is read."""
    if value.count(b",") + value.count(b";") > _MAX_MEDIA_RANGES:
        return False
    for element in value.lower().split(b","):
        media_range, *parameters = (part.strip() for part in element.split(b";"))
        if media_range in _JSON_RANGES and not any(map(_NEVER.fullmatch, parameters)):
            return True
    return not value.strip()
