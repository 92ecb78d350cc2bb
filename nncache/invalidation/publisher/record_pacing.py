"""When to publish the next record.

Sans-I/O. A change after a quiet time is published at once. Under load, records are spaced out and each carries more:
the write rate is bounded by time, not by what happens in HDFS.
"""

from typing import Final

from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.net.token_bucket import TokenBucket

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
