"""Name the code that blocks the event loop: while it is blocked, no request is answered and no change is applied.

The loop sets a heartbeat. A thread checks it, and when a beat is late, reads the stack of the loop's thread. Requests
cost no more. Code is named only for time in which the loop's thread ran or was blocked. While the thread was ready to
run but other processes had the processors, its current line is not the cause.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple, NoReturn

_log = logging.getLogger(__name__)

HELD_S: Final = 0.1
"""The event loop is stalled if it is held for longer than this."""

BEAT_S: Final = 0.025
LOOK_S: Final = 0.025
LOG_EVERY_S: Final = 10.0
"""Seconds between two lines that name code. Stalls in between are counted in the next line."""

BUSY_EVERY_S: Final = 600.0
"""Seconds between two lines about a busy machine."""

HANG_S: Final = 5.0
"""A stall of this many seconds is logged before it ends."""

PEAK_S: Final = 60.0
"""The largest lag is reported for one to two times this many seconds, which is longer than a scrape interval."""

_FRAMES_NAMED: Final = 6
_SCHEDSTAT_BYTES: Final = 80
"""More than the three 64-bit counters take as text."""


@dataclass(frozen=True, slots=True)
class LoopStats:
    """Stalls of the event loop since start, and its current lag."""

    stalls: int = 0
    stalled_s: float = 0.0
    lag_s: float = 0.0
    """The lag of the last beat."""
    lag_max_s: float = 0.0
    """The largest lag in the last `PEAK_S`."""


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """The times of a thread since its start.

    Attributes:
        ran_s: time on a processor.
        waited_s: time ready to run while other threads had the processors; 0 if the kernel does not count it.
    """

    ran_s: float
    waited_s: float


class LoopStall(NamedTuple):
    """The duration of a stall of the loop.

    Attributes:
        for_s: the total time.
        by_code_s: the total time less the time for which the loop's thread waited for a processor.
    """

    for_s: float
    by_code_s: float


_NOT_HELD: Final = LoopStall(0.0, 0.0)


class Peak:
    """The largest value in the current and the previous period of `PEAK_S`."""

    def __init__(self, now: float) -> None:
        self._begun = now
        self._largest = 0.0
        self._before = 0.0

    def add(self, now: float, figure: float) -> None:
        """Add a value. Callers add at least one in each period."""
        if now - self._begun >= PEAK_S:
            self._begun, self._before, self._largest = now, self._largest, 0.0
        self._largest = max(self._largest, figure)

    @property
    def largest(self) -> float:
        """The largest value; 0 if there is none."""
        return max(self._before, self._largest)


class Lateness:
    """Measures how long the loop's thread itself has blocked the loop.

    If the process is stopped, or the machine asleep or too busy, the watching thread is late as well, and the loop's
    thread has used no processor time. If C code holds the interpreter lock, it has used processor time.

    The kernel counts a wait for a processor when the wait ends, so `by_code_s` is exact only after the next beat.
    """

    def __init__(self, now: float, times: "ThreadTimes") -> None:
        """Start at `now`; `times` are the times of the loop's thread."""
        self._looked_at = now
        self._times = times
        self._beaten_at = now
        self._excused_s = 0.0  # since that beat
        self._waited_s = times.waited_s  # at the last check before that beat
        self._late_s = 0.0  # lateness of the next beat, at the last check

    def look(self, now: float, times: "ThreadTimes", beaten_at: float) -> "LoopStall":
        """Return the stall that delays the next beat; 0 seconds if the beat is not due yet."""
        late_s = now - self._looked_at - LOOK_S
        used_s = times.ran_s - self._times.ran_s
        if beaten_at != self._beaten_at:
            self._beaten_at, self._excused_s, self._waited_s = beaten_at, 0.0, self._times.waited_s
        self._excused_s += max(0.0, late_s - used_s)
        self._looked_at, self._times = now, times
        self._late_s = now - beaten_at - BEAT_S
        return LoopStall(max(0.0, self._late_s - self._excused_s), self.by_code_s(times))

    def by_code_s(self, times: "ThreadTimes") -> float:
        """Return the seconds up to the last check for which code is to blame. `times` may be from after that check."""
        return max(0.0, self._late_s - max(self._excused_s, times.waited_s - self._waited_s))


class Watchdog:
    """Watches the event loop on which `run` runs."""

    def __init__(self) -> None:
        self._beaten_at = 0.0  # written by the loop, read by the thread
        self._lag_s = 0.0
        self._peak = Peak(0.0)
        self._stop = threading.Event()
        self._stalls = 0  # only the thread writes this and the following
        self._stalled_s = 0.0
        self._held = _NOT_HELD  # the stall that the holder causes
        self._holder = ""  # the code that blocks the loop now
        self._is_logged = False  # whether this stall was logged
        self._code = _Seldom(LOG_EVERY_S)
        self._busy = _Seldom(BUSY_EVERY_S)

    def stats(self) -> LoopStats:
        """Return the figures so far."""
        return LoopStats(self._stalls, self._stalled_s, self._lag_s, self._peak.largest)

    async def run(self) -> NoReturn:
        """Watch until cancelled."""
        self._beaten_at = time.monotonic()
        self._peak = Peak(self._beaten_at)
        self._stop.clear()
        thread = threading.Thread(
            target=self._watch,
            args=(threading.get_ident(), threading.get_native_id()),
            name="watchdog",
            daemon=True,
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

    def _watch(self, loop_thread: int, native_id: int) -> None:
        with _times_of(loop_thread, native_id) as times:
            self._look(loop_thread, times)

    def _look(self, loop_thread: int, times_now: Callable[[], ThreadTimes]) -> None:
        lateness = Lateness(time.monotonic(), times_now())
        while not self._stop.wait(LOOK_S):
            now, times = time.monotonic(), times_now()
            by_code_s = lateness.by_code_s(times)
            held = lateness.look(now, times, self._beaten_at)
            if held.for_s <= HELD_S:
                self._held = LoopStall(self._held.for_s, by_code_s)
                self._end(now)
            elif self._holder:
                self._stalled_s += held.for_s - self._held.for_s
                self._held = held
            elif holder := holder_of(sys._current_frames().get(loop_thread)):  # noqa: SLF001 - documented, for this
                self._holder, self._held = holder, held
                self._stalls += 1
                self._stalled_s += held.for_s
            if self._held.for_s > HANG_S:
                self._say(now, "the event loop has been held for")

    def _end(self, now: float) -> None:
        if self._holder:
            self._say(now, "the event loop was held for")
            self._holder, self._held, self._is_logged = "", _NOT_HELD, False

    def _say(self, now: float, what: str) -> None:
        if self._is_logged:
            return
        self._is_logged = True
        for_s, by_code_s = self._held
        if by_code_s > HELD_S:
            self._code.warn(
                now,
                f"{what} {by_code_s:.2f} s, requests waited; please report where: {self._holder}",
            )
        else:
            self._busy.warn(
                now,
                f"the machine is busy: {what} {for_s:.2f} s, for most of which it waited for a "
                "processor, and requests with it; have fewer processes on this host, or more processors",
            )


class _Seldom:
    """A rate-limited warning. Warnings that come too soon are counted in the next line."""

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s
        self._quiet_until = float("-inf")
        self._left_out = 0

    def warn(self, now: float, text: str) -> None:
        """Write the line, or count it."""
        if now < self._quiet_until:
            self._left_out += 1
            return
        more = f" ({self._left_out} more like this since the last line)" if self._left_out else ""
        self._quiet_until, self._left_out = now + self._every_s, 0
        _log.warning("%s%s", text, more)


@contextmanager
def _times_of(ident: int, native_id: int) -> Iterator[Callable[[], ThreadTimes]]:
    """Yield a function that reads the times of a thread. Its wait is the second field of schedstat (proc(5)).

    The file stays open: each system call makes the watching thread release the interpreter lock and take it again.
    """
    cpu_clock = time.pthread_getcpuclockid(ident)
    with ExitStack() as close:
        schedstat = -1  # not Linux, or a kernel without CONFIG_SCHED_INFO
        with suppress(OSError):
            path = Path(f"/proc/self/task/{native_id}/schedstat")
            schedstat = close.enter_context(path.open("rb", buffering=0)).fileno()

        def times() -> ThreadTimes:
            try:
                waited_s = int(os.pread(schedstat, _SCHEDSTAT_BYTES, 0).split()[1]) / 1e9
            except (OSError, ValueError, IndexError):
                waited_s = 0.0
            return ThreadTimes(time.clock_gettime(cpu_clock), waited_s)

        yield times


def holder_of(frame: FrameType | None) -> str:
    """Return the innermost functions that run on an event loop, as text; "" if there is none."""
    names: list[str] = []
    while frame is not None and not frame.f_code.co_filename.endswith("/asyncio/runners.py"):
        place = "/".join(frame.f_code.co_filename.split("/")[-2:])
        names.append(f"{frame.f_code.co_qualname} ({place}:{frame.f_lineno})")
        frame = frame.f_back
    return ", called by ".join(names[:_FRAMES_NAMED])
