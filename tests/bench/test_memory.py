"""The benchmark of memory: what it asks for, what it measures, and when it fails."""

import asyncio
from dataclasses import replace

import pytest

from nncache.bench.memory import MAX_RESIDENT, SHAPES, Filled, Turns, faults_of, fill, poll, resident

GOOD = Filled(
    entries=1_000_000,
    counted=1_000_000_000,
    resident=1_100_000_000,
    filling=(0.05, 9.0),
    forgetting=(0.003, 9.0),
    forgetting_took_s=9.0,
    left=0,
)


async def test_what_was_filled_is_held_and_forgotten() -> None:
    """Each status is served once from memory, and nothing is left afterwards."""
    done = await fill(SHAPES[0], 300)
    assert done.entries == 300
    assert done.counted > 300 * 800
    assert done.left < 10_000
    assert 0 < done.forgetting[0] < done.resident
    assert resident() > 10_000_000


async def test_paths_polled_in_turn_take_the_quick_way_from_the_third_round_on() -> None:
    """One round fetches, one is served from memory."""
    assert await poll(200, 4) == [0.0, 0.0, 1.0, 1.0]


async def test_a_long_turn_of_the_loop_is_seen() -> None:
    """By its CPU time."""
    turns = Turns()
    await asyncio.sleep(0)
    sum(range(1_000_000))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    turns.stop()
    assert 0.001 < turns.longest_cpu_s <= turns.longest_wall_s + 0.001


@pytest.mark.parametrize(
    "bad",
    [
        {"resident": MAX_RESIDENT + 1},
        {"counted": 800_000_000},
        {"entries": 999_999},
        {"filling": (0.2, 0.2)},
        {"forgetting": (0.011, 0.011)},
        {"left": 2_000_000},
    ],
)
def test_each_figure_that_falls_short_is_a_fault(bad: dict[str, object]) -> None:
    """And wall time is none: others may be at work."""
    assert faults_of(SHAPES[0], 1_000_000, GOOD) == []
    assert len(faults_of(SHAPES[0], 1_000_000, replace(GOOD, **bad))) == 1  # type: ignore[arg-type] # any field
