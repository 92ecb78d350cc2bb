"""Say as of when a stream of records covers every change.

Sans-I/O. The pool says how far the active NameNode's log had come at a moment (`nncache.hadoop.election_view.Probe`);
the stream says how far it has got. Neither knows how the records travel, so whatever stops on the way, wherever,
shows up as coverage that does not come.
"""

from bisect import bisect_right
from collections import deque
from math import inf

from nncache.hadoop.election_view import Probe
from nncache.invalidation.errors import Discontinued, GapKind
from nncache.invalidation.stream import Covered

MAX_PENDING = 64
"""Probes that may wait for the position; beyond that every other one is let go."""

MAX_REMEMBERED = 1024
"""Positions remembered with their times; to forget one is to notice less, never to see what is not there."""


class Freshness:
    """Compares the position of one run of a stream with what the NameNode says of its log.

    Invariants:
        F1  `take` returns a Covered of a probe of this run's term only, and only when the position has reached
            that probe's transaction.
        F2  `as_of` grows from one Covered to the next.
        F3  A log that was asked at t and had not come as far as the position known at t, or as far as an earlier
            answer, is another log: Discontinued.
        F4  A steady flow of changes keeps nothing back: a probe once asked waits for its own transaction, not for
            those of later probes.
    """

    def __init__(self, term: int, txid: int, now: float) -> None:
        """Begin at a position that is known since `now`."""
        self._term = term
        self.txid = txid
        """The position: every change up to this transaction has been yielded."""
        self._reached = deque([(now, txid)], MAX_REMEMBERED)  # positions, each with when it was first known
        self._pending: list[Probe] = []  # not reached yet; both as_of and txid ascend
        self._latest: Probe | None = None  # of all that were taken
        self._satisfied: Probe | None = None  # the newest that is reached, until it is returned

    @property
    def is_pending(self) -> bool:
        """Whether some probe waits for the position to reach it."""
        return bool(self._pending)

    @property
    def probed_as_of(self) -> float:
        """As of when the latest probe taken was; minus infinity before the first."""
        return -inf if self._latest is None else self._latest.as_of

    def advance(self, txid: int, now: float) -> None:
        """Everything up to this transaction has been yielded; `txid` never goes back."""
        assert txid >= self.txid, (txid, self.txid)
        if txid == self.txid:
            return
        self.txid = txid
        self._reached.append((now, txid))
        self._settle()

    def probed(self, probe: Probe) -> Discontinued | None:
        """Take what the pool knows; the same again is nothing new."""
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

    def take(self) -> Covered | None:
        """Return the newest coverage that was not returned yet."""
        satisfied, self._satisfied = self._satisfied, None
        return None if satisfied is None else Covered(satisfied.as_of, self.txid)

    def _known_at(self, moment: float) -> int:
        """Return the position that was known then; -1 if that is not remembered."""
        index = bisect_right(self._reached, moment, key=lambda reached: reached[0])
        return self._reached[index - 1][1] if index else -1

    def _enqueue(self, probe: Probe) -> None:
        while self._pending and self._pending[-1].txid >= probe.txid:
            self._pending.pop()  # this one is later and waits for no more
        self._pending.append(probe)
        if len(self._pending) > MAX_PENDING:
            del self._pending[-2::-2]  # the newest stays; what is let go is covered a little later

    def _settle(self) -> None:
        reached = sum(1 for probe in self._pending if probe.txid <= self.txid)
        if reached:
            self._satisfied = self._pending[reached - 1]
            del self._pending[:reached]
