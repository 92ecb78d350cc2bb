"""Say where a subscriber's stream may begin.

Sans-I/O. Whether the records behind that point are still there shows when they are read: each names the one before.
"""

from dataclasses import dataclass
from typing import TypeAlias

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.errors import GapKind, MissingEventsError


@dataclass(frozen=True, slots=True)
class StartAfter:
    """The stream begins behind this transaction."""

    txid: int


@dataclass(frozen=True, slots=True)
class NoStart:
    """The position wished for is none in this stream; behind another one it can be followed."""

    failure: MissingEventsError
    go_on_after: int


Start: TypeAlias = StartAfter | NoStart


def find_start(
    published: PublishedFilter, value: int, *, wish: int | None, chain: str | None, through_txid: int
) -> Start:
    """Find it for a filter as it is published, whose stream has this value.

    `wish` is a position that was reached earlier, `chain` the filter's id at that time if that is known, and every
    transaction up to `through_txid` is known to have been published, if it matched.
    """
    since = published.since_txid
    if wish is None:
        return StartAfter(value)
    if wish < since:
        failure = MissingEventsError(
            f"filter {published.name} is matched from transaction {since + 1} on only",
            first_txid=wish + 1,
            last_txid=since,
        )
        return NoStart(failure, since)
    if wish > since and chain not in (None, published.chain):
        failure = MissingEventsError(
            f"filter {published.name} was restarted after transaction {since}, before {wish}: the log went back",
            GapKind.WENT_BACK,
        )
        return NoStart(failure, since)
    if wish > max(value, through_txid):
        failure = MissingEventsError(
            f"transaction {wish} is yet to be published: the position is one in another log",
            GapKind.WENT_BACK,
        )
        return NoStart(failure, value)
    return StartAfter(wish)
