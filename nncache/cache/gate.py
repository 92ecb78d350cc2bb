"""The freshness gate of the cache."""

import math


class FreshnessGate:
    """Open while every change acknowledged more than `max_staleness_s` ago is known to be applied.

    Keeps the guarantee Bounded. It uses the caller's clock only, and only an end-to-end proof opens it (see
    `cover`), so any upstream failure closes it without being detected.

    Invariants:
        G1  Every change acknowledged before `fresh_as_of` has been applied.
        G2  Every change that a reply given before `seen_as_of` may show has been applied, acknowledged or not.
        G3  Neither time decreases, except by `reset`.
    """

    __slots__ = ("covered_txid", "fresh_as_of", "max_staleness_s", "seen_as_of")

    def __init__(self, max_staleness_s: float) -> None:
        self.max_staleness_s = max_staleness_s
        self.fresh_as_of = -math.inf  # seconds of the caller's clock
        self.seen_as_of = -math.inf  # the same
        self.covered_txid = -1  # last transaction known to be applied

    def cover(self, as_of: float, txid: int, seen_as_of: float) -> None:
        """Record that all changes acknowledged before `as_of`, and all visible before `seen_as_of`, are applied."""
        self.fresh_as_of = max(self.fresh_as_of, as_of)
        self.covered_txid = max(self.covered_txid, txid)
        self.seen_as_of = max(self.seen_as_of, seen_as_of)

    def reset(self) -> None:
        """Close the gate until the next `cover`."""
        self.fresh_as_of = self.seen_as_of = -math.inf
        self.covered_txid = -1

    def is_open(self, now: float) -> bool:
        """Whether an entry may be served at `now`."""
        return now - self.fresh_as_of <= self.max_staleness_s
