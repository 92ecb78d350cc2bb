"""How long a client may take over a body, in either direction."""

from typing import Final

from nncache.proxy.limits import LimitSettings

_LEAST_S: Final = 0.001  # less is none: sums of floats never come down to 0 by themselves


class Patience:
    """Time that one client may be waited for: at most `body_timeout_s` at once.

    What is spent comes back with what moves, a second for each `min_body_rate_bytes_s`; nothing is saved up.

    Attributes:
        left_s: seconds for which the client may be waited for now.
    """

    __slots__ = ("_grace_s", "_rate_bytes_s", "left_s")

    def __init__(self, limits: LimitSettings) -> None:
        self._grace_s = limits.body_timeout_s
        self._rate_bytes_s = limits.min_body_rate_bytes_s
        self.left_s = self._grace_s

    @property
    def spent_s(self) -> float:
        """Seconds waited that nothing has made up for."""
        return self._grace_s - self.left_s

    def spend(self, waited_s: float, moved_bytes: int) -> None:
        """Take note of a wait and of what has moved by its end."""
        left_s = self.left_s - waited_s + moved_bytes / self._rate_bytes_s
        self.left_s = min(self._grace_s, left_s) if left_s >= _LEAST_S else 0.0
