"""Decide as of when a stream of records covers every change.

Sans-I/O. The pool reports the end of the active NameNode's log at a moment (`nncache.hadoop.election_view.Probe`); the
stream reports its own position. Neither depends on how the records travel, so any fault on the way shows up as
missing coverage.
"""

from bisect import bisect_right
from collections import deque
from math import inf

from nncache.hadoop.election_view import Probe
from nncache.invalidation.errors import Discontinued, GapKind
from nncache.invalidation.stream import CoveredThrough

MAX_PENDING = 64
"""Probes that may wait for the position; beyond that, every other one is dropped."""

MAX_REMEMBERED = 1024
"""Positions remembered with their times; forgetting one can hide a log that went back, but not invent one."""


class Freshness:
    """Compares the position of one run of a stream with the positions of the NameNode's log.

    Invariants:
        F1  `take` returns a Covered only for a probe of this run's term, and only once the position has reached that
            probe's transaction.
        F2  `as_of` grows from one Covered to the next.
        F3  A log that was probed at t and had not reached the position known at t, or the transaction of an earlier
            probe, is another log: Discontinued.
        F4  A steady flow of changes delays nothing: a pending probe waits for its own transaction, not for those of
            later probes.
    """

    def __init__(self, term: int, txid: int, now: float) -> None:
        """Start at a position that has been known since `now`."""
        self._term = term
        self.txid = txid
        """The position: every change up to this transaction has been yielded."""
        self._reached = deque([(now, txid)], MAX_REMEMBERED)  # (when it was first known, position)
        self._pending: list[Probe] = []  # not reached yet; both as_of and txid ascend
        self._latest: Probe | None = None  # the latest probe received
        self._satisfied: Probe | None = None  # the newest probe that is reached, until it is returned

    @property
    def is_pending(self) -> bool:
        """Whether a probe waits for the position to reach it."""
        return bool(self._pending)

    @property
    def probed_as_of(self) -> float:
        """The time of the latest probe; minus infinity before the first."""
        return -inf if self._latest is None else self._latest.as_of

    def advance(self, txid: int, now: float) -> None:
        """Advance the position to `txid`, up to which everything has been yielded; it never decreases."""
        assert txid >= self.txid, (txid, self.txid)
        if txid == self.txid:
            return
        self.txid = txid
        self._reached.append((now, txid))
        self._settle()

    def probed(self, probe: Probe) -> Discontinued | None:
        """Process the pool's latest probe; a repeated one changes nothing."""
        if probe.term != self._term:
            return Discontinued(f"another NameNode is active, or it was restarted: term {probe.term}")
        latest = self._latest
        if latest is not None and probe.as_of <= latest.as_of:
            return None
        known = self._known_at(probe.asked_at)
        if latest is not None and latest.asked_at <= probe.asked_at:
            known = max(known, latest.txid)
        if probe.txid < known:
            return Discontinued(
                f"the log went back: its last transaction is {probe.txid}, was {known}", GapKind.WENT_BACK
            )
        self._latest = probe
        self._enqueue(probe)
        self._settle()
        return None

    def take(self) -> CoveredThrough | None:
        """Return the newest coverage that was not returned yet, if there is one."""
        satisfied, self._satisfied = self._satisfied, None
        return None if satisfied is None else CoveredThrough(satisfied.as_of, self.txid)

    def _known_at(self, moment: float) -> int:
        """Return the position that was known at this moment; -1 if it is not remembered."""
        index = bisect_right(self._reached, moment, key=lambda reached: reached[0])
        return self._reached[index - 1][1] if index else -1

    def _enqueue(self, probe: Probe) -> None:
        while self._pending and self._pending[-1].txid >= probe.txid:
            self._pending.pop()  # the new probe is later and needs no higher position
        self._pending.append(probe)
        if len(self._pending) > MAX_PENDING:
            del self._pending[-2::-2]  # the newest stays; a dropped probe is covered a little later

    def _settle(self) -> None:
        reached = sum(1 for probe in self._pending if probe.txid <= self.txid)
        if reached:
            self._satisfied = self._pending[reached - 1]
            del self._pending[:reached]
