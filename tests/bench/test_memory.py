"""The benchmark of memory: what it measures, and when it fails."""

import asyncio
from dataclasses import replace

import pytest

from nncache.bench.memory import MAX_RESIDENT, SHAPES, Filled, Turns, fill, judge

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
def test_each_figure_can_fall_short(bad: dict[str, object]) -> None:
    """Wall time can not: others may be at work."""
    assert all(each.is_met for each in judge(SHAPES[0], 1_000_000, GOOD))
    found = judge(SHAPES[0], 1_000_000, replace(GOOD, **bad))  # type: ignore[arg-type] # any field
    assert sum(not each.is_met for each in found) == 1
