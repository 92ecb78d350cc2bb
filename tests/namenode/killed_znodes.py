"""Znodes that kill their process before or after a transaction; and such as let others go first."""

import asyncio
import os
import random
import signal
from collections.abc import Sequence

from nncache.coordination.zookeeper import Operation, Znode, Znodes


class KillingZnodes:
    """Counts transactions, and kills the process at one of them, before or after it is carried out."""

    def __init__(self, znodes: Znodes) -> None:
        self.commits = 0
        self.kill_at: int | None = None  # the number of a transaction, counted from now on
        self.kill_after = False
        self._znodes = znodes

    def die(self) -> None:
        """End this process, of which nothing goes on."""
        os.kill(os.getpid(), signal.SIGKILL)

    async def get(self, path: str) -> Znode:
        """Pass it on."""
        return await self._znodes.get(path)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Pass it on."""
        return await self._znodes.get_many(paths)

    async def children(self, path: str) -> tuple[str, ...]:
        """Pass it on."""
        return await self._znodes.children(path)

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Pass it on, or die."""
        is_last = self.commits == self.kill_at
        if is_last and not self.kill_after:
            self.die()
        await self._znodes.commit(operations)
        self.commits += 1
        if is_last:
            self.die()


class RacingZnodes(KillingZnodes):
    """Lets other tasks go first before some of the calls, as a network would."""

    def __init__(self, znodes: Znodes, rng: random.Random) -> None:
        super().__init__(znodes)
        self._rng = rng
        self.refused = 0

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Wait, perhaps; read all at one moment."""
        await self._wait()
        return await super().get_many(paths)

    async def children(self, path: str) -> tuple[str, ...]:
        """Wait, perhaps; read."""
        await self._wait()
        return await super().children(path)

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Wait, perhaps; carry out."""
        await self._wait()
        await super().commit(operations)

    async def _wait(self) -> None:
        for _ in range(self._rng.choice((0, 0, 1, 2, 5))):
            await asyncio.sleep(0)
