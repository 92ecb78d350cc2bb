"""Work beside the requests: taking detached parts of the cache apart, the collector. (nncache/housekeeping.py)"""

import asyncio
import gc
from typing import Protocol

SLICE_ITEMS = 500
"""Items taken apart at once: well under a millisecond, so that no request notices."""

IDLE_S = 0.05
"""How long detached parts may lie before they are looked for again; they count as used bytes meanwhile."""

THRESHOLDS = (5_000, 5, 50)
"""Of the collector's generations; Python's own are 700, 10, 10.

The cache leaves no reference cycles behind, so its objects die when the last reference goes, and the collector
finds nothing among them however often it looks. What it looks at costs, though. Filling 300,000 entries
(CPython 3.11): with Python's own thresholds 8 full collections, the longest of which stopped the loop for 0.35 s,
1.2 s in all; with these and after `calm_collector` none, the longest stop 6 ms, 0.2 s in all.
Cycles come from exceptions and connections. Those that die old wait for a full collection, hence for at most
5,000 * 6 * 51 objects (about 150 MB) more than there were after the last.
"""


class Reclaimable(Protocol):
    """What is taken apart in slices."""

    def reclaim(self, max_items: int) -> bool:
        """Take apart at most so many items; true while more is left."""
        ...


def calm_collector() -> None:
    """Spare the collector what lives as long as the process; call it once, when all is built.

    After `freeze` no collection looks at modules, classes and tables again: about 100,000 objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


async def reclaim_in_slices(cache: Reclaimable) -> None:
    """Take apart what changes have detached, forever; requests go first between any two slices."""
    while True:
        is_more_left = cache.reclaim(SLICE_ITEMS)
        await asyncio.sleep(0 if is_more_left else IDLE_S)
