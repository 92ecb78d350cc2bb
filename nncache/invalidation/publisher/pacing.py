"""Decide when to read a filter again, and when to publish the next record.

Sans-I/O. Filters: the first change of a filter after a quiet time is read immediately. A filter that keeps changing is
read less and less often, and slows down no other filter. This bounds how often its owner can make the publisher call
the NameNode and write to ZooKeeper. Filters that have been quiet are read before those that keep changing. Among the
quiet ones, known filters are read before unknown names, each in the order of their changes. So neither a filter that
keeps changing nor any number of new names delays the first change of a known filter by more than a round. A new name
waits for the new names before it. Only an administrator of HDFS can create one, so many are read together: a file of
thousands of filters is in force after a few changes of the set, each of which makes every proxy read all filters.

Records: a change after a quiet time is published immediately. Under load, records are spaced out and each carries more:
time bounds the write rate, whatever happens in HDFS.
"""

import math
from collections.abc import Collection, Iterable
from typing import Final

from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.net.token_bucket import TokenBucket

ALL: Final = ""
"""Stands for all filters, after a change of their directory or of one above it. No filter has this name."""

MIN_PAUSE_S: Final = 0.2
"""The shortest time between two reads, in seconds: adding one filter is several changes of the directory."""

MAX_PAUSE_S: Final = 30.0
"""Seconds between two reads of a filter that keeps changing."""

CALM_S: Final = 60.0
"""Seconds without a read after which the next change is read immediately."""

MAX_ROUND_S: Final = 2.0
"""Seconds between two reads of any filters while many keep changing."""

IDLE_S: Final = 10.0
"""Seconds without any read after which the next one starts immediately."""

AT_ONCE: Final = 64
"""Known filters read together; with MAX_ROUND_S this bounds the load that all owners together can cause."""

NEW_AT_ONCE: Final = 1_000
"""New names read together with the known filters; no owner of a filter can create a name."""

RETRY_S: Final = 2.0
"""Seconds before an unusable filter is read again without a change; doubled each time."""

MAX_PACED: Final = 10_000
"""The number of filters tracked; if more change at the same time, all filters are read."""


_KNOWN, _NEW, _LATER = range(3)  # ranks, in the order of reading


class Pause:
    """The time between reads; it doubles while they follow each other.

    Invariant:
        F1  Within calm_s seconds there are at most log2(most_s / MIN_PAUSE_S) + 2 reads, plus one for each most_s.
    """

    def __init__(self, *, most_s: float, calm_s: float) -> None:
        self._most_s = most_s
        self._calm_s = calm_s
        self._pause_s = 0.0
        self._read_at = -math.inf

    @property
    def due_at(self) -> float:
        """The time from which the next read is allowed."""
        return self._read_at + self._pause_s

    @property
    def is_longest(self) -> bool:
        """Whether the pause has reached its maximum."""
        return self._pause_s >= self._most_s

    def is_calm(self, now: float) -> bool:
        """Return whether the last read is so long ago that the pause starts again at its minimum."""
        return now - self._read_at >= self._calm_s

    def read(self, now: float) -> None:
        """Record a read that began at this time."""
        self._pause_s = MIN_PAUSE_S if self.is_calm(now) else min(self._most_s, 2 * self._pause_s)
        self._read_at = now


class _Paced:
    """The schedule of one filter, or of all filters."""

    def __init__(self) -> None:
        self.pause = Pause(most_s=MAX_PAUSE_S, calm_s=CALM_S)
        self.is_stale = False  # it may have changed since the last read
        self.order = 0  # its place in the order of changes
        self.retry_s = 0.0  # delay before an unchanged broken filter is read again; 0 if it is not broken
        self.retry_at = math.inf

    @property
    def due_at(self) -> float:
        """The time of the next read; infinity for a filter that has not changed and is not broken."""
        return min(self.pause.due_at if self.is_stale else math.inf, self.retry_at)

    def rank(self, now: float, *, is_known: bool) -> tuple[int, float]:
        """Return its sort key among the filters that are due; the lowest is read first."""
        if self.is_stale and self.pause.is_calm(now):
            return (_KNOWN if is_known else _NEW), self.order
        return _LATER, self.due_at


class FilterPacer:
    """Decides which filters to read, and when. It outlasts the publisher's runs.

    Invariants:
        F2  A filter that was invalidated is read, alone or with all, by a read that begins after the invalidation.
        F3  Until all filters were read, and again after `forget`, only all are read.
    """

    def __init__(self, reread_s: float) -> None:
        """Schedule a read of all filters now, and again every `reread_s` seconds."""
        self._reread_s = reread_s
        self._round = Pause(most_s=MAX_ROUND_S, calm_s=IDLE_S)
        self._all = _Paced()
        self._paced: dict[str, _Paced] = {}  # by name: stale, broken, or read recently
        self._must_read_all = False
        self._ordered = 0  # the last number assigned to a change
        self.forget()

    def invalidate(self, names: Iterable[str]) -> bool:
        """Schedule a read of these filters, or of ALL; return whether some were not scheduled yet."""
        is_news = False
        for name in names:
            paced = self._of(name)
            if not paced.is_stale:
                self._ordered += 1
                is_news, paced.is_stale, paced.order = True, True, self._ordered
        return is_news

    def forget(self) -> None:
        """Schedule a read of all filters before any single one: nothing is known of them."""
        self._must_read_all = self._all.is_stale = True

    def due_at(self) -> float:
        """Return the time of the next read. O(filters that changed recently)."""
        due_at = self._all.due_at
        if not self._must_read_all:
            due_at = min(due_at, min((paced.due_at for paced in self._paced.values()), default=math.inf))
        return max(due_at, self._round.due_at)

    def take(self, now: float, known: Collection[str] = ()) -> tuple[str, ...]:
        """Return the filters that are due, or ALL alone, and mark them as no longer stale.

        The result has at most NEW_AT_ONCE new names and AT_ONCE others. `known` are the filters that were
        found before. The caller reports the outcome with `read` or `failed`.
        """
        if self._all.due_at <= now:
            self._all.is_stale = False
            for paced in self._paced.values():
                paced.is_stale = False
            return (ALL,)
        if self._must_read_all:
            return ()
        due = [name for name, paced in self._paced.items() if paced.due_at <= now]
        ranks = {name: self._paced[name].rank(now, is_known=name in known) for name in due}
        due.sort(key=ranks.__getitem__)
        new = [name for name in due if ranks[name][0] == _NEW][:NEW_AT_ONCE]
        others = [name for name in due if ranks[name][0] != _NEW][:AT_ONCE]
        taken = sorted((*others, *new), key=ranks.__getitem__)
        for name in taken:
            self._paced[name].is_stale = False
        return tuple(taken)

    def read(self, names: tuple[str, ...], began_at: float, broken: Collection[str]) -> tuple[str, ...]:
        """Record a read and the broken filters found; return the names whose pause has just reached its maximum."""
        self._round.read(began_at)
        if names == (ALL,):
            self._must_read_all = False
            self._all.pause.read(began_at)
            self._all.retry_at = began_at + self._reread_s
            for name in self._paced.keys() | broken:
                paced = self._of(name)
                if paced is not self._all:  # if the table is full, the next read of all covers the filter
                    self._note(paced, began_at, is_broken=name in broken)
            slowed: tuple[str, ...] = ()
        else:
            were_longest = {name for name in names if self._of(name).pause.is_longest}
            for name in names:
                self._of(name).pause.read(began_at)
                self._note(self._of(name), began_at, is_broken=name in broken)
            slowed = tuple(
                name for name in names if name not in were_longest and self._of(name).pause.is_longest
            )
        self._paced = {name: each for name, each in self._paced.items() if _is_kept(each, began_at)}
        return slowed

    def failed(self, names: tuple[str, ...], began_at: float) -> None:
        """Record that these filters could not be read: they stay stale, and come after those that were not tried."""
        self.invalidate(names)
        if names != (ALL,):
            for name in names:
                self._of(name).pause.read(began_at)

    def _note(self, paced: _Paced, now: float, *, is_broken: bool) -> None:
        paced.retry_s = min(self._reread_s, max(RETRY_S, 2 * paced.retry_s)) if is_broken else 0.0
        paced.retry_at = now + paced.retry_s if is_broken else math.inf

    def _of(self, name: str) -> _Paced:
        if name == ALL or (name not in self._paced and len(self._paced) >= MAX_PACED):
            return self._all
        return self._paced.setdefault(name, _Paced())


def _is_kept(paced: _Paced, now: float) -> bool:
    return paced.is_stale or paced.retry_at < math.inf or not paced.pause.is_calm(now)


MIN_SPACING_S: Final = 0.01
"""Seconds between two records under low load."""

MAX_SPACING_S: Final = 0.25
"""Seconds between two records under high load; a change is seen that much later."""

FEW: Final = 1
"""A record of at most this many transactions does not increase the spacing."""

BUSY_PER_S: Final = 50.0
"""Transactions per second that do not increase the spacing either: ten mkdirs with their parents are forty at once."""

QUIET_S: Final = 1.0
"""Seconds without a record after which the spacing starts again at its minimum."""

BURST_S: Final = 2.0
"""Seconds' worth of writes that are allowed in a burst after a quiet time."""


class RecordPacer:
    """Decides when the next record is due. It outlasts the publisher's runs, so a new run gets no new budget.

    Invariant:
        W1  Over any time t, there are at most burst + rate * t writes, plus the writes of one record beyond its first.
    """

    def __init__(self, settings: PublisherSettings, now: float) -> None:
        self._coverage_interval_s = settings.coverage_interval_s
        per_s = settings.max_write_ops_per_s
        self._budget = TokenBucket(per_s, max(1.0, per_s * BURST_S), now)  # of write operations
        self._spacing_s = MIN_SPACING_S
        self._last_at = now - QUIET_S  # when the last record began

    def due_at(self, *, is_relevant: bool) -> float:
        """Return the time at which the pending transactions should be published.

        `is_relevant` says whether one of them concerns a filter; the others only advance the coverage.
        """
        spacing_s = self._spacing_s if is_relevant else self._coverage_interval_s
        return max(self._last_at + spacing_s, self._budget.ready_at(1))

    def published(self, began_at: float, *, transactions: int, writes: int) -> None:
        """Record a publication: the number of its transactions that concern a filter, and the number of its writes."""
        elapsed_s = began_at - self._last_at
        self._last_at = began_at
        self._budget.charge(writes, began_at)
        if transactions > FEW and transactions > BUSY_PER_S * elapsed_s:
            self._spacing_s = min(MAX_SPACING_S, self._spacing_s * 2)
        elif elapsed_s >= QUIET_S:
            self._spacing_s = MIN_SPACING_S
        else:
            self._spacing_s = max(MIN_SPACING_S, self._spacing_s / 2)

    def wrote(self, writes: int, now: float) -> None:
        """Record other writes, such as those of a changed filter."""
        self._budget.charge(writes, now)
