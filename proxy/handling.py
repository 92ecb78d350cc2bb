"""How a call was handled, and how `Cache-Status` says so. (proxy/handling.py)

Format: RFC 9211. The one table of all reasons; a reason is also the label of a metric.
"""

from enum import StrEnum
from typing import TypeAlias

from cache.decisions import Reason
from proxy.headers import cache_status
from proxy.messages import Header


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

COLLAPSED: Header = cache_status(fwd="miss", collapsed=True)
"""Answered with the reply to the same caller's question, which was on its way already."""

NOT_WEBHDFS: Header = cache_status(detail="not-webhdfs")
"""Neither forwarded nor answered: such a target is not served."""

_FORWARDED: dict[Why, tuple[str, str | None]] = {  # fwd, detail
    Reason.MISS: ("miss", None),
    Reason.NO_GRANT: ("miss", Reason.NO_GRANT),
    Reason.GRANT_PENDING: ("miss", Reason.GRANT_PENDING),
    Reason.REQUEST: ("request", None),
    Reason.GATE_CLOSED: ("bypass", Reason.GATE_CLOSED),
    Reason.STREAM_CLOSED: ("bypass", Reason.STREAM_CLOSED),
    Reason.NO_FILTER: ("bypass", Reason.NO_FILTER),
    Reason.TWO_STEP_WRITE: ("bypass", Reason.TWO_STEP_WRITE),
    Reason.WINDOW_TABLE_FULL: ("bypass", Reason.WINDOW_TABLE_FULL),
    Bypass.METHOD: ("method", None),
    Bypass.OPERATION: ("bypass", Bypass.OPERATION),
    Bypass.PATH: ("bypass", Bypass.PATH),
    Bypass.NOT_PLAIN: ("bypass", Bypass.NOT_PLAIN),
    Bypass.CACHE_ERROR: ("bypass", Bypass.CACHE_ERROR),
}


def forwarded(why: Why, *, is_stored: bool = False) -> Header:
    """Return the `Cache-Status` of a reply that the NameNode gave to this very call."""
    fwd, detail = _FORWARDED[why]
    return cache_status(fwd=fwd, stored=is_stored, detail=detail)
