"""The watchdog names the code that holds the event loop, and nothing else."""

import asyncio
import logging
import subprocess
import sys
import time

import pytest
import uvloop

from nncache.daemons.watchdog import (
    BEAT_S,
    HELD_S,
    LOOK_S,
    PEAK_S,
    Lateness,
    LoopStall,
    LoopStats,
    Peak,
    ThreadTimes,
    Watchdog,
    holder_of,
)
from tests.patience import HANG_S
from tests.proxy.wire import until

IDLE = ThreadTimes(0.0, 0.0)


def test_a_beat_that_is_late_was_held_back_by_what_runs() -> None:
    """The lateness counts from the time the beat was due. It is zero again after the next beat."""
    lateness = Lateness(0.0, IDLE)
    held = [lateness.look(step * LOOK_S, IDLE, 0.0) for step in range(1, 9)]
    assert held[0] == (0.0, 0.0)
    assert held[-1] == pytest.approx((8 * LOOK_S - BEAT_S,) * 2)
    assert lateness.look(9 * LOOK_S, IDLE, 8.5 * LOOK_S) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("used_s", "is_held"),
    [(0.0, False), (0.05, False), (5.0, True)],
    ids=["stopped or asleep", "too busy a machine", "C code that holds the interpreter"],
)
def test_what_stops_the_thread_that_looks_as_well_is_excused(used_s: float, is_held: bool) -> None:
    """Such a delay counts only if the loop's thread used the CPU all that time."""
    lateness, after = Lateness(0.0, IDLE), ThreadTimes(used_s, 0.0)
    assert lateness.look(LOOK_S, IDLE, 0.0) == (0.0, 0.0)
    held = lateness.look(LOOK_S + 5.0, after, 0.0)
    assert (held.for_s > HELD_S, held.by_code_s > HELD_S) == (is_held, is_held)
    assert lateness.look(2 * LOOK_S + 5.0, after, LOOK_S + 5.0) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("ran_s", "waited_s", "by_code_s"),
    [(0.05, 0.9, 0.075), (0.9, 0.05, 0.925), (0.0, 0.0, 0.975)],
    ids=["others had the processors", "code ran", "code was blocked"],
)
def test_code_is_charged_with_no_wait_for_a_processor(
    ran_s: float, waited_s: float, by_code_s: float
) -> None:
    """The kernel accounts for a wait when it ends, at the next beat."""
    before = ThreadTimes(5.0, 5.0)
    lateness = Lateness(0.0, before)
    assert lateness.look(LOOK_S, before, LOOK_S) == (0.0, 0.0)
    held = LoopStall(0.0, 0.0)
    for step in range(1, 41):
        held = lateness.look(LOOK_S * (1 + step), ThreadTimes(5.0 + ran_s * step / 40, 5.0), LOOK_S)
    assert held == pytest.approx((0.975, 0.975))
    assert lateness.by_code_s(ThreadTimes(5.0 + ran_s, 5.0 + waited_s)) == pytest.approx(by_code_s)


_STARVED = r"""
import asyncio, os, subprocess, sys, threading, time
from nncache.daemons.watchdog import Watchdog

async def scene(processor):
    watchdog = Watchdog()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watchdog.run())
        await asyncio.sleep(0)  # the thread that looks may run where it likes
        os.sched_setaffinity(0, processor)
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        deadline = time.monotonic() + 60.0
        while watchdog.stats().stalls < 3 and time.monotonic() < deadline:
            await asyncio.sleep(0)
        task.cancel()
    print(watchdog.stats().stalls)

processor = {min(os.sched_getaffinity(0))}
rival = "import os, sys; os.sched_setaffinity(0, %r)\nwhile True: pass" % processor
with subprocess.Popen((sys.executable, "-c", rival)) as running:
    try:
        asyncio.run(scene(processor))
    finally:
        running.kill()
"""


def test_a_busy_machine_is_named_instead_of_code_and_seldom() -> None:
    """A loop shares a CPU with a process of higher priority: three stalls, one line."""
    done = subprocess.run(
        (sys.executable, "-c", _STARVED), capture_output=True, text=True, check=True, timeout=2 * HANG_S
    )
    assert int(done.stdout) >= 3
    (line,) = done.stderr.splitlines()
    assert line.startswith("the machine is busy: the event loop was held for ")


def test_a_peak_is_shown_for_a_period_and_forgotten_after_two() -> None:
    """One scrape per period sees it, however many scrapers there are."""
    peak = Peak(0.0)
    seen = []
    for tenth in range(1, 31):
        peak.add(tenth / 10 * PEAK_S, 3.0 if tenth == 5 else 1.0)
        seen.append(peak.largest)
    assert seen == [1.0] * 4 + [3.0] * 15 + [1.0] * 11
    assert Peak(0.0).largest == 0.0


def test_functions_are_named_from_the_innermost_up_to_the_runner() -> None:
    """A loop that waits for events has no holder."""
    assert holder_of(None) == ""

    async def outer() -> str:
        def inner() -> str:
            return holder_of(sys._getframe())  # noqa: SLF001 - a frame, as the thread finds it

        return inner()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        first, second = runner.run(outer()).split(", called by ")
    assert "outer.<locals>.inner (daemons/test_watchdog.py:" in first
    assert "outer (daemons/test_watchdog.py:" in second


async def _hold(watchdog: Watchdog, stalls: int) -> None:
    """Hold the loop until the watchdog notices, and use enough CPU time even on a busy machine."""
    deadline, enough_s = time.monotonic() + HANG_S, time.thread_time() + 2 * HELD_S
    while time.monotonic() < deadline:
        if watchdog.stats().stalls >= stalls and time.thread_time() > enough_s:
            break


def test_what_holds_the_loop_is_named_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Stalls soon after are counted in the next line."""
    watchdog = Watchdog()
    assert watchdog.stats() == LoopStats()

    async def fixture() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(watchdog.run())
            await asyncio.sleep(0)
            await _hold(watchdog, 1)
            await until(lambda: len(caplog.messages) == 1 and watchdog.stats().lag_s <= HELD_S)
            await _hold(watchdog, 2)
            await until(lambda: len(caplog.messages) == 1 and watchdog.stats().lag_s <= HELD_S)
            task.cancel()

    caplog.set_level(logging.WARNING)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(fixture())
    assert watchdog.stats().stalls >= 2
    assert watchdog.stats().stalled_s > 2 * HELD_S
    assert watchdog.stats().lag_max_s > HELD_S
    assert "_hold (daemons/test_watchdog.py:" in caplog.messages[0]
