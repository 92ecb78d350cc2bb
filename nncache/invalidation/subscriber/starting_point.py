"""Decide where a subscriber's stream begins.

Sans-I/O. Reading shows whether the records after that point still exist: each names the one before.
"""

from dataclasses import dataclass

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.errors import GapKind, MissingEventsError


@dataclass(frozen=True, slots=True)
class NoStart:
    """The requested position is not in this stream; a later one can be followed."""

    failure: MissingEventsError
    go_on_after: int


def find_start(
    published: PublishedFilter, value: int, *, position: int | None, chain: str | None, through_txid: int
) -> int | NoStart:
    """Return the transaction after which the stream of a published filter begins; `value` is the stream's value.

    `position` was reached earlier, in the chain `chain` if that is known. Every matching transaction up to
    `through_txid` is known to have been published.
    """
    since = published.since_txid
    if position is None:
        return value
    if position < since:
        failure = MissingEventsError(
            f"filter {published.name} is matched from transaction {since + 1} on only",
            first_txid=position + 1,
            last_txid=since,
        )
        return NoStart(failure, since)
    if position > since and chain not in (None, published.chain):
        failure = MissingEventsError(
            f"filter {published.name} was restarted after transaction {since}, before {position}: the log went back",
            GapKind.WENT_BACK,
        )
        return NoStart(failure, since)
    if position > max(value, through_txid):
        failure = MissingEventsError(
            f"transaction {position} is yet to be published: the position is one in another log",
            GapKind.WENT_BACK,
        )
        return NoStart(failure, value)
    return position
