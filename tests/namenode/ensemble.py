"""ZooKeeper servers in one process, each a random distance behind the leader, and sessions with them."""

import asyncio
import contextlib
import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from nncache.coordination.acl import OPEN_ACL, Acl
from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.errors import ConnectionLostError, NodeExistsError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import CreateOp, DeleteOp, Znode, ZnodeOp, Znodes
from tests.patience import HANG_S

EMBEDDED: Final = "embedded"
STORES: Final = (EMBEDDED, "ensemble")
"""The stores that a NameNode test can run on."""


async def made(store: str) -> Znodes:
    """Return an empty store; on an ensemble one transaction in twenty loses its reply."""
    if store == EMBEDDED:
        return EmbeddedZnodes()
    znodes = LinearizableZnodes(Member(Ensemble(random.Random(1)), losses=0.05), "/nn", "nn", HANG_S)
    await znodes.begin()
    return znodes


class DeadError(BaseException):
    """The process has been killed: none of its code runs any more."""


class Ensemble:
    """The log that all servers have agreed on."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.leader = EmbeddedZnodes()
        self.log: list[tuple[ZnodeOp, ...]] = []
        self.owners: dict[str, int] = {}  # path of each ephemeral znode -> its session
        self.sessions = itertools.count(1)

    async def commit(self, operations: Sequence[ZnodeOp], session: int) -> None:
        """Commit a transaction of a session."""
        plain = tuple(
            replace(each, ephemeral=False) if isinstance(each, CreateOp) else each for each in operations
        )
        await self.leader.commit(plain)
        self.log.append(plain)
        for each in operations:
            if isinstance(each, DeleteOp):
                self.owners.pop(each.path, None)
            if isinstance(each, CreateOp) and each.ephemeral:
                self.owners[each.path] = session

    async def end(self, session: int) -> None:
        """End a session and delete its ephemeral znodes."""
        owned = [path for path, owner in self.owners.items() if owner == session]
        for path in owned:
            await self.commit([DeleteOp(path)], session)


class Member:
    """A session with its own server; implements `nncache.coordination.zookeeper.SyncedZnodes`.

    Attributes:
        losses: the share of transactions whose reply is lost, half of them before they are committed.
        commits: the number of transactions committed so far.
        die_at: the number of the transaction at which the process dies, before or after its commit; later calls die.
    """

    def __init__(self, ensemble: Ensemble, *, losses: float = 0.0) -> None:
        self.losses = losses
        self.connection_id = 1
        self.session_id = next(ensemble.sessions)
        self.commits = 0
        self.die_at: tuple[int, bool] | None = None  # the transaction's number, and whether it is committed
        self.is_dead = False
        self._ensemble = ensemble
        self._own = EmbeddedZnodes()
        self._applied = 0
        self._wire = asyncio.Lock()  # calls are carried out in order

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Return immediately: a lost connection is already re-established."""

    async def sync(self, path: str) -> None:
        """Catch up with the leader."""
        del path
        async with self._wire:
            await self._wait()
            end = len(self._ensemble.log)
            await self._wait()
            await self._apply(end)

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Read the znodes as this server has them."""
        async with self._wire:
            await self._fall_behind()
            found = await self._own.get_many(paths)
        return tuple(znode and self._owned(znode) for znode in found)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Read the znodes as this server has them."""
        return await self.snapshot(paths)

    async def get(self, path: str) -> Znode:
        """Read a znode as this server has it."""
        async with self._wire:
            await self._fall_behind()
            return self._owned(await self._own.get(path))

    async def children(self, path: str) -> tuple[str, ...]:
        """Read a znode's children as this server has them."""
        async with self._wire:
            await self._fall_behind()
            return await self._own.children(path)

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Commit a transaction at the leader; this server has applied it when the call returns."""
        await self._wait()
        self._live()
        is_last = self.die_at is not None and self.die_at[0] == self.commits
        if is_last and self.die_at is not None and not self.die_at[1]:
            self._die()
        is_lost = self._ensemble.rng.random() < self.losses
        if is_lost and self._ensemble.rng.random() < 0.5:
            self._lose()
        await self._ensemble.commit(operations, self.session_id)
        self.commits += 1
        if is_last:
            self._die()
        end = len(self._ensemble.log)
        await self._wait()
        if is_lost:
            self._lose()
        await self._apply(end)

    async def ensure(self, path: str, acl: Acl = OPEN_ACL) -> None:
        """Create a path and its parents."""
        del acl
        names = path.strip("/").split("/")
        for depth in range(1, len(names) + 1):
            operation = (CreateOp("/" + "/".join(names[:depth]), b""),)
            with contextlib.suppress(NodeExistsError):
                await self._ensemble.commit(operation, self.session_id)
        await self._apply(len(self._ensemble.log))

    async def expire(self) -> None:
        """Expire the session, as after too long a pause, and open another one for the same process."""
        await self._ensemble.end(self.session_id)
        self.session_id = next(self._ensemble.sessions)

    def _owned(self, znode: Znode) -> Znode:
        return replace(znode, owner_session=self._ensemble.owners.get(znode.path, 0))

    def _live(self) -> None:
        if self.is_dead:
            raise DeadError

    def _die(self) -> None:
        self.is_dead = True
        raise DeadError

    def _lose(self) -> None:
        self.connection_id += 1
        raise ConnectionLostError("the connection was lost under the call")

    async def _apply(self, end: int) -> None:
        while self._applied < end:
            operations = self._ensemble.log[self._applied]
            self._applied += 1
            await self._own.commit(operations)

    async def _fall_behind(self) -> None:
        """Apply a random number of the outstanding transactions."""
        await self._wait()
        await self._apply(self._ensemble.rng.randint(self._applied, len(self._ensemble.log)))

    async def _wait(self) -> None:
        for _ in range(self._ensemble.rng.choice((0, 0, 1, 2, 5))):
            await asyncio.sleep(0)
