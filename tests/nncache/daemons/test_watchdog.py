"""What holds the event loop is named, and nothing else is."""

import asyncio
import logging
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
    LoopStats,
    Peak,
    Watchdog,
    holder_of,
)
from tests.patience import HANG_S
from tests.proxy.wire import until


def test_a_beat_that_is_late_was_held_back_by_what_runs() -> None:
    """Counted from when it was due, and from the next beat anew."""
    lateness = Lateness(0.0, 0.0)
    held = [lateness.look(step * LOOK_S, 0.0, 0.0) for step in range(1, 9)]
    assert held[0] == 0.0
    assert held[-1] == pytest.approx(8 * LOOK_S - BEAT_S)
    assert lateness.look(9 * LOOK_S, 0.0, 8.5 * LOOK_S) == 0.0


@pytest.mark.parametrize(
    ("used_s", "is_held"),
    [(0.0, False), (0.05, False), (5.0, True)],
    ids=["stopped or asleep", "too busy a machine", "C code that holds the interpreter"],
)
def test_what_stops_the_thread_that_looks_as_well_is_excused(used_s: float, is_held: bool) -> None:
    """Unless the loop's thread has used the processor for all that time."""
    lateness = Lateness(0.0, 0.0)
    assert lateness.look(LOOK_S, 0.0, 0.0) == 0.0
    assert (lateness.look(LOOK_S + 5.0, used_s, 0.0) > HELD_S) is is_held
    assert lateness.look(2 * LOOK_S + 5.0, used_s, LOOK_S + 5.0) == 0.0


def test_a_peak_is_told_for_a_period_and_forgotten_after_two() -> None:
    """A scrape in each period sees it, however many scrape."""
    peak = Peak(0.0)
    seen = []
    for tenth in range(1, 31):
        peak.add(tenth / 10 * PEAK_S, 3.0 if tenth == 5 else 1.0)
        seen.append(peak.largest)
    assert seen == [1.0] * 4 + [3.0] * 15 + [1.0] * 11
    assert Peak(0.0).largest == 0.0


def test_functions_are_named_from_the_innermost_up_to_the_runner() -> None:
    """A loop that waits for events runs none."""
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
    """Hold the loop until that is noticed."""
    deadline = time.monotonic() + HANG_S
    while watchdog.stats().stalls < stalls and time.monotonic() < deadline:
        pass


def test_what_holds_the_loop_is_named_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """And what follows soon is counted in the next line."""
    watchdog = Watchdog()
    assert watchdog.stats() == LoopStats()

    async def scene() -> None:
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
        runner.run(scene())
    assert watchdog.stats().stalls >= 2
    assert watchdog.stats().stalled_s > 2 * HELD_S
    assert watchdog.stats().lag_max_s > HELD_S
    assert "_hold (daemons/test_watchdog.py:" in caplog.messages[0]
