"""The clock never stops."""

import time

from nncache.clock import boottime


def test_the_clock_counts_suspended_time() -> None:
    """CLOCK_BOOTTIME is at least CLOCK_MONOTONIC, which leaves suspended time out."""
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    assert boottime() >= before
    assert boottime() <= time.clock_gettime(time.CLOCK_BOOTTIME)
