"""Background work: reclaim the memory of forgotten entries, and collect garbage."""

import asyncio
import gc
from collections.abc import Callable

SLICE_ITEMS = 500
"""Items reclaimed in one slice: well under a millisecond, so that requests are not delayed."""

IDLE_S = 0.05
"""Seconds between two checks for detached parts. Until they are reclaimed, they count as used bytes."""

THRESHOLDS = (5_000, 5, 2**30)
"""Thresholds of the collector's generations; Python's defaults are 700, 10, 10. `tend_collector` does the oldest.

The cache creates no reference cycles, so its objects are freed with their last reference, and the collector finds no
garbage among them. Each scan still costs time: a full collection with 1,000,000 statuses blocks the event loop for
about half a second.
"""

TEND_S = 0.25
"""Seconds between two scans of `tend_collector`. 5,000 fills a second leave about 10,000 objects in that time."""


def calm_collector() -> None:
    """Exclude objects that live as long as the process from garbage collection. Call it once, after start.

    After `freeze` no collection scans modules, classes and tables again: about 100,000 objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


async def tend_collector() -> None:
    """Scan the objects that have grown old since the last scan, and exclude them from later scans. Never returns.

    So each scan costs only what is new: a few milliseconds. A cycle that is in use during its scan, and becomes garbage
    later, is not found. On uvloop connections and flights create no cycles (tests/test_housekeeping.py).
    """
    while True:
        await asyncio.sleep(TEND_S)
        if gc.get_count()[2]:
            gc.collect()
            gc.freeze()


async def reclaim_in_slices(reclaim: Callable[[int], bool]) -> None:
    """Reclaim the parts that changes have detached, forever. Requests are served between two slices.

    `reclaim` takes the maximum number of items to reclaim, and returns true while more are left.
    """
    while True:
        is_more_left = reclaim(SLICE_ITEMS)
        await asyncio.sleep(0 if is_more_left else IDLE_S)
