"""Say from edits of the past what a filter would match.

Sans-I/O. Time is that of the events: most have the NameNode's time of the change. Its limit is judged by the rule that
the publisher goes by.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from nncache.hadoop.events import Append, Create, EditsPage, Event, EventBatch, MetadataUpdate, Rename
from nncache.hadoop.globs import GlobSet
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.relevance import matched

EXAMPLES: Final = 10
"""Paths that are named."""

MINUTE_S: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Estimate:
    """What a glob would have matched of some edits; counted in place, what is handed out is a copy."""

    first_txid: int = 0  # the first transaction that was looked at
    last_txid: int = -1  # the last one; less than the first if there was none
    seconds: float | None = None  # between the first event and the last; None where fewer than two say when
    events: int = 0  # of these transactions
    matched: int = 0  # events that the glob matches
    matched_transactions: int = 0  # transactions with such an event
    busiest_minute: int = 0  # of the matched ones, how many came within a minute at most
    over_limit: int = 0  # of the matched ones, those that a filter would miss for its limit
    examples: tuple[str, ...] = ()  # the latest paths that matched, each once

    @property
    def transactions(self) -> int:
        """How many transactions were looked at, with or without events."""
        return max(0, self.last_txid - self.first_txid + 1)

    @property
    def per_s(self) -> float | None:
        """How many events matched in a second, in the mean; None where it is not known."""
        return self.matched / self.seconds if self.seconds else None

    @property
    def share(self) -> float:
        """What share of the transactions had an event that matched."""
        return self.matched_transactions / self.transactions if self.transactions else 0.0


class Estimator:
    """Looks at edits, page after page, in order."""

    def __init__(self, glob: str, limit_per_s: float) -> None:
        """Begin; `limit_per_s` is how many events a second a filter may have, 0 for any number.

        Raises:
            GlobError: the glob is malformed.
        """
        self._globs = GlobSet({"": glob})
        self._limit_per_s = limit_per_s
        self._limits: FilterLimits | None = None  # from the first event on that says when it was
        self._found = Estimate()
        self._first_at: float | None = None
        self._last_at = 0.0
        self._minute: deque[tuple[float, int]] = deque()  # when how many matched
        self._in_minute = 0
        self._examples: dict[str, None] = {}  # the latest ones last

    def take(self, page: EditsPage) -> None:
        """Look at the next page; one of no transactions changes nothing."""
        if page.first_txid < 0:
            return
        if self._found.last_txid < 0:
            self._found.first_txid = page.first_txid
        self._found.last_txid = page.last_txid
        for batch in page.batches:
            self._found.events += len(batch.events)
            self._note_time(batch)
            found = matched(batch, self._globs).get("")
            if found is not None:
                self._note_matched(found)

    def estimate(self) -> Estimate:
        """Return what was found so far."""
        seconds = None if self._first_at is None else self._last_at - self._first_at
        return replace(self._found, seconds=seconds or None, examples=tuple(reversed(self._examples)))

    def _note_time(self, batch: EventBatch) -> None:
        """Move the time on: clocks of clients, which set times, may be anything, so the NameNode's alone counts."""
        at = max(map(_at, batch.events), default=0.0)
        if at <= self._last_at:
            return
        self._last_at = at
        if self._first_at is None:
            self._first_at = at
        if self._limits is None:
            self._limits = FilterLimits(self._limit_per_s, at)
        self._limits.read(at, at)

    def _note_matched(self, found: EventBatch) -> None:
        count = len(found.events)
        self._found.matched += count
        self._found.matched_transactions += 1
        if self._limits is not None and not self._limits.admit("", count):
            self._found.over_limit += count
        self._minute.append((self._last_at, count))
        self._in_minute += count
        while self._minute[0][0] < self._last_at - MINUTE_S:
            self._in_minute -= self._minute.popleft()[1]
        self._found.busiest_minute = max(self._found.busiest_minute, self._in_minute)
        for event in found.events:
            path = event.destination if isinstance(event, Rename) else event.path
            self._examples.pop(path, None)
            self._examples[path] = None
            if len(self._examples) > EXAMPLES:
                del self._examples[next(iter(self._examples))]


def _at(event: Event) -> float:
    """Return when the NameNode made a change, in seconds; 0 where the event does not say."""
    match event:
        case Create(ctime=at):
            return at / 1000
        case MetadataUpdate() | Append():
            return 0.0
        case _:
            return event.timestamp / 1000
