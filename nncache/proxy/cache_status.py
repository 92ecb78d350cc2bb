"""How a call was handled, as the field `Cache-Status` reports it.

Format: RFC 9211. This is the only table of reasons; a reason is also the label of a metric.

ProvenGrant holds for the header as well: it discloses the cache's knowledge of a path only to callers to whom the
NameNode shows that path. All others read `fwd=miss`, whatever is cached, in flight or being written there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from http import HTTPStatus
from typing import Final, TypeAlias

from nncache.cache.decisions import MissReason
from nncache.hadoop.calls import WebHdfsCall
from nncache.hadoop.paths import is_cacheable
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.proxy.messages import Header


class Bypass(StrEnum):
    """Why the front end passes a call through without asking the cache."""

    METHOD = "method"
    OPERATION = "operation"
    PATH = "path"
    NOT_PLAIN = "not-plain"
    CACHE_ERROR = "cache-error"


ForwardReason: TypeAlias = MissReason | Bypass


def cache_status(
    *,
    hit: bool = False,
    fwd: str | None = None,
    stored: bool = False,
    collapsed: bool = False,
    detail: str | None = None,
) -> Header:
    """Return the `Cache-Status` field of a reply (RFC 9211, section 2).

    Args:
        hit: answered from memory.
        fwd: why it was forwarded: bypass, method, uri-miss, vary-miss, miss, request, stale or partial.
        stored: the NameNode's answer is in the cache now.
        collapsed: answered with the reply to another call.
        detail: the reason of nncache's own, a token.
    """
    parts = ["nncache"]
    if hit:
        parts.append("hit")
    if fwd is not None:
        parts.append(f"fwd={fwd}")
    if stored:
        parts.append("stored")
    if collapsed:
        parts.append("collapsed")
    if detail is not None:
        parts.append(f"detail={detail}")
    return (b"Cache-Status", "; ".join(parts).encode("ascii"))


HIT: Header = cache_status(hit=True)
"""The `Cache-Status` of every answer from memory."""

COLLAPSED: Header = cache_status(fwd="miss", collapsed=True)
"""Answered with the reply to the same caller's call that was already in flight."""

WAITED_HIT: Header = cache_status(hit=True, detail="waited")
"""Answered from memory, after the request was held (`Prefer: wait`)."""

NOT_WEBHDFS: Header = cache_status(detail="not-webhdfs")
"""Refused: the proxy does not serve the target."""


NOT_ADMITTED: Header = cache_status(detail="not-admitted")
"""Refused: the proxy cannot authenticate the caller, or the caller may not act for another user."""


@dataclass(frozen=True, slots=True)
class Explained:
    """How a reason is reported.

    Attributes:
        fwd: the parameter of that name (RFC 9211, section 2.2).
        meaning: for operators; follows "not answered from memory: ".
        to_do: the remedy for an operator, in whole sentences (docs/cache-status.md).
        is_open: whether every caller may read the reason: it follows from the request, the settings or the state of
            the whole proxy, never from the cache's knowledge of the path.
        has_detail: whether `detail` names the reason; otherwise `fwd` is enough.
    """

    fwd: str
    meaning: str
    to_do: str
    is_open: bool = False
    has_detail: bool = True


REASONS: Final[Mapping[ForwardReason, Explained]] = {
    MissReason.MISS: Explained(
        "miss",
        "nothing is known of it yet: the next read asks the NameNode and keeps the reply",
        "Nothing. If it stays so, see [A path that is never a hit](runbook.md#a-path-that-is-never-a-hit).",
        has_detail=False,
    ),
    MissReason.NO_GRANT: Explained(
        "miss",
        "the caller is not proven to be allowed to see it: the NameNode is asked",
        "Nothing: this reply proves the right, for `grant_ttl_s`. Many callers who each ask rarely stay misses.",
    ),
    MissReason.GRANT_PENDING: Explained(
        "miss",
        "a right or a reply is so new that only the callers it was given to may have it",
        "Nothing: it passes as soon as the NameNode's events have caught up with the reply. "
        "If it lasts, the stream of changes is slow: look at `nncache_cache_gate_age_seconds`.",
    ),
    # Not open: a two-step write of the path takes precedence over it.
    MissReason.REQUEST: Explained(
        "request",
        "the request asked for a fresh answer",
        "Nothing, if the client means it: it sends `Cache-Control: no-cache`, or the like.",
        has_detail=False,
    ),
    # Not open: a path that is not cached is a miss, also while the gate is closed.
    MissReason.GATE_CLOSED: Explained(
        "bypass",
        "it is too long since all changes were known to be applied (max_staleness_s)",
        "See [The gate stays closed](runbook.md#the-gate-stays-closed).",
    ),
    MissReason.STREAM_CLOSED: Explained(
        "bypass",
        "the NameNode's changes are not being read: every call is forwarded",
        "See [The gate stays closed](runbook.md#the-gate-stays-closed); the log names the cause.",
        is_open=True,
    ),
    MissReason.NO_FILTER: Explained(
        "bypass",
        "no filter matches it (a --glob of the proxy, or those of `nncache filters list`)",
        "If it should be cached, add a `glob` to the proxy, or a [filter](filters.md) on the ZooKeeper channel.",
        is_open=True,
    ),
    MissReason.TWO_STEP_WRITE: Explained(
        "bypass",
        "it is being written through this proxy (CREATE or APPEND with a redirect)",
        "Wait for the writer to close the file; without a CLOSE it ends after `two_step_window_s`.",
    ),
    MissReason.WINDOW_TABLE_FULL: Explained(
        "bypass",
        "more two-step writes are under way than are followed (max_two_step_windows)",
        "Raise `max_two_step_windows`, or find the client that begins writes and does not finish them.",
    ),
    Bypass.METHOD: Explained(
        "method",
        "it is a write, or a method that no read has",
        "Nothing: writes always go to the NameNode.",
        is_open=True,
        has_detail=False,
    ),
    Bypass.OPERATION: Explained(
        "bypass",
        "it is a read that is not GETFILESTATUS",
        "Nothing: LISTSTATUS, OPEN and the other reads are not cached.",
        is_open=True,
    ),
    Bypass.PATH: Explained(
        "bypass",
        "it is of a kind that is never cached (/.reserved, .snapshot, . or ..)",
        "Poll the ordinary path instead. Paths beyond the limits of HDFS (8,000 characters, 1,000 levels) are of this "
        "kind as well.",
        is_open=True,
    ),
    Bypass.NOT_PLAIN: Explained(
        "bypass",
        "another reader might understand the request in another way, or it carries a credential",
        "Send `op`, `user.name`, `doas` and `delegation` only, each once, their names unencoded, and no body. Any "
        "other parameter, an `Authorization` or `Origin` header, or `Cache-Control: no-store` makes a request "
        "not plain.",
        is_open=True,
    ),
    Bypass.CACHE_ERROR: Explained(
        "bypass",
        "the cache failed; the log says how",
        "Report it with the traceback from the log: this is a fault of nncache.",
    ),
}


MEANINGS: Final[Mapping[str, str]] = {str(reason.value): each.meaning for reason, each in REASONS.items()}
"""The meaning of each reason, by the reason's value."""


def why_not_asked(call: WebHdfsCall) -> Bypass:
    """Return why a call bypasses the cache."""
    if call.method != "GET":
        return Bypass.METHOD
    if call.op is None or call.op.name != "GETFILESTATUS":
        return Bypass.OPERATION
    if call.path is None or not is_cacheable(call.path):
        return Bypass.PATH
    return Bypass.NOT_PLAIN


@cache
def forwarded(
    why: ForwardReason, *, is_shown: bool, is_stored: bool = False, is_shared: bool = False
) -> Header:
    """Return the `Cache-Status` of a call that was sent to the NameNode, whether or not it replied.

    Args:
        why: the reason, as the metrics count it.
        is_shown: whether the NameNode has shown this caller the path; see `shows_path`.
        is_stored: whether the cache has kept the reply.
        is_shared: whether one call answers several held requests of one caller (`Prefer: wait`).
    """
    shown = why if is_shown or REASONS[why].is_open else MissReason.MISS
    explained = REASONS[shown]
    detail = shown if explained.has_detail else None
    return cache_status(fwd=explained.fwd, stored=is_stored, collapsed=is_shared and is_shown, detail=detail)


def shows_path(status: int, body: bytes | None) -> bool:
    """Whether a reply to GETFILESTATUS shows its caller whether the path exists.

    A NameNode answers FileNotFoundException only to callers who may traverse the path's ancestors
    (FSPermissionChecker checkTraverse, Hadoop 3.5.0).
    """
    if status == HTTPStatus.NOT_FOUND:
        remote = parse_remote_exception(body or b"")
        return remote is not None and remote.verdict is Verdict.FILE_NOT_FOUND
    return status == HTTPStatus.OK
