"""Looks at single paths, over watches that fire once.

A ZooKeeper watch says once that something has changed, not what, and is lost with the connection: kazoo, unlike
ZooKeeper's own client, does not set it again. So a look is read, waits for news, and is read again.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeAlias
from weakref import WeakValueDictionary

from nncache.coordination.errors import NoNodeError
from nncache.coordination.zookeeper import Znode

Watcher: TypeAlias = Callable[[], None]
"""Called on the loop when a watch fires. Given twice for one path, it is called once."""


class WatchedReads(Protocol):
    """What looks need of a session."""

    @property
    def connection_id(self) -> int:
        """Counts the connections; a watch is lost with its connection."""

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode; with a watcher, set a watch on it. Raises NoNodeError, and sets none then."""

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Tell whether a znode is there; with a watcher, set a watch either way."""


class WatchedPath:
    """The one watch that a session has on a path, shared by all who look at it."""

    def __init__(self, path: str, on_fire: Watcher) -> None:
        self.path = path
        self.fired = 0  # how often it has fired
        self.armed_in = 0  # the connection in which it is set; 0: it is not, as far as is known
        self._on_fire = on_fire

    def fire(self) -> None:
        """Take note that it has fired."""
        self.fired += 1
        self.armed_in = 0
        self._on_fire()


class ZnodeWatches:
    """All watches of one session.

    Invariants:
        W1  At most one watch is set on a path, however many look at it and however often.
        W2  A look that does not say that there is news has its watch set, and that has not fired since it was
            read.
    """

    def __init__(self, reads: WatchedReads) -> None:
        self._reads = reads
        self._paths: WeakValueDictionary[str, WatchedPath] = WeakValueDictionary()  # looked at, or watched
        self._news = asyncio.Event()  # set, and replaced, whenever a watch may have news
        self.armed = 0  # counts
        self.fired = 0

    def look(self, path: str) -> "WatchHandle":
        """Return a look at a path."""
        watched = self._paths.get(path)
        if watched is None:
            watched = self._paths[path] = WatchedPath(path, self._tell_fired)
        return WatchHandle(self, watched)

    def reconnected(self) -> None:
        """All watches that were set are lost, and with them perhaps changes."""
        self._tell()

    async def read(self, path: WatchedPath) -> tuple[Znode | None, tuple[int, int]]:
        """Return the znode, and what `news` was when it was asked for; a watch is set now."""
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
        """Return what changes when the znode may be another."""
        return (self._reads.connection_id, path.fired)

    async def wait(self) -> None:
        """Return when a watch has news."""
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
    """One user's look at one path; a `nncache.coordination.zookeeper.ZnodeWatch`."""

    def __init__(self, watches: ZnodeWatches, path: WatchedPath) -> None:
        self._watches = watches
        self._path = path
        self._seen: tuple[int, int] | None = None  # the news when it was last read; None before

    async def read(self) -> Znode | None:
        """Return the znode as it is; see ZnodeWatch."""
        znode, self._seen = await self._watches.read(self._path)
        return znode

    async def changed(self, timeout_s: float) -> bool:
        """Wait until it may be another; see ZnodeWatch."""
        try:
            async with asyncio.timeout(timeout_s):
                while self._watches.news(self._path) == self._seen:
                    await self._watches.wait()
        except TimeoutError:
            return False
        return True
