"""Detached parts go away in slices, and nobody waits for it."""

import asyncio
import gc
from collections.abc import Iterator

import pytest

from nncache.housekeeping import SLICE_ITEMS, THRESHOLDS, calm_collector, reclaim_in_slices


class Heap:
    """A cache with much to take apart."""

    def __init__(self, items: int) -> None:
        self.items = items
        self.slices: list[int] = []
        self.done = asyncio.Event()

    def reclaim(self, max_items: int) -> bool:
        """Take apart at most so many items."""
        self.slices.append(min(max_items, self.items))
        self.items -= self.slices[-1]
        if not self.items:
            self.done.set()
        return self.items > 0


async def test_a_large_part_is_taken_apart_in_slices_with_others_in_between() -> None:
    """Between two slices the loop runs what else is ready."""
    heap = Heap(items=10 * SLICE_ITEMS)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while not heap.done.is_set():
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        loop = group.create_task(reclaim_in_slices(heap))
        group.create_task(others())
        await heap.done.wait()
        loop.cancel()
    assert max(heap.slices) == SLICE_ITEMS
    assert turns >= len(heap.slices) - 1


@pytest.fixture
def collector() -> Iterator[None]:
    """Put the collector back to what it was."""
    before = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*before)


@pytest.mark.usefixtures("collector")
def test_the_collector_leaves_alone_what_was_there_at_the_start() -> None:
    """What lives as long as the process is not looked at again."""
    calm_collector()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == THRESHOLDS
