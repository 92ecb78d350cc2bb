"""How a call was handled, and how `Cache-Status` says so. (proxy/cache_status.py)

Format: RFC 9211. The one table of all reasons; a reason is also the label of a metric.

ProvenGrant holds for the header as well: what the cache knows of a path is said only to callers to whom the
NameNode shows that path. All others read `fwd=miss`, whatever is cached, asked or written there.
"""

from enum import StrEnum
from http import HTTPStatus
from typing import Final, TypeAlias

from nncache.cache.decisions import Reason
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.proxy.headers import cache_status
from nncache.proxy.messages import Header


class Bypass(StrEnum):
    """ForwardReason the front end passes a call through without asking the cache."""

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


ForwardReason: TypeAlias = Reason | Bypass

COLLAPSED: Header = cache_status(fwd="miss", collapsed=True)
"""Answered with the reply to the same caller's question, which was on its way already."""

NOT_WEBHDFS: Header = cache_status(detail="not-webhdfs")
"""Neither forwarded nor answered: such a target is not served."""

_FORWARDED: dict[ForwardReason, tuple[str, str | None]] = {  # fwd, detail
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


_SAID_TO_ALL: Final[frozenset[ForwardReason]] = frozenset(
    {
        Reason.STREAM_CLOSED,
        Reason.NO_FILTER,
        Bypass.METHOD,
        Bypass.OPERATION,
        Bypass.PATH,
        Bypass.NOT_PLAIN,
    }
)
"""Reasons that follow from the request, the settings or the whole proxy, never from what is known of the path.

`request` is not among them: a two-step write of the path goes before it. Nor is `gate-closed`: a path of which
nothing is known is a miss, also while the gate is closed.
"""


def forwarded(why: ForwardReason, *, is_shown: bool, is_stored: bool = False) -> Header:
    """Return the `Cache-Status` of a reply that the NameNode gave to this very call, or failed to give.

    Args:
        why: the reason, as the metrics count it.
        is_shown: whether the NameNode has shown this caller the path; see `shows_path`.
        is_stored: whether the cache has kept the reply.
    """
    fwd, detail = _FORWARDED[why if is_shown or why in _SAID_TO_ALL else Reason.MISS]
    return cache_status(fwd=fwd, stored=is_stored, detail=detail)


def shows_path(status: int, body: bytes | None) -> bool:
    """Whether a reply to GETFILESTATUS shows its caller what is, or is not, at the path.

    A NameNode says FileNotFoundException only to those who may traverse what is above (FSPermissionChecker
    checkTraverse, Hadoop 3.5.0).
    """
    if status == HTTPStatus.NOT_FOUND:
        remote = parse_remote_exception(body or b"")
        return remote is not None and remote.verdict is Verdict.FILE_NOT_FOUND
    return status == HTTPStatus.OK
