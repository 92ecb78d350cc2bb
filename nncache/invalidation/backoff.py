"""How long to wait before trying again."""

from typing import Final

SETTLED_S: Final = 5.0
"""A run that lasted as long as this was a good one: the next attempt is made at once."""

NOT_PERMITTED_RETRY_S: Final = 10.0
"""How long to wait when only an administrator can help."""


class Backoff:
    """First at once, then twice as long each time up to a limit; chance spreads many proxies apart."""

    def __init__(self, first_s: float = 0.05, limit_s: float = 1.0) -> None:
        self._first_s = first_s
        self._limit_s = limit_s
        self.failures = 0  # in a row

    def failed(self, chance: float) -> float:
        """Return the seconds to wait now, given `chance` from 0 to 1."""
        self.failures += 1
        if self.failures == 1:
            return 0.0
        full = min(self._limit_s, self._first_s * 2.0 ** min(self.failures - 2, 32))
        return full * (0.5 + 0.5 * chance)

    def succeeded(self) -> None:
        """Begin from the start."""
        self.failures = 0
