"""Timeouts of tests: a test may fail because something hangs, never because the machine is busy."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

HANG_S: Final = 60.0
"""Seconds after which something must be hanging, on any machine."""

SLACK_S: Final = 15.0
"""Seconds that a busy machine may add to a bounded wait."""


def until(is_so: Callable[[], object], state: Callable[[], object] = lambda: "it never is so") -> float:
    """Poll until the condition holds; return the time in seconds. `state` is the message of a timeout."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < HANG_S, state()
        time.sleep(0.01)
    return time.monotonic() - began


async def until_so(is_so: Callable[[], bool | Awaitable[bool]]) -> None:
    """Do the same on an event loop, for a condition without notification."""
    async with asyncio.timeout(HANG_S):
        while not (await found if isinstance(found := is_so(), Awaitable) else found):  # noqa: ASYNC110 - as said
            await asyncio.sleep(0.01)
