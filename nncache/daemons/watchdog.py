"""Name what holds the event loop, since nothing is answered or applied meanwhile.

The loop beats; a thread looks whether it does, and if not, what the loop's thread is doing. Requests cost nothing more.
Code is named only for time in which the loop's thread ran or was blocked. While it was ready to run and other
processes had the processors, whatever line it stood at is no cause.
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
"""For longer than this the loop must not be held."""

BEAT_S: Final = 0.025
LOOK_S: Final = 0.025
LOG_EVERY_S: Final = 10.0
"""Between two lines that name code; what falls in between is counted in the next."""

BUSY_EVERY_S: Final = 600.0
"""Between two lines about a busy machine."""

HANG_S: Final = 5.0
"""After which a line is written although the loop is still held."""

PEAK_S: Final = 60.0
"""The largest lag is reported for at least this time, and at most twice as long: longer than between two scrapes."""

_FRAMES_NAMED: Final = 6
_SCHEDSTAT_BYTES: Final = 80
"""More than three counters of 64 bits."""


@dataclass(frozen=True, slots=True)
class LoopStats:
    """What the event loop was held for since the start."""

    stalls: int = 0
    stalled_s: float = 0.0
    lag_s: float = 0.0
    """How late the last beat was."""
    lag_max_s: float = 0.0
    """How late any was in the last `PEAK_S`."""


@dataclass(frozen=True, slots=True)
class ThreadTimes:
    """What a thread has done with its time since it began.

    Attributes:
        ran_s: on a processor.
        waited_s: ready to run, while others had the processors; 0 where the kernel does not count it.
    """

    ran_s: float
    waited_s: float


class LoopStall(NamedTuple):
    """How long the loop has been held.

    Attributes:
        for_s: in all.
        by_code_s: without the time for which its thread waited for a processor.
    """

    for_s: float
    by_code_s: float


_NOT_HELD: Final = LoopStall(0.0, 0.0)


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

    The kernel adds a wait for a processor when it ends, so what code is charged with is right after the next beat.
    """

    def __init__(self, now: float, times: "ThreadTimes") -> None:
        """Begin now; `times` are those of the loop's thread."""
        self._looked_at = now
        self._times = times
        self._beaten_at = now
        self._excused_s = 0.0  # since that beat
        self._waited_s = times.waited_s  # at the last look before it
        self._late_s = 0.0  # the next one, at the last look

    def look(self, now: float, times: "ThreadTimes", beaten_at: float) -> "LoopStall":
        """Return for how long the next beat has been held back; 0 if it is not due yet."""
        late_s = now - self._looked_at - LOOK_S
        used_s = times.ran_s - self._times.ran_s
        if beaten_at != self._beaten_at:
            self._beaten_at, self._excused_s, self._waited_s = beaten_at, 0.0, self._times.waited_s
        self._excused_s += max(0.0, late_s - used_s)
        self._looked_at, self._times = now, times
        self._late_s = now - beaten_at - BEAT_S
        return LoopStall(max(0.0, self._late_s - self._excused_s), self.by_code_s(times))

    def by_code_s(self, times: "ThreadTimes") -> float:
        """Return for how much of the time up to the last look code is to blame, by times that may be later ones."""
        return max(0.0, self._late_s - max(self._excused_s, times.waited_s - self._waited_s))


class Watchdog:
    """Watches the loop that `run` runs on."""

    def __init__(self) -> None:
        self._beaten_at = 0.0  # written by the loop, read by the thread
        self._lag_s = 0.0
        self._peak = Peak(0.0)
        self._stop = threading.Event()
        self._stalls = 0  # the rest is the thread's
        self._stalled_s = 0.0
        self._held = _NOT_HELD  # by what is named
        self._holder = ""  # what holds the loop now
        self._is_logged = False  # of that
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
                self._say(now, "has been held")

    def _end(self, now: float) -> None:
        if self._holder:
            self._say(now, "was held")
            self._holder, self._held, self._is_logged = "", _NOT_HELD, False

    def _say(self, now: float, what: str) -> None:
        if self._is_logged:
            return
        self._is_logged = True
        for_s, by_code_s = self._held
        if by_code_s > HELD_S:
            self._code.warn(
                now,
                f"the event loop {what} for {by_code_s:.2f} s, requests waited; please report where: {self._holder}",
            )
        else:
            self._busy.warn(
                now,
                f"the machine is busy: the event loop {what} for {for_s:.2f} s, for most of which it waited for a "
                "processor, and requests with it; have fewer processes on this host, or more processors",
            )


class _Seldom:
    """One kind of warning; what comes too soon is counted in the next."""

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
    """Yield what reads them of a thread of this process; its wait is the second field of schedstat (proc(5)).

    The file stays open: each system call of the thread that looks hands the interpreter's lock to and fro.
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
    """Name the innermost functions that run on an event loop; "" if none does."""
    names: list[str] = []
    while frame is not None and not frame.f_code.co_filename.endswith("/asyncio/runners.py"):
        place = "/".join(frame.f_code.co_filename.split("/")[-2:])
        names.append(f"{frame.f_code.co_qualname} ({place}:{frame.f_lineno})")
        frame = frame.f_back
    return ", called by ".join(names[:_FRAMES_NAMED])
