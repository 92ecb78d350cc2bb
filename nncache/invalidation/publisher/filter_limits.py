"""How many events a filter may have: a flood costs its own subscribers alone.

Sans-I/O. A filter has a bucket of events, filled by time. Edits that are read late, after an outage or by a publisher
that has just begun, bring the events of a longer time: until all is read, buckets fill without a bound.
"""

from collections.abc import Collection
from typing import Final

BURST_S: Final = 60.0
"""Seconds' worth of events that a filter may have at once."""

BACKLOG_S: Final = 600.0
"""For so long nothing was read before this process began, for all that it knows."""

RESUME_S: Final = 1.0
"""A filter that was over its limit has events again when the bucket holds so many seconds' worth."""


class FilterLimits:
    """Says whose events may be published. It outlasts the publisher's runs: a new one gives no new budget.

    Invariant:
        F1  Over any time t that begins when all edits were read, a filter has at most
            (BURST_S + t) * per_s events, and those of one transaction. One of more than a burst counts as a burst.
    """

    def __init__(self, per_s: float, now: float) -> None:
        """Begin; `per_s` is how many events a second each filter may have in the long run, 0 for any number."""
        self.per_s = per_s
        """Events a second, in the long run, for each filter; 0 for any number."""
        self._burst = per_s * BURST_S
        self._now = now
        self.all_read_at = now - BACKLOG_S
        """All edits up to this time were read."""
        self._buckets: dict[str, tuple[float, float]] = {}  # by id of the filter: (left, as of this time)
        self._over: set[str] = set()  # ids of filters over their limit

    @property
    def over(self) -> int:
        """How many filters were over their limit, and would be if they matched something now."""
        return sum(self._is_short(id_, self._left(id_)) for id_ in self._over)

    def read(self, now: float, fresh_as_of: float | None) -> None:
        """Take note that edits were read: all of those before `fresh_as_of`, None when not known."""
        self._now = now
        if fresh_as_of is not None:
            self.all_read_at = max(self.all_read_at, fresh_as_of)

    def admit(self, id_: str, events: int) -> bool:
        """Tell whether a filter may have the events of a transaction, and take them out of its bucket."""
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
        """Forget all filters but these."""
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
