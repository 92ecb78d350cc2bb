"""Estimate from past edits what a filter would match.

Sans-I/O. The time is that of the events: most carry the NameNode's time of the change. The limit of the filter is
applied by the publisher's own rule.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from nncache.hadoop.events import Append, Create, EditsPage, Event, EventBatch, MetadataUpdate, Rename
from nncache.hadoop.globs import GlobSet
from nncache.invalidation.edits.cursor import read_once
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.relevance import matched

EXAMPLES: Final = 10
"""The number of matching paths that an estimate lists."""

MINUTE_S: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Estimate:
    """The matches of a glob in some edits. The counts are updated in place; callers get a copy."""

    first_txid: int = 0  # the first transaction examined
    last_txid: int = -1  # the last transaction examined; less than the first if there was none
    seconds: float | None = None  # from the first event to the last; None if fewer than two have a time
    events: int = 0  # of these transactions
    matched: int = 0  # events that the glob matches
    matched_transactions: int = 0  # transactions with a matched event
    busiest_minute: int = 0  # the largest number of matched events within a minute
    over_limit: int = 0  # matched events that a filter would miss because of its limit
    examples: tuple[str, ...] = ()  # the latest paths that matched, each once

    @property
    def transactions(self) -> int:
        """The number of transactions examined, with or without events."""
        return max(0, self.last_txid - self.first_txid + 1)

    @property
    def per_s(self) -> float | None:
        """The mean number of matching events per second; None if it is unknown."""
        return self.matched / self.seconds if self.seconds else None

    @property
    def share(self) -> float:
        """The share of the transactions that have a matching event, from 0 to 1."""
        return self.matched_transactions / self.transactions if self.transactions else 0.0


class Estimator:
    """Examines edits, page by page, in order."""

    def __init__(self, glob: str, limit_per_s: float) -> None:
        """Create an estimator; `limit_per_s` is a filter's limit in events per second, 0 for no limit.

        Raises:
            GlobError: the glob is malformed.
        """
        self._globs = GlobSet({"": glob})
        self._limit_per_s = limit_per_s
        self._limits: FilterLimits | None = None  # None until an event has a time
        self._found = Estimate()
        self._first_at: float | None = None
        self._last_at = 0.0
        self._minute: deque[tuple[float, int]] = deque()  # (time, matched events) of the last minute
        self._in_minute = 0
        self._examples: dict[str, None] = {}  # the latest last

    def take(self, page: EditsPage) -> int:
        """Examine the next page, which may be empty, and return the last transaction examined so far."""
        if page.first_txid < 0:
            return self._found.last_txid
        if self._found.last_txid < 0:
            self._found.first_txid = page.first_txid
        batches, self._found.last_txid = read_once(page)
        for batch in batches:
            self._found.events += len(batch.events)
            self._note_time(batch)
            found = matched(batch, self._globs).get("")
            if found is not None:
                self._note_matched(found)
        return self._found.last_txid

    def estimate(self) -> Estimate:
        """Return the estimate so far."""
        seconds = None if self._first_at is None else self._last_at - self._first_at
        return replace(self._found, seconds=seconds or None, examples=tuple(reversed(self._examples)))

    def _note_time(self, batch: EventBatch) -> None:
        """Advance the time by the NameNode's times alone: clients may set times from clocks that are wrong."""
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
    """Return the NameNode's time of a change in seconds; 0 if the event does not have it."""
    match event:
        case Create(ctime=at):
            return at / 1000
        case MetadataUpdate() | Append():
            return 0.0
        case _:
            return event.timestamp / 1000
