"""When to read which filter again, and when to publish the next record.

Sans-I/O. Filters: the first change of a filter after a quiet time is read at once. A filter that keeps changing is
read less and less often, and only that filter: its owner can make the publisher ask the NameNode, and write to
ZooKeeper, no more often than that. What has been quiet comes before what keeps changing; of that, filters that are
known come before names that are not, each in the order of their changes. So neither a filter that keeps changing nor
new names, however many, delay the first change of a known filter by more than a round. A new name waits for the new
names before it; as only an administrator of HDFS makes one, many of them are read together, and a file of thousands of
filters is in force within a few changes of the set, each of which costs every proxy a reading of all.

Records: a change after a quiet time is published at once. Under load, records are spaced out and each carries more: the
write rate is bounded by time, not by what happens in HDFS.
"""

import math
from collections.abc import Collection, Iterable
from typing import Final

from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.net.token_bucket import TokenBucket

ALL: Final = ""
"""Stands for all filters: something happened to their directory, or above it. No filter is called so."""

MIN_PAUSE_S: Final = 0.2
"""Seconds between two readings: adding one filter is several changes of the directory."""

MAX_PAUSE_S: Final = 30.0
"""Seconds between two readings of a filter that keeps changing."""

CALM_S: Final = 60.0
"""After so many seconds without a reading the next change is read at once."""

MAX_ROUND_S: Final = 2.0
"""Seconds between two readings of whatever filters while many keep changing."""

IDLE_S: Final = 10.0
"""After so many seconds without any reading the next one is made at once."""

AT_ONCE: Final = 64
"""Known filters read together; with MAX_ROUND_S that bounds what all owners together can cause."""

NEW_AT_ONCE: Final = 1_000
"""New names read together with them; no owner of a filter can make one."""

RETRY_S: Final = 2.0
"""Seconds before a filter that can't be used is read again untouched; doubled each time."""

MAX_PACED: Final = 10_000
"""Filters remembered; with more than that changing at the same time, all are read."""


_KNOWN, _NEW, _LATER = range(3)  # ranks, the first to be read first


class Pause:
    """The time between readings: it doubles while they come one after the other.

    Invariant:
        F1  Within calm_s seconds at most log2(most_s / MIN_PAUSE_S) + 2 readings are made, and one for each most_s.
    """

    def __init__(self, *, most_s: float, calm_s: float) -> None:
        self._most_s = most_s
        self._calm_s = calm_s
        self._pause_s = 0.0
        self._read_at = -math.inf

    @property
    def due_at(self) -> float:
        """The time from which a reading is allowed."""
        return self._read_at + self._pause_s

    @property
    def is_longest(self) -> bool:
        """Whether readings came so fast, for so long, that the pause grows no more."""
        return self._pause_s >= self._most_s

    def is_calm(self, now: float) -> bool:
        """Tell whether the last reading is so long ago that the next one is like the first."""
        return now - self._read_at >= self._calm_s

    def read(self, now: float) -> None:
        """Take note of a reading that began at this time."""
        self._pause_s = MIN_PAUSE_S if self.is_calm(now) else min(self._most_s, 2 * self._pause_s)
        self._read_at = now


class _Paced:
    """One filter, or all."""

    def __init__(self) -> None:
        self.pause = Pause(most_s=MAX_PAUSE_S, calm_s=CALM_S)
        self.is_stale = False  # it may be other than last read
        self.order = 0  # counts up from name to name, as they were touched
        self.retry_s = 0.0  # until a broken one is read again untouched; 0 for one that is not broken
        self.retry_at = math.inf

    @property
    def due_at(self) -> float:
        """The time of the next reading; never for one that is untouched and sound."""
        return min(self.pause.due_at if self.is_stale else math.inf, self.retry_at)

    def rank(self, now: float, *, is_known: bool) -> tuple[int, float]:
        """Return its place among those that are due; the lowest is read first."""
        if self.is_stale and self.pause.is_calm(now):
            return (_KNOWN if is_known else _NEW), self.order
        return _LATER, self.due_at


class FilterPacer:
    """Says which filters are to be read, and when. It outlasts the publisher's runs.

    Invariants:
        F2  A filter that was touched is read later, alone or with all, by a reading that begins after the touch.
        F3  Before all were read, and after `forget`, only all are read.
    """

    def __init__(self, reread_s: float) -> None:
        """Have all filters read at once, and again every `reread_s` seconds."""
        self._reread_s = reread_s
        self._round = Pause(most_s=MAX_ROUND_S, calm_s=IDLE_S)
        self._all = _Paced()
        self._paced: dict[str, _Paced] = {}  # by name: touched, broken, or read not long ago
        self._must_read_all = False
        self._ordered = 0  # given out
        self.forget()

    def invalidate(self, names: Iterable[str]) -> bool:
        """Have these filters read, or ALL; tell whether that is news."""
        is_news = False
        for name in names:
            paced = self._of(name)
            if not paced.is_stale:
                self._ordered += 1
                is_news, paced.is_stale, paced.order = True, True, self._ordered
        return is_news

    def forget(self) -> None:
        """Have all filters read before any single one: nothing is known of them."""
        self._must_read_all = self._all.is_stale = True

    def due_at(self) -> float:
        """Return the time of the next reading. O(filters that changed lately)."""
        due_at = self._all.due_at
        if not self._must_read_all:
            due_at = min(due_at, min((paced.due_at for paced in self._paced.values()), default=math.inf))
        return max(due_at, self._round.due_at)

    def take(self, now: float, known: Collection[str] = ()) -> tuple[str, ...]:
        """Return the filters that are due, or ALL alone; they are untouched then.

        New names are NEW_AT_ONCE at most, all others AT_ONCE. `known` are the filters that were
        found before. The caller says `read` or `failed` of what is returned.
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
        """Take note of a reading and of what can't be used; return the names whose pause has become the longest."""
        self._round.read(began_at)
        if names == (ALL,):
            self._must_read_all = False
            self._all.pause.read(began_at)
            self._all.retry_at = began_at + self._reread_s
            for name in self._paced.keys() | broken:
                paced = self._of(name)
                if paced is not self._all:  # where no room is left, the next reading of all will do
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
        """Take note that these could not be read: they stay touched, and give way to those that were not tried."""
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
"""Seconds between two records while little happens."""

MAX_SPACING_S: Final = 0.25
"""Seconds between two records while much happens; a change is seen so much later then."""

FEW: Final = 1
"""A record that carries no more transactions than this is no reason to space the next ones out."""

BUSY_PER_S: Final = 50.0
"""Nor are fewer transactions a second: a mkdirs with its parents is four at once, and ten of those a second are few."""

QUIET_S: Final = 1.0
"""After so many seconds without a record what was before says nothing."""

BURST_S: Final = 2.0
"""Seconds' worth of writes that may be made at once after a quiet time."""


class RecordPacer:
    """Says when the next record is due. It outlasts the publisher's runs: a new one gives no new budget.

    Invariant:
        W1  Over any time t, at most burst + rate * t writes are made, and what one record takes beyond one write.
    """

    def __init__(self, settings: PublisherSettings, now: float) -> None:
        self._coverage_interval_s = settings.coverage_interval_s
        per_s = settings.max_write_ops_per_s
        self._budget = TokenBucket(per_s, max(1.0, per_s * BURST_S), now)  # of write operations
        self._spacing_s = MIN_SPACING_S
        self._last_at = now - QUIET_S  # when the last record was begun

    def due_at(self, *, is_relevant: bool) -> float:
        """Return the time at which what is pending should be published.

        `is_relevant` says whether some of it concerns a filter; what does not only moves the coverage.
        """
        spacing_s = self._spacing_s if is_relevant else self._coverage_interval_s
        return max(self._last_at + spacing_s, self._budget.ready_at(1))

    def published(self, began_at: float, *, transactions: int, writes: int) -> None:
        """Take note of a record: how many transactions in it concern a filter, how many writes it took."""
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
        """Take note of other writes, such as those of a changed filter."""
        self._budget.charge(writes, now)
