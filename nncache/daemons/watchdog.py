"""Name what holds the event loop, since nothing is answered or applied meanwhile. (nncache/daemons/watchdog.py)

The loop beats; a thread looks whether it does, and if not, what the loop's thread is doing. Requests cost nothing more.
"""

import asyncio
import logging
import sys
import threading
import time
from dataclasses import dataclass
from types import FrameType
from typing import Final, NoReturn

_log = logging.getLogger(__name__)

HELD_S: Final = 0.1
"""For longer than this the loop must not be held."""

BEAT_S: Final = 0.025
LOOK_S: Final = 0.025
LOG_EVERY_S: Final = 10.0
"""Between two lines; what falls in between is counted in the next."""

HANG_S: Final = 5.0
"""After which a line is written although the loop is still held."""

PEAK_S: Final = 60.0
"""For at least so long, and at most twice as long, the largest lag is told: longer than from one scrape to the next."""

_FRAMES_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class LoopStats:
    """What the event loop was held for since the start."""

    stalls: int = 0
    stalled_s: float = 0.0
    lag_s: float = 0.0
    """How late the last beat was."""
    lag_max_s: float = 0.0
    """How late any was in the last `PEAK_S`."""


class Peak:
    """The largest figure of this period of `PEAK_S` and of the one before."""

    def __init__(self, now: float) -> None:
        self._begun = now
        self._largest = 0.0
        self._before = 0.0

    def add(self, now: float, figure: float) -> None:
        """Take one more; they come at least once in each period."""
        if now - self._begun >= PEAK_S:
            self._begun, self._before, self._largest = now, self._largest, 0.0
        self._largest = max(self._largest, figure)

    @property
    def largest(self) -> float:
        """Return it; 0 of none."""
        return max(self._before, self._largest)


class Lateness:
    """Tells for how long the loop's thread has held the loop, leaving out what it had no part in.

    When the process is stopped, or the machine asleep or too busy, the thread that looks is late as well, and the
    loop's thread has used no processor meanwhile. When C code holds the interpreter, it has.
    """

    def __init__(self, now: float, cpu_s: float) -> None:
        """Begin now; `cpu_s` is what the loop's thread has used of a processor so far."""
        self._looked_at = now
        self._cpu_s = cpu_s
        self._beaten_at = now
        self._excused_s = 0.0  # since that beat

    def look(self, now: float, cpu_s: float, beaten_at: float) -> float:
        """Return for how many seconds the next beat has been held back; 0 if it is not due yet."""
        late_s = now - self._looked_at - LOOK_S
        used_s = cpu_s - self._cpu_s
        if beaten_at != self._beaten_at:
            self._beaten_at, self._excused_s = beaten_at, 0.0
        self._excused_s += max(0.0, late_s - used_s)
        self._looked_at, self._cpu_s = now, cpu_s
        return max(0.0, now - beaten_at - BEAT_S - self._excused_s)


class Watchdog:
    """Watches the loop that `run` runs on."""

    def __init__(self) -> None:
        self._beaten_at = 0.0  # written by the loop, read by the thread
        self._lag_s = 0.0
        self._peak = Peak(0.0)
        self._stop = threading.Event()
        self._stalls = 0  # the rest is the thread's
        self._stalled_s = 0.0
        self._held_s = 0.0  # by what is named
        self._holder = ""  # what holds the loop now
        self._is_logged = False  # of that
        self._quiet_until = float("-inf")
        self._left_out = 0

    def stats(self) -> LoopStats:
        """Return the figures so far."""
        return LoopStats(self._stalls, self._stalled_s, self._lag_s, self._peak.largest)

    async def run(self) -> NoReturn:
        """Watch until cancelled."""
        self._beaten_at = time.monotonic()
        self._peak = Peak(self._beaten_at)
        self._stop.clear()
        thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="watchdog", daemon=True
        )
        thread.start()
        try:
            while True:
                await asyncio.sleep(BEAT_S)
                now = time.monotonic()
                self._lag_s = max(0.0, now - self._beaten_at - BEAT_S)
                self._peak.add(now, self._lag_s)
                self._beaten_at = now
        finally:
            self._stop.set()
            thread.join()

    def _watch(self, loop_thread: int) -> None:
        cpu_clock = time.pthread_getcpuclockid(loop_thread)
        lateness = Lateness(time.monotonic(), time.clock_gettime(cpu_clock))
        while not self._stop.wait(LOOK_S):
            now = time.monotonic()
            held_s = lateness.look(now, time.clock_gettime(cpu_clock), self._beaten_at)
            if held_s <= HELD_S:
                self._end(now)
            elif self._holder:
                self._stalled_s += held_s - self._held_s
                self._held_s = held_s
            elif holder := holder_of(sys._current_frames().get(loop_thread)):  # noqa: SLF001 - documented, for this
                self._holder, self._held_s = holder, held_s
                self._stalls += 1
                self._stalled_s += held_s
            if self._held_s > HANG_S:
                self._say(now, "has been held")

    def _end(self, now: float) -> None:
        if self._holder:
            self._say(now, "was held")
            self._holder, self._held_s, self._is_logged = "", 0.0, False

    def _say(self, now: float, what: str) -> None:
        if self._is_logged:
            return
        self._is_logged = True
        if now < self._quiet_until:
            self._left_out += 1
            return
        more = f" ({self._left_out} more like this since the last line)" if self._left_out else ""
        self._quiet_until, self._left_out = now + LOG_EVERY_S, 0
        _log.warning(
            "the event loop %s for %.2f s, requests waited; please report where: %s%s",
            what,
            self._held_s,
            self._holder,
            more,
        )


def holder_of(frame: FrameType | None) -> str:
    """Name the innermost functions that run on an event loop; "" if none does."""
    names: list[str] = []
    while frame is not None and not frame.f_code.co_filename.endswith("/asyncio/runners.py"):
        place = "/".join(frame.f_code.co_filename.split("/")[-2:])
        names.append(f"{frame.f_code.co_qualname} ({place}:{frame.f_lineno})")
        frame = frame.f_back
    return ", called by ".join(names[:_FRAMES_NAMED])
