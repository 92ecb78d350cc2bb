"""The time that a client may take over a body, in either direction."""

from typing import Final

from nncache.proxy.limits import LimitSettings

_LEAST_S: Final = 0.001  # smaller values count as 0, which sums of floats do not reach exactly


class Patience:
    """The time limit for waiting on one client, `body_timeout_s` at first and at most.

    Each `min_body_rate_bytes_s` bytes that are transferred restore one second of it.

    Attributes:
        left_s: seconds left to wait for the client.
    """

    __slots__ = ("_grace_s", "_rate_bytes_s", "left_s")

    def __init__(self, limits: LimitSettings) -> None:
        self._grace_s = limits.body_timeout_s
        self._rate_bytes_s = limits.min_body_rate_bytes_s
        self.left_s = self._grace_s

    @property
    def spent_s(self) -> float:
        """Seconds used up and not restored."""
        return self._grace_s - self.left_s

    def spend(self, waited_s: float, moved_bytes: int) -> None:
        """Record a wait, and the number of bytes transferred by its end."""
        left_s = self.left_s - waited_s + moved_bytes / self._rate_bytes_s
        self.left_s = min(self._grace_s, left_s) if left_s >= _LEAST_S else 0.0
