"""Clocks that a test may move."""

import time


class Clock:
    """A monotonic clock for limits, and a wall clock for the times of files."""

    def __init__(self) -> None:
        self._moved_s = 0.0

    def now(self) -> float:
        """Return the monotonic clock in seconds."""
        return time.monotonic() + self._moved_s

    def wall_ms(self) -> int:
        """Return the wall clock in milliseconds since 1970."""
        return int((time.clock_gettime(time.CLOCK_REALTIME) + self._moved_s) * 1000)

    def stamp(self) -> str:
        """Return the wall clock as in the name of a NameNode's lease holder: 2026-11-28 01:12:42,125+0000."""
        ms = self.wall_ms()
        day = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ms // 1000))
        return f"{day},{ms % 1000:03}+0000"

    def advance(self, seconds: float) -> None:
        """Move both clocks forward."""
        self._moved_s += seconds
