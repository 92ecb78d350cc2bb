"""How long a test waits: it may fail because something hangs, never because the machine is busy."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

HANG_S: Final = 60.0
"""Only what hangs takes so long, on whatever machine."""

SLACK_S: Final = 15.0
"""What a busy machine may add to a wait that has an end of its own."""


def until(is_so: Callable[[], object], state: Callable[[], object] = lambda: "it never is so") -> float:
    """Ask until it is so, and return how long that took; `state` is said of what hangs."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < HANG_S, state()
        time.sleep(0.01)
    return time.monotonic() - began


async def until_so(is_so: Callable[[], bool | Awaitable[bool]]) -> None:
    """The same on an event loop: what makes it so tells nobody here."""
    async with asyncio.timeout(HANG_S):
        while not (await found if isinstance(found := is_so(), Awaitable) else found):  # noqa: ASYNC110 - as said
            await asyncio.sleep(0.01)
