"""The one clock: seconds since boot, time in suspend included.

CLOCK_BOOTTIME is never set and does not stop while a laptop or a virtual machine sleeps.
CLOCK_MONOTONIC does stop: after an hour's sleep an entry would look as fresh as before it, and the guarantee
Bounded would be broken.
Source: clock_gettime(2).
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

boottime: Final[Callable[[], float]] = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
"""Returns the seconds since boot, time in suspend included (about 40 ns)."""


def unix_time_of_boot() -> float:
    """Return the Unix time at which `boottime` was zero, by the current wall clock."""
    return time.time() - boottime()  # noqa: TID251 - this is where the two meet


def unix_time() -> float:
    """Return the Unix time of the wall clock, which can be set; for values that other hosts read as well."""
    return time.time()  # noqa: TID251 - cookies expire by this clock
