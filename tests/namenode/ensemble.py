"""Servers of ZooKeeper in one process, each as far behind as chance has it; sessions with them."""

import asyncio
import random
from collections.abc import Sequence
from typing import Final

from nncache.coordination.acl import OPEN, Acl
from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.errors import ConnectionLostError, NodeExistsError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import Create, Operation, Znode, Znodes
from tests.patience import HANG_S

EMBEDDED: Final = "embedded"
STORES: Final = (EMBEDDED, "ensemble")
"""What a test of a NameNode may run on."""


async def made(store: str) -> Znodes:
    """Return an empty store; on an ensemble one transaction in twenty loses its reply."""
    if store == EMBEDDED:
        return EmbeddedZnodes()
    znodes = LinearizableZnodes(Member(Ensemble(random.Random(1)), losses=0.05), "/nn", "nn", HANG_S)
    await znodes.begin()
    return znodes


class Ensemble:
    """What all servers have agreed on."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.leader = EmbeddedZnodes()
        self.log: list[tuple[Operation, ...]] = []


class Member:
    """A session with a server of its own: an `nncache.coordination.zookeeper.SyncedZnodes`.

    Attributes:
        losses: the share of transactions whose reply is lost, half of them before they are carried out.
    """

    def __init__(self, ensemble: Ensemble, *, losses: float = 0.0) -> None:
        self.losses = losses
        self.connection_id = 1
        self.session_id = 1
        self._ensemble = ensemble
        self._own = EmbeddedZnodes()
        self._applied = 0
        self._wire = asyncio.Lock()  # its calls are carried out in their order

    async def wait_connected(self, timeout_s: float) -> None:
        """Return: it is connected again at once."""

    async def sync(self, path: str) -> None:
        """Be as far as the leader was."""
        del path
        async with self._wire:
            await self._wait()
            end = len(self._ensemble.log)
            await self._wait()
            await self._apply(end)

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Read what there is here."""
        async with self._wire:
            await self._fall_behind()
            return await self._own.get_many(paths)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """The same."""
        return await self.snapshot(paths)

    async def get(self, path: str) -> Znode:
        """The same."""
        async with self._wire:
            await self._fall_behind()
            return await self._own.get(path)

    async def children(self, path: str) -> tuple[str, ...]:
        """The same."""
        async with self._wire:
            await self._fall_behind()
            return await self._own.children(path)

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Have the leader carry it out; what it answers is here by then."""
        await self._wait()
        is_lost = self._ensemble.rng.random() < self.losses
        if is_lost and self._ensemble.rng.random() < 0.5:
            self._lose()
        await self._ensemble.leader.commit(operations)
        self._ensemble.log.append(tuple(operations))
        end = len(self._ensemble.log)
        await self._wait()
        if is_lost:
            self._lose()
        await self._apply(end)

    async def ensure(self, path: str, acl: Acl = OPEN) -> None:
        """Make a path."""
        del acl
        names = path.strip("/").split("/")
        for depth in range(1, len(names) + 1):
            operation = (Create("/" + "/".join(names[:depth]), b""),)
            try:
                await self._ensemble.leader.commit(operation)
            except NodeExistsError:
                continue
            self._ensemble.log.append(operation)
        await self._apply(len(self._ensemble.log))

    def _lose(self) -> None:
        self.connection_id += 1
        raise ConnectionLostError("the connection was lost under the call")

    async def _apply(self, end: int) -> None:
        while self._applied < end:
            operations = self._ensemble.log[self._applied]
            self._applied += 1
            await self._own.commit(operations)

    async def _fall_behind(self) -> None:
        """Apply some of what is to be applied."""
        await self._wait()
        await self._apply(self._ensemble.rng.randint(self._applied, len(self._ensemble.log)))

    async def _wait(self) -> None:
        for _ in range(self._ensemble.rng.choice((0, 0, 1, 2, 5))):
            await asyncio.sleep(0)
