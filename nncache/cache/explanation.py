"""The reason why a path is or is not answered from memory."""

import math
from collections.abc import MutableMapping
from dataclasses import dataclass

from nncache.cache.entries import Entry
from nncache.cache.store import Forgotten
from nncache.hadoop.change import Appeared, Moved, Vanished
from nncache.hadoop.paths import ROOT, parent

GRANTS_SHOWN = 20
_OF_CHILDREN = frozenset(change.__name__ for change in (Appeared, Moved, Vanished))


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryView:
    """The entry of a path."""

    kind: str
    status: int
    age_s: float  # seconds since the NameNode last gave this reply
    replied_at: float  # when the NameNode first gave it, by the proxy's clock; unique for a path
    since_txid: int  # nothing after this transaction has changed the path
    is_settled: bool  # every caller with a grant may see it, not only those whom the NameNode has answered


@dataclass(frozen=True, slots=True, kw_only=True)
class LastForgotten:
    """The last change that removed something of this path, or of a directory above it: perhaps that of a child."""

    path: str
    change: str
    txid: int | None
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that the cache knows about one path."""

    path: str
    now: float  # seconds of the proxy's clock, as all that ends in `_at` or is called `as_of`
    answer: str  # `hit` if a caller with a grant is answered from memory now, else the reason why not
    matches_filter: bool
    stream_open: bool
    stream_closed_because: str | None  # why the NameNode's changes are not being read, when they are not
    term: int | None
    gate_open: bool
    gate_age_s: float | None  # since all changes were last known to be applied; None: never
    seen_as_of: float | None  # all that a reply given before it may show has been applied; None: nothing
    covered_txid: int
    in_two_step_write: bool
    questions_under_way: int
    entry: EntryView | None
    grants: int
    granted: tuple[str, ...]  # callers proven to traverse the path's directory, at most `GRANTS_SHOWN`
    last_forgotten: LastForgotten | None


def finite(seconds: float) -> float | None:
    """Return a time or duration for JSON, which has no infinity: None in its place."""
    return seconds if math.isfinite(seconds) else None


def view_of(entry: Entry, now: float, *, seen_as_of: float) -> EntryView:
    """Describe an entry."""
    return EntryView(
        kind=entry.kind.value,
        status=entry.reply.status,
        age_s=now - entry.confirmed_at,
        replied_at=entry.replied_at,
        since_txid=entry.since_txid,
        is_settled=seen_as_of >= entry.replied_at,
    )


def last_forgotten(remembered: MutableMapping[str, Forgotten], path: str, now: float) -> LastForgotten | None:
    """Return the latest change that removed something of the path or of a directory above it.

    The status of a directory also goes with a child that appears, vanishes or moves.
    """
    found = [
        (remembered[place], place)
        for place in list(remembered)
        if _is_at_or_below(path, place)
        or (parent(place) == path and remembered[place].change in _OF_CHILDREN)
    ]
    if not found:
        return None
    forgotten, place = max(found, key=lambda pair: pair[0].at)
    return LastForgotten(path=place, change=forgotten.change, txid=forgotten.txid, age_s=now - forgotten.at)


def _is_at_or_below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip(ROOT) + ROOT)
