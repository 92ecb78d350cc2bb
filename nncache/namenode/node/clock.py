"""The time, which a test may move."""

import time


class Clock:
    """Two clocks: one that only goes on, for limits, and the wall clock, for what files show."""

    def __init__(self) -> None:
        self._moved_s = 0.0

    def now(self) -> float:
        """Return seconds since some moment."""
        return time.monotonic() + self._moved_s

    def wall_ms(self) -> int:
        """Return milliseconds since 1970."""
        return int((time.clock_gettime(time.CLOCK_REALTIME) + self._moved_s) * 1000)

    def stamp(self) -> str:
        """Return the wall clock as a NameNode's lease holder has it: 2026-11-28 01:12:42,125+0000."""
        ms = self.wall_ms()
        day = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(ms // 1000))
        return f"{day},{ms % 1000:03}+0000"

    def advance(self, seconds: float) -> None:
        """Move both."""
        self._moved_s += seconds
