"""A token bucket: a rate, and a burst."""


class TokenBucket:
    """A token bucket in any unit, such as CPU seconds or calls.

    Invariant:
        B1  The charges over any time t are at most burst + per_s * t + one charge.
    """

    __slots__ = ("_burst", "_left", "_per_s", "_updated_at")

    def __init__(self, per_s: float, burst: float, now: float) -> None:
        self._per_s = per_s
        self._burst = burst
        self._left = burst  # at _updated_at
        self._updated_at = now

    def left(self, now: float) -> float:
        """Return the available amount; negative while callers must wait."""
        return min(self._burst, self._left + self._per_s * max(0.0, now - self._updated_at))

    def charge(self, amount: float, now: float) -> None:
        """Remove an amount from the bucket."""
        self._left = self.left(now) - amount
        self._updated_at = max(self._updated_at, now)

    def ready_at(self, wanted: float = 0.0) -> float:
        """Return the time from which this amount is available."""
        return self._updated_at + max(0.0, wanted - self._left) / self._per_s
