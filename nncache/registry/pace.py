"""How fast one client changes the registry.

The design asks for it: ZooKeeper writes each change to the disks of all its servers, for all its users.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from nncache.net.token_bucket import TokenBucket

BURST_S: Final = 10.0
"""How many seconds' worth of changes may come at once."""


class Pace:
    """Lets so many changes a second begin, in the order in which they ask."""

    def __init__(
        self,
        per_s: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bucket = TokenBucket(per_s, per_s * BURST_S, clock())
        self._clock = clock
        self._sleep = sleep

    async def turn(self) -> None:
        """Return when one more change may begin."""
        now = self._clock()
        wait_s = self._bucket.ready_at(1.0) - now
        self._bucket.charge(1.0, now)
        if wait_s > 0.0:
            await self._sleep(wait_s)
