"""The pause before the next attempt."""

from typing import Final

SETTLED_S: Final = 5.0
"""Seconds after which a run counts as a success: the next attempt follows immediately."""

NOT_PERMITTED_RETRY_S: Final = 10.0
"""Seconds between attempts if only an administrator can help."""


class Backoff:
    """The first retry is immediate; later pauses double up to a limit. Jitter spreads the retries of many proxies."""

    def __init__(self, first_s: float = 0.05, limit_s: float = 1.0) -> None:
        self._first_s = first_s
        self._limit_s = limit_s
        self.failures = 0  # in a row

    def failed(self, chance: float) -> float:
        """Return the seconds to wait now; `chance`, from 0 to 1, is the jitter."""
        self.failures += 1
        if self.failures == 1:
            return 0.0
        full = min(self._limit_s, self._first_s * 2.0 ** min(self.failures - 2, 32))
        return full * (0.5 + 0.5 * chance)

    def succeeded(self) -> None:
        """Start again: the next retry is immediate."""
        self.failures = 0
