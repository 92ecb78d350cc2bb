"""Znodes that kill their process before or after a transaction, and znodes that let other tasks run first."""

import asyncio
import os
import random
import signal
from collections.abc import Sequence

from nncache.coordination.zookeeper import Znode, ZnodeOp, Znodes


class KillingZnodes:
    """Counts transactions, and kills the process before or after a chosen one."""

    def __init__(self, znodes: Znodes) -> None:
        self.commits = 0
        self.kill_at: int | None = None  # the transaction's number, counted from the last reset of `commits`
        self.kill_after = False
        self._znodes = znodes

    def die(self) -> None:
        """Kill this process."""
        os.kill(os.getpid(), signal.SIGKILL)

    async def get(self, path: str) -> Znode:
        """Forward the call."""
        return await self._znodes.get(path)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Forward the call."""
        return await self._znodes.get_many(paths)

    async def children(self, path: str) -> tuple[str, ...]:
        """Forward the call."""
        return await self._znodes.children(path)

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Forward the call, or kill the process."""
        is_last = self.commits == self.kill_at
        if is_last and not self.kill_after:
            self.die()
        await self._znodes.commit(operations)
        self.commits += 1
        if is_last:
            self.die()


class RacingZnodes(KillingZnodes):
    """Yields to other tasks before some calls, as a network would."""

    def __init__(self, znodes: Znodes, rng: random.Random) -> None:
        super().__init__(znodes)
        self._rng = rng
        self.refused = 0

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Yield at random, then read all paths at one moment."""
        await self._wait()
        return await super().get_many(paths)

    async def children(self, path: str) -> tuple[str, ...]:
        """Yield at random, then read."""
        await self._wait()
        return await super().children(path)

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Yield at random, then commit."""
        await self._wait()
        await super().commit(operations)

    async def _wait(self) -> None:
        for _ in range(self._rng.choice((0, 0, 1, 2, 5))):
            await asyncio.sleep(0)
