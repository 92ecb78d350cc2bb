"""How long a client may take over a body, in either direction. (proxy/patience.py)"""

from typing import Final

from proxy.limits import LimitSettings

_LEAST_S: Final = 0.001  # less is none: sums of floats never come down to 0 by themselves


class Patience:
    """Time spent waiting for one client: `body_timeout_s`, and a second for each `min_body_rate_bytes_s` moved."""

    __slots__ = ("_grace_s", "_rate_bytes_s", "moved_bytes", "waited_s")

    def __init__(self, limits: LimitSettings) -> None:
        self._grace_s = limits.body_timeout_s
        self._rate_bytes_s = limits.min_body_rate_bytes_s
        self.waited_s = 0.0
        self.moved_bytes = 0

    @property
    def left_s(self) -> float:
        """Return the seconds for which the client may be waited for now."""
        left_s = self._grace_s + self.moved_bytes / self._rate_bytes_s - self.waited_s
        return left_s if left_s >= _LEAST_S else 0.0
