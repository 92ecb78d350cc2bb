"""How a call was handled, and how `Cache-Status` says so. (proxy/handling.py)

Format: RFC 9211. The one table of all reasons; a reason is also the label of a metric.
"""

from enum import StrEnum
from typing import TypeAlias

from cache.decisions import Reason


class Bypass(StrEnum):
    """Why the front end passes a call through without asking the cache."""

    METHOD = "method"
    """A write, or a method that no read has."""
    OPERATION = "operation"
    """A read that is not GETFILESTATUS."""
    PATH = "path"
    """GETFILESTATUS of a path that is never kept, such as one below `.snapshot`."""
    NOT_PLAIN = "not-plain"
    """A request that another reader might understand in another way, or that carries a credential."""
    CACHE_ERROR = "cache-error"
    """The cache failed; the guarantee FailToNameNode."""


Why: TypeAlias = Reason | Bypass

HIT = b"nncache; hit"
COLLAPSED = b"nncache; fwd=miss; collapsed"

_FORWARDED: dict[Why, bytes] = {
    Reason.MISS: b"nncache; fwd=miss",
    Reason.NO_GRANT: b"nncache; fwd=miss; detail=no-grant",
    Reason.GRANT_PENDING: b"nncache; fwd=miss; detail=grant-pending",
    Reason.REQUEST: b"nncache; fwd=request",
    Reason.GATE_CLOSED: b"nncache; fwd=bypass; detail=gate-closed",
    Reason.STREAM_CLOSED: b"nncache; fwd=bypass; detail=stream-closed",
    Reason.NO_FILTER: b"nncache; fwd=bypass; detail=no-filter",
    Reason.TWO_STEP_WRITE: b"nncache; fwd=bypass; detail=two-step-write",
    Reason.WINDOW_TABLE_FULL: b"nncache; fwd=bypass; detail=window-table-full",
    Bypass.METHOD: b"nncache; fwd=method",
    Bypass.OPERATION: b"nncache; fwd=bypass; detail=operation",
    Bypass.PATH: b"nncache; fwd=bypass; detail=path",
    Bypass.NOT_PLAIN: b"nncache; fwd=bypass; detail=not-plain",
    Bypass.CACHE_ERROR: b"nncache; fwd=bypass; detail=cache-error",
}


def forwarded(why: Why, *, is_stored: bool = False) -> bytes:
    """Return the `Cache-Status` of a reply that came from the NameNode for this call."""
    return _FORWARDED[why] + (b"; stored" if is_stored else b"")
