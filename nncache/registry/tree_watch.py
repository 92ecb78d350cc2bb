"""Follow a subtree of the registry: what is there, then what changes.

One watch of ZooKeeper on each entry's data and one on its children, set again after each change, as Curator's TreeCache
does for Hadoop's own registry DNS. Such a watch says that something has changed, not what: of several changes of one
entry the last may be all that is seen. What can be missed beyond that, when the connection was lost, is named by a Gap.
Below `paths.MAX_ELEMENTS` levels nothing is followed.

An entry below the top that an ACL refuses to this client is as one that is not there, and so is all below it. ZooKeeper
does not tell when that changes: it is seen when all is read again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol, TypeAlias

from nncache.coordination.errors import ConnectionLostError, NoNodeError, NotAllowedError
from nncache.coordination.watches import WatchedReads, Watcher
from nncache.coordination.zookeeper import Znode
from nncache.registry import paths
from nncache.registry.errors import InvalidRecordError, NoRecordError
from nncache.registry.operations import status_of
from nncache.registry.pacing import Slices, apart, at_once
from nncache.registry.record import EntryStatus, ServiceRecord
from nncache.registry.record_json import parse_record

BATCH: Final = 256  # entries that are read before any of them is reported

PER_ITERATION: Final = 64  # entries that are reported, or forgotten, in one iteration of the event loop

LOOK_S: Final = 0.5  # how often a lost connection is looked for

REREAD_S: Final = 300.0
"""After which all is read again, whatever watches say: no conclusion from a watch that does not fire."""


@dataclass(frozen=True, slots=True)
class Present:
    """An entry is there, or is other than it was."""

    status: EntryStatus
    record: ServiceRecord | None  # None if it holds none, or a broken one
    fault: str = ""  # what is wrong with its record, or not followed below it; empty: nothing


@dataclass(frozen=True, slots=True)
class Removed:
    """An entry that was there is gone."""

    path: str


@dataclass(frozen=True, slots=True)
class WatchGap:
    """The connection was lost: entries may have come and gone unseen. What has changed follows, then Current."""

    why: str


@dataclass(frozen=True, slots=True)
class Current:
    """Everything that was there when it was read has been reported."""


Change: TypeAlias = Present | Removed | WatchGap | Current


class WatchedTree(WatchedReads, Protocol):
    """What is needed of a session with ZooKeeper."""

    async def wait_connected(self, timeout_s: float) -> None:
        """Return when there is a connection. Raises ConnectionLostError."""

    async def children(self, path: str, watcher: Watcher | None) -> tuple[str, ...]:
        """Return the names of the children; with a watcher, set a watch on them. Raises as `read`."""


class _Node:
    """An entry that is followed."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.mark: tuple[int, int] | None = None  # creation and version of the reported data; None: not there
        self.names = set[str]()  # of the entries right below it that were there and are not known to be gone
        self.armed_in = 0  # the connection in which both its watches are set; 0: one may not be
        self.is_refused = False  # when it was last read


@dataclass(frozen=True, slots=True)
class _Watcher:
    """What a watch on an entry calls: equal to any other on the same, so that a session holds it only once."""

    fired: Callable[[str], None]
    path: str

    def __call__(self) -> None:
        self.fired(self.path)


class _News:
    """Paths that are to be read again."""

    def __init__(self) -> None:
        self.paths: dict[str, None] = {}  # in the order in which they came
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
    """Follows the entries at and below a path, for as long as `changes` is read.

    kazoo can remove no watch: to follow the same again over the same session, read `changes` of the same TreeWatch.

    Invariants:
        T1  After Current, the entries reported and not removed are those that were read last, with their data.
        T2  An entry that is not to be read again, and not refused, has both its watches set in the present connection.
        T3  Each entry that is followed is in the names of the one above it.
        T4  A change costs as much as what has changed, not as much as what is followed; each PER_ITERATION give way.
        T5  A session holds at most one watcher for each path and kind, however often it is set.
    """

    def __init__(self, session: WatchedTree, root: str, path: str) -> None:
        self._session = session
        self._root = root
        self._top = paths.readable(path)
        self._news = _News()
        self._nodes: dict[str, _Node] = {}
        self._connection = 0  # in which everything was read last; 0: never
        self._forgotten = 0  # entries so far

    @property
    def watched(self) -> int:
        """How many entries are watched now; those that are refused count."""
        return len(self._nodes)

    def forget(self) -> None:
        """Follow nothing, until `changes` is called and read again; what it returned before must not be."""
        self._nodes = {}
        self._news = _News()
        self._connection = 0

    async def changes(self) -> AsyncIterator[Change]:
        """Yield what is there, then each change; without end. Raises NotAllowedError if an ACL refuses the top."""
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
            await self._wait_connected()

    def _all_again(self) -> None:
        self._news.tell(self._top)
        for path in self._nodes:
            self._news.tell(path)

    async def _wait(self) -> None:
        self._news.came.clear()
        if self._news.paths:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await self._news.came.wait()

    async def _wait_connected(self) -> None:
        while True:
            try:
                await self._session.wait_connected(LOOK_S)
            except ConnectionLostError:
                continue
            return

    async def _refreshed(self, batch: list[str]) -> list[Change]:
        """Read these entries again, and return what differs from the last report."""
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
        """Return whether the entry above is known to contain it; if not, a watch that fired on it is out of date."""
        above = self._nodes.get(paths.parent_of(path))
        return path == self._top or (above is not None and paths.name_of(path) in above.names)

    def _leave_out(self, node: _Node) -> None:
        """Take note that an entry was removed, since it is not there or is refused."""
        if not self._is_in_tree(node.path):
            return
        if node.is_refused:  # kept, so that it is read again with all, and not with each change beside it
            node.mark, node.names = None, set()
            self._nodes[node.path] = node
        elif node.path != self._top:  # so that it is read where the one above it, read later, has it again
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
                self._news.tell(node.path)  # made in between
            return None, frozenset()
        except NotAllowedError:
            node.armed_in, node.is_refused = 0, True
            if node.path == self._top:
                raise
            return None, frozenset()
        except BaseException:  # cancelled, too: it is not known which watch is set
            node.armed_in = 0
            raise
        return znode, frozenset(names)

    async def _reported(self, node: _Node, znode: Znode, names: frozenset[str]) -> list[Change]:
        if node.path not in self._nodes:
            return []  # what is above it was removed
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
        """Forget an entry and all below it, from the bottom up."""
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
