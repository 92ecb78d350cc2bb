"""Wait until something has come true on the event loop."""

import asyncio
from collections.abc import Callable

from tests.patience import HANG_S


async def until(rule: Callable[[], bool]) -> None:
    """Return when it is true; only a hang keeps it from that."""
    async with asyncio.timeout(HANG_S):
        while not rule():  # noqa: ASYNC110 - what it looks at tells nobody
            await asyncio.sleep(0.001)
