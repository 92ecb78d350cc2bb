"""Limit the events of each filter: a flood affects only its own subscribers.

Sans-I/O. Each filter has a token bucket of events. Edits that are read late, after an outage or by a new publisher,
bring the events of a longer time: until all of them are read, buckets fill without a bound.
"""

from collections.abc import Collection
from typing import Final

BURST_S: Final = 60.0
"""Seconds' worth of events that a filter may have in a burst."""

BACKLOG_S: Final = 600.0
"""The time without reads that is assumed before this process started, in seconds."""

RESUME_S: Final = 1.0
"""A filter over its limit gets events again when its bucket holds this many seconds' worth."""


class FilterLimits:
    """Decides which filters may have events. It outlasts the publisher's runs, so a new run gets no new budget.

    Invariant:
        F1  Over any time t that begins when all edits were read, a filter has at most
            (BURST_S + t) * per_s events, plus those of one transaction. More than a burst in one counts as a burst.
    """

    def __init__(self, per_s: float, now: float) -> None:
        """Create the limits; `per_s` is each filter's long-term rate in events per second, 0 for no limit."""
        self.per_s = per_s
        """Each filter's long-term rate in events per second; 0 for no limit."""
        self._burst = per_s * BURST_S
        self._now = now
        self.all_read_at = now - BACKLOG_S
        """The time up to which all edits were read."""
        self._buckets: dict[str, tuple[float, float]] = {}  # by id of the filter: (left, as of this time)
        self._over: set[str] = set()  # ids of filters over their limit

    @property
    def over(self) -> int:
        """The number of filters that went over their limit, and would still be over it if they matched an event now."""
        return sum(self._is_short(id_, self._left(id_)) for id_ in self._over)

    def read(self, now: float, fresh_as_of: float | None) -> None:
        """Record a read of all edits before `fresh_as_of`; None if that time is unknown."""
        self._now = now
        if fresh_as_of is not None:
            self.all_read_at = max(self.all_read_at, fresh_as_of)

    def admit(self, id_: str, events: int) -> bool:
        """Return whether a filter may have the events of a transaction, and take them out of its bucket."""
        if not self.per_s:
            return True
        left = self._left(id_)
        is_over = self._is_short(id_, left)
        if is_over:
            self._over.add(id_)
        else:
            self._over.discard(id_)
            left -= min(events, self._burst)
        self._buckets[id_] = (left, self._now)
        return not is_over

    def keep(self, ids: Collection[str]) -> None:
        """Forget all filters except these."""
        self._buckets = {id_: bucket for id_, bucket in self._buckets.items() if id_ in ids}
        self._over &= set(ids)

    def _is_short(self, id_: str, left: float) -> bool:
        return left < self.per_s * RESUME_S if id_ in self._over else left <= 0

    def _left(self, id_: str) -> float:
        left, since = self._buckets.get(id_, (self._burst, self.all_read_at))
        if since < self.all_read_at:
            left = min(self._burst, left + self.per_s * (self.all_read_at - since))
            since = self.all_read_at
        return left + self.per_s * (self._now - since)
