"""Follows a subtree of the registry: reports its entries, then each change.

Each entry has one ZooKeeper watch on its data and one on its children, both set again after each change, as Curator's
TreeCache does for Hadoop's registry DNS. A watch signals that something has changed, but not what: of several changes
of one entry perhaps only the last is seen. If a lost connection may have hidden further changes, WatchGap reports it.
Levels below `paths.MAX_ELEMENTS` are not followed.

An entry below the top that an ACL refuses to this client counts as missing, with all its descendants. ZooKeeper does
not signal a change of the ACL: it is noticed at the next periodic read of everything.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, TypeAlias

from nncache.coordination.errors import ConnectionLostError, NoNodeError, NotAllowedError
from nncache.coordination.watches import WatchedReads, Watcher
from nncache.coordination.zookeeper import Znode
from nncache.net.event_wait import wait_set
from nncache.registry import paths
from nncache.registry.errors import InvalidRecordError, NoRecordError
from nncache.registry.operations import status_of
from nncache.registry.pacing import Slices, apart, at_once
from nncache.registry.record import EntryStatus, ServiceRecord
from nncache.registry.record_json import parse_record

BATCH: Final = 256  # entries that are read before the first of them is reported

PER_ITERATION: Final = 64  # entries reported or removed per iteration of the event loop

LOOK_S: Final = 0.5  # interval of checks for a lost connection; delay before calls that failed are made again

REREAD_S: Final = 300.0
"""Interval of reads of everything, whatever the watches signal: no conclusion from a watch that does not fire."""


@dataclass(frozen=True, slots=True)
class Present:
    """An entry exists, or its data have changed."""

    status: EntryStatus
    record: ServiceRecord | None  # None if it has none, or an invalid one
    fault: str = ""  # an invalid record, or children that are not followed; empty if neither


@dataclass(frozen=True, slots=True)
class Removed:
    """An entry was removed."""

    path: str


@dataclass(frozen=True, slots=True)
class WatchGap:
    """The connection was lost: changes may have been missed. The changes that are found follow, then Current."""

    why: str


@dataclass(frozen=True, slots=True)
class Current:
    """All entries that existed when they were read have been reported."""


Change: TypeAlias = Present | Removed | WatchGap | Current


class WatchedTree(WatchedReads, Protocol):
    """The operations of a ZooKeeper session that a TreeWatch needs."""

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Wait for a connection. Raises ConnectionLostError after `timeout_s` seconds; None: wait without a limit."""

    async def children(self, path: str, watcher: Watcher | None) -> tuple[str, ...]:
        """Return the names of the children; with a watcher, set a watch on them. Raises as `read`."""


class _Node:
    """A followed entry."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.mark: tuple[int, int] | None = None  # creation and version of the reported data; None: missing
        self.names = set[str]()  # of its children that were seen and are not known to be removed
        self.armed_in = 0  # connection in which both watches were set; 0: one may not be
        self.is_refused = False  # at the last read


@dataclass(frozen=True, slots=True)
class _Watcher:
    """The callback of an entry's watches. Equal for equal entries, so that a session holds it only once."""

    fired: Callable[[str], None]
    path: str

    def __call__(self) -> None:
        self.fired(self.path)


class _News:
    """Paths to be read again."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}  # in order of arrival
        self.came = asyncio.Event()

    def tell(self, path: str) -> None:
        self.paths[path] = None
        self.came.set()

    def take(self, most: int) -> list[str]:
        taken = list(islice(self.paths, most))
        for path in taken:
            del self.paths[path]
        return taken


class TreeWatch:
    """Follows the entries at and below a path while `changes` is read.

    kazoo cannot remove a watch. To follow the same path again in the same session, read `changes` of this TreeWatch.

    Invariants:
        T1  After Current, the reported entries that were not removed are those of the last read, with their data.
        T2  An entry that is neither due to be read nor refused has both its watches set in the current connection.
        T3  Each followed entry except the top is among the names of its parent.
        T4  The cost of a change grows with the changed entries, not the followed ones. Every PER_ITERATION yield.
        T5  A session holds at most one watcher for each path and kind, however often it is set.
    """

    def __init__(self, session: WatchedTree, root: str, path: str) -> None:
        self._session = session
        self._root = root
        self._top = paths.readable(path)
        self._news = _News()
        self._nodes: dict[str, _Node] = {}
        self._connection = 0  # in which everything was read last; 0 before the first read
        self._forgotten = 0  # entries removed so far

    @property
    def watched(self) -> int:
        """Number of entries that are watched now, including refused ones."""
        return len(self._nodes)

    def forget(self) -> None:
        """Stop following until `changes` is called again; its former iterators must not be read any more."""
        self._nodes = {}
        self._news = _News()
        self._connection = 0

    async def changes(self) -> AsyncIterator[Change]:
        """Yield each entry, then each change, endlessly. Raises NotAllowedError if an ACL refuses the top."""
        self.forget()
        loop = asyncio.get_running_loop()
        read_at = -REREAD_S
        is_current = False
        while True:
            if self._session.connection_id != self._connection or loop.time() - read_at >= REREAD_S:
                if self._connection and self._session.connection_id != self._connection:
                    is_current = False
                    yield WatchGap("the connection to ZooKeeper was lost")
                self._connection, read_at = self._session.connection_id, loop.time()
                self._all_again()
            while self._news.paths:
                batch = self._news.take(BATCH)
                try:
                    for number, change in enumerate(await self._refreshed(batch), 1):
                        is_current = False
                        yield change
                        if number % PER_ITERATION == 0:
                            await asyncio.sleep(0)
                except ConnectionLostError:
                    self._connection = self._connection and -1  # a gap, unless nothing was reported
                    break
            else:
                if not is_current:
                    is_current = True
                    yield Current()
                await self._wait()
                continue
            is_current = False
            await asyncio.sleep(LOOK_S)  # a server that refuses calls under load is connected
            await self._session.wait_connected(None)

    def _all_again(self) -> None:
        self._news.tell(self._top)
        for path in self._nodes:
            self._news.tell(path)

    async def _wait(self) -> None:
        self._news.came.clear()
        if not self._news.paths:
            await wait_set(self._news.came, LOOK_S)

    async def _refreshed(self, batch: list[str]) -> list[Change]:
        """Read these entries again, and return the differences from the last report."""
        nodes = [self._nodes.setdefault(path, _Node(path)) for path in batch if self._is_in_tree(path)]
        reads = await at_once(self._read, nodes)
        changes: list[Change] = []
        slices = Slices()
        found: list[tuple[_Node, Znode, frozenset[str]]] = []
        for node, (znode, names) in zip(nodes, reads, strict=True):
            if znode is not None:
                found.append((node, znode, names))
                continue
            changes += await self._removed(node.path)
            self._leave_out(node)
        for node, znode, names in found:
            await slices.add(len(znode.data))
            changes += await self._reported(node, znode, names)
        return changes

    def _is_in_tree(self, path: str) -> bool:
        """Return whether the parent is known to contain it; if not, a watch that fired on it is out of date."""
        above = self._nodes.get(paths.parent_of(path))
        return path == self._top or (above is not None and paths.name_of(path) in above.names)

    def _leave_out(self, node: _Node) -> None:
        """Update the tree for a removed entry that was not found, or is refused."""
        if not self._is_in_tree(node.path):
            return
        if node.is_refused:  # kept for the periodic read, and not read with each change of its parent
            node.mark, node.names = None, set()
            self._nodes[node.path] = node
        elif node.path != self._top:  # so that it is read if a later read of the parent finds it again
            self._nodes[paths.parent_of(node.path)].names.discard(paths.name_of(node.path))

    def _fired(self, path: str) -> None:
        node = self._nodes.get(path)
        if node is not None:
            node.armed_in = 0
        self._news.tell(path)

    async def _read(self, node: _Node) -> tuple[Znode | None, frozenset[str]]:
        znode_path = self._root + node.path.removesuffix("/")
        connection, watcher = self._session.connection_id, _Watcher(self._fired, node.path)
        is_armed, node.armed_in = node.armed_in == connection, connection
        new_watcher = None if is_armed else watcher
        try:
            znode = await self._session.read(znode_path, new_watcher)
            node.is_refused = False
            if paths.depth_of(node.path) >= paths.MAX_ELEMENTS:
                return znode, frozenset()
            names = await self._session.children(znode_path, new_watcher)
        except NoNodeError:
            node.armed_in, node.is_refused = 0, False
            if node.path == self._top and await self._session.exists(znode_path, watcher):
                self._news.tell(node.path)  # created in between
            return None, frozenset()
        except NotAllowedError:
            node.armed_in, node.is_refused = 0, True
            if node.path == self._top:
                raise
            return None, frozenset()
        except BaseException:  # includes cancellation: it is unknown which watches are set
            node.armed_in = 0
            raise
        return znode, frozenset(names)

    async def _reported(self, node: _Node, znode: Znode, names: frozenset[str]) -> list[Change]:
        if node.path not in self._nodes:
            return []  # an ancestor was removed
        changes: list[Change] = []
        for name in node.names - names:
            changes += await self._removed(paths.below(node.path, name))
        for name in sorted(names - node.names):
            self._news.tell(paths.below(node.path, name))
        node.names = set(names)
        mark = (znode.created_zxid, znode.version)
        if mark != node.mark:
            node.mark = mark
            changes.append(await apart(len(znode.data), _present, node.path, znode))
        return changes

    async def _removed(self, path: str) -> list[Removed]:
        """Forget an entry and its descendants, from the bottom up."""
        gone: list[Removed] = []
        left = [path]
        while left:
            below = left.pop()
            self._forgotten += 1
            if self._forgotten % PER_ITERATION == 0:
                await asyncio.sleep(0)
            node = self._nodes.pop(below, None)
            if node is not None:
                left += (paths.below(below, name) for name in node.names)
                if node.mark is not None:
                    gone.append(Removed(below))
        return gone[::-1]


def _present(path: str, znode: Znode) -> Present:
    status = status_of(path, znode)
    fault = paths.TOO_DEEP if znode.children and paths.depth_of(path) >= paths.MAX_ELEMENTS else ""
    try:
        return Present(status, parse_record(path, znode.data), fault)
    except NoRecordError:
        return Present(status, None, fault)
    except InvalidRecordError as error:
        return Present(status, None, error.what)
