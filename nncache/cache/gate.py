"""How fresh the cache is known to be."""

import math


class FreshnessGate:
    """Open while the cache is known to hold every change acknowledged up to `max_staleness_s` ago.

    The guarantee Bounded: no clock but the caller's own is used, and nothing opens the gate but an
    end-to-end proof (see `cover`), so whatever breaks upstream closes it by itself.

    Invariants:
        G1  Every change acknowledged before `fresh_as_of` has been applied.
        G2  Every change that a reply given before `seen_as_of` may show has been applied, acknowledged or not.
        G3  Neither ever goes back but by `reset`.
    """

    __slots__ = ("covered_txid", "fresh_as_of", "max_staleness_s", "seen_as_of")

    def __init__(self, max_staleness_s: float) -> None:
        self.max_staleness_s = max_staleness_s
        self.fresh_as_of = -math.inf  # seconds of the caller's clock
        self.seen_as_of = -math.inf  # the same
        self.covered_txid = -1  # last transaction known to be applied

    def cover(self, as_of: float, txid: int, seen_as_of: float) -> None:
        """Take note that all acknowledged before `as_of`, and all shown before `seen_as_of`, has been applied."""
        self.fresh_as_of = max(self.fresh_as_of, as_of)
        self.covered_txid = max(self.covered_txid, txid)
        self.seen_as_of = max(self.seen_as_of, seen_as_of)

    def reset(self) -> None:
        """Trust nothing until the next `cover`."""
        self.fresh_as_of = self.seen_as_of = -math.inf
        self.covered_txid = -1

    def is_open(self, now: float) -> bool:
        """Whether an entry may be served at `now`."""
        return now - self.fresh_as_of <= self.max_staleness_s
