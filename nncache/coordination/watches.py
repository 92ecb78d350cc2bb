"""Watches single paths with ZooKeeper watches, which fire once.

A ZooKeeper watch signals one change, without saying which, and is lost with the connection: kazoo, unlike ZooKeeper's
own client, does not restore it. So a path is read, waits for a signal, and is read again.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias
from weakref import WeakValueDictionary

from nncache.coordination.errors import NoNodeError
from nncache.coordination.zookeeper import Znode

Watcher: TypeAlias = Callable[[], None]
"""Called on the loop when a watch fires. A watcher that is set twice on one path is called once."""


class WatchedReads(Protocol):
    """The operations of a session that watches need."""

    @property
    def connection_id(self) -> int:
        """Number of connections so far; a watch is lost with its connection."""

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode; with a watcher, set a watch on it. Raises NoNodeError, and sets no watch then."""

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Return whether a znode exists; with a watcher, set a watch in either case."""


class WatchedPath:
    """A session's one watch on a path, shared by all its handles."""

    def __init__(self, path: str, on_fire: Watcher) -> None:
        self.path = path
        self.fired = 0  # since start
        self.armed_in = 0  # the connection in which it is set; 0: not set, as far as this client knows
        self._on_fire = on_fire

    def fire(self) -> None:
        """Record that the watch has fired, and notify."""
        self.fired += 1
        self.armed_in = 0
        self._on_fire()


class ZnodeWatches:
    """All watches of one session.

    Invariants:
        W1  At most one watch is set on a path, however many handles there are and however often they read.
        W2  If a handle reports no change, its watch is set, and has not fired since the handle's last read.
    """

    def __init__(self, reads: WatchedReads) -> None:
        self._reads = reads
        self._paths: WeakValueDictionary[str, WatchedPath] = WeakValueDictionary()  # by path; while in use
        self._news = asyncio.Event()  # set, and replaced by a new event, whenever a watch may have fired
        self.armed = 0  # watches set since start
        self.fired = 0

    def look(self, path: str) -> "WatchHandle":
        """Return a handle on a path."""
        watched = self._paths.get(path)
        if watched is None:
            watched = self._paths[path] = WatchedPath(path, self._tell_fired)
        return WatchHandle(self, watched)

    def reconnected(self) -> None:
        """Notify all handles: all watches are lost, and changes may have been missed."""
        self._tell()

    async def read(self, path: WatchedPath) -> tuple[Znode | None, tuple[int, int]]:
        """Return the znode, and the value of `news` before the read; a watch is set on the path."""
        news = self.news(path)
        if path.armed_in == self._reads.connection_id:
            return await self._find(path), news
        znode: Znode | None
        try:
            znode = await self._reads.read(path.path, path.fire)
        except NoNodeError:
            is_there = await self._reads.exists(path.path, path.fire)
            znode = await self._find(path) if is_there else None
        self.armed += 1
        if self.news(path) == news:
            path.armed_in = self._reads.connection_id
        return znode, news

    def news(self, path: WatchedPath) -> tuple[int, int]:
        """Return a value that differs from an earlier one if the znode may have changed."""
        return (self._reads.connection_id, path.fired)

    async def wait(self) -> None:
        """Wait until a watch may have fired."""
        await self._news.wait()

    async def _find(self, path: WatchedPath) -> Znode | None:
        try:
            return await self._reads.read(path.path, None)
        except NoNodeError:
            return None

    def _tell_fired(self) -> None:
        self.fired += 1
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


class WatchHandle:
    """One user's watch on one path: a `nncache.coordination.zookeeper.ZnodeWatch`."""

    def __init__(self, watches: ZnodeWatches, path: WatchedPath) -> None:
        self._watches = watches
        self._path = path
        self._seen: tuple[int, int] | None = None  # `news` at the last read; None before the first

    async def read(self) -> Znode | None:
        """Return the current znode; see ZnodeWatch."""
        znode, self._seen = await self._watches.read(self._path)
        return znode

    async def changed(self, timeout_s: float) -> bool:
        """Wait until the znode may have changed; see ZnodeWatch."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._watches.news(self._path) == self._seen:
                    await self._watches.wait()
        except TimeoutError:
            return False
        return True
