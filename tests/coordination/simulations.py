"""A real or fake ZooKeeper, behind one interface, for tests that run on both."""

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from kazoo.client import KazooClient
from kazoo.security import ACL, OPEN_ACL_UNSAFE, Id

from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import DeleteOp, ZooKeeper
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper

DEADLINE_S = 10.0
ADMIN_ONLY = ACL(16, Id("world", "anyone"))
"""Everyone may change the ACL, but do nothing else."""


class Simulation(ABC):
    """A ZooKeeper, a session with it, and an existing path for this test only."""

    def __init__(self, root: str, zookeeper: KazooSession | FakeSession) -> None:
        self.root = root
        self.zookeeper = zookeeper

    @abstractmethod
    def session(self) -> AbstractAsyncContextManager[ZooKeeper]:
        """Return another session, connected."""

    @abstractmethod
    async def expire(self) -> None:
        """Have the server end the session `zookeeper`, and wait until a new session is connected."""

    @abstractmethod
    def forbidden(self, path: str) -> AbstractAsyncContextManager[None]:
        """Let the ACL of a path forbid everything to everyone while the block runs."""


class FakeServer(Simulation):
    """The fake server."""

    def __init__(self) -> None:
        self._server = FakeZooKeeper(time.monotonic)
        self._session = self._server.session()
        super().__init__("/world", self._session)

    def session(self) -> AbstractAsyncContextManager[ZooKeeper]:
        """Return another session."""
        return self._server.session()

    async def expire(self) -> None:
        """End the session."""
        self._server.expire(self._session)

    @contextlib.asynccontextmanager
    async def forbidden(self, path: str) -> AsyncIterator[None]:
        """Forbid a path."""
        self._server.tree.forbidden.add(path)
        yield
        self._server.tree.forbidden.discard(path)


class RealServer(Simulation):
    """The server at an address."""

    def __init__(self, address: str, root: str, session: KazooSession) -> None:
        super().__init__(root, session)
        self._address = address
        self._session = session

    def session(self) -> AbstractAsyncContextManager[ZooKeeper]:
        """Return another session."""
        return connected(self._address)

    async def expire(self) -> None:
        """End the session by resuming and closing it, which needs its password."""
        await expire(self._address, self._session)

    @contextlib.asynccontextmanager
    async def forbidden(self, path: str) -> AsyncIterator[None]:
        """Set an ACL, and restore it at the end."""
        await asyncio.to_thread(self._set_acl, path, [ADMIN_ONLY])
        yield
        await asyncio.to_thread(self._set_acl, path, OPEN_ACL_UNSAFE)

    def _set_acl(self, path: str, acl: list[ACL]) -> None:
        client = KazooClient(self._address)
        client.start()
        client.set_acls(path, acl)
        client.stop()
        client.close()


@contextlib.asynccontextmanager
async def connected(address: str, timeout_s: float = 6.0) -> AsyncIterator[KazooSession]:
    """Yield a connected session."""
    settings = ZooKeeperSettings(zookeeper=tuple(address.split(",")), zookeeper_session_timeout_s=timeout_s)
    async with KazooSession(settings, time.monotonic) as session:
        await session.wait_connected(DEADLINE_S)
        yield session


async def expire(address: str, session: KazooSession) -> None:
    """Have the server at this address end a session, and wait until its owner is connected again."""
    client_id = session._connection._client_id  # noqa: SLF001 - ending a session needs its password
    ended = session.session_id

    def take_up_and_close() -> None:
        thief = KazooClient(address, client_id=client_id)
        thief.start()
        thief.stop()
        thief.close()

    await asyncio.to_thread(take_up_and_close)
    async with asyncio.timeout(DEADLINE_S):
        while session.session_id in (0, ended):  # noqa: ASYNC110 - no event announces it
            await asyncio.sleep(0.01)


async def remove(zookeeper: ZooKeeper, path: str) -> None:
    """Delete a znode and its descendants."""
    below = [f"{path}/{name}" for name in await zookeeper.children(path)]
    for child in await zookeeper.get_many(below):
        if child is not None and child.children:
            await remove(zookeeper, child.path)
            below.remove(child.path)
    await zookeeper.commit([*map(DeleteOp, below), DeleteOp(path)])
