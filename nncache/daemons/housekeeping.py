"""Work beside the requests: reclaiming what was forgotten, collecting garbage."""

import asyncio
import gc
from collections.abc import Callable

SLICE_ITEMS = 500
"""Items taken apart at once: well under a millisecond, so that no request notices."""

IDLE_S = 0.05
"""How long detached parts may lie before they are looked for again; they count as used bytes meanwhile."""

THRESHOLDS = (5_000, 5, 2**30)
"""Of the collector's generations; Python's own are 700, 10, 10. The oldest is left to `tend_collector`.

The cache leaves no reference cycles behind, so its objects die when the last reference goes, and the collector
finds nothing among them however often it looks. What it looks at costs, though: a full collection with 1,000,000
statuses holds the loop for about half a second.
"""

TEND_S = 0.25
"""Between two looks of `tend_collector`: 5,000 fills a second leave about 10,000 objects behind in that time."""


def calm_collector() -> None:
    """Spare the collector what lives as long as the process; call it once, when all is built.

    After `freeze` no collection looks at modules, classes and tables again: about 100,000 objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


async def tend_collector() -> None:
    """Look once at all that has grown old since the last look, forever, and then never again.

    So each look costs what is new, a few milliseconds, and not what is kept. A cycle that is still in use when it is
    looked at, and dies later, is not found: on uvloop connections and flights make none (tests/
    test_housekeeping.py).
    """
    while True:
        await asyncio.sleep(TEND_S)
        if gc.get_count()[2]:
            gc.collect()
            gc.freeze()


async def reclaim_in_slices(reclaim: Callable[[int], bool]) -> None:
    """Take apart what changes have detached, forever; requests go first between any two slices.

    `reclaim` takes apart at most so many items, and returns true while more is left.
    """
    while True:
        is_more_left = reclaim(SLICE_ITEMS)
        await asyncio.sleep(0 if is_more_left else IDLE_S)
