"""Znodes below a root of ZooKeeper, as if there were one copy and one moment for each call.

ZooKeeper answers reads from the server at hand, which may be behind, and a lost connection leaves open whether a
transaction was carried out. Here a read is sent behind a `sync` that was sent after it was asked for, without waiting
for its reply, and a transaction whose reply was lost is settled before its caller goes on.

Each transaction sets a mark, with the version that the mark had: a znode of this process's own that no other
transaction under way uses. If the reply is lost, the mark is set again with the same version. Either that succeeds, and
the transaction can never be carried out; or the version has gone up, and the data say whose doing that was. No guess
about connections and sessions comes into it.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeVar

from nncache.coordination.errors import (
    BadVersionError,
    ConnectionLostError,
    CoordinationError,
    NoNodeError,
    OutcomeUnknownError,
    TooLargeError,
    ZnodeError,
)
from nncache.coordination.task_group import run_all
from nncache.coordination.zookeeper import Create, Operation, SetData, SyncedZnodes, Znode

_T = TypeVar("_T")

MARKS: Final = "/marks"
"""Below the root: the marks of each process, by its name."""

MOST_AT_ONE_MOMENT: Final = 3_100
"""Znodes of one read; more are read in several, each at a moment of its own."""

MOST_BYTES: Final = 1_000_000
"""Of a transaction. At 1,048,575 a server cuts the connection (jute.maxbuffer)."""

MOST_SHARED: Final = 400
"""Znodes that several reads ask for in one call."""

_BYTES_OF_AN_OPERATION: Final = 64
_VOID: Final = b"void"
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.05  # after a lost call


@dataclass(slots=True, kw_only=True)
class ZnodesStats:
    """What was read and changed since the process began."""

    reads: int = 0  # reads that were asked for
    syncs: int = 0  # syncs that were answered: reads share them
    read_s: float = 0.0  # seconds that all reads took, their waiting for a sync included
    commits: int = 0  # transactions carried out
    commit_s: float = 0.0  # seconds that these took, what was sent again included
    settled: int = 0  # transactions whose reply was lost, and was found out about
    unknown: int = 0  # the same, in vain


@dataclass(slots=True)
class _Mark:
    path: str
    version: int | None  # None: it has to be read


@dataclass(slots=True)
class _Round:
    """One sync, and one call for all the znodes that are read behind it; other calls may be sent behind it, too."""

    paths: list[str] = field(default_factory=list)
    found: tuple[Znode | None, ...] = ()
    sent: asyncio.Event = field(default_factory=asyncio.Event)  # the sync was, or never will be
    over: asyncio.Event = field(default_factory=asyncio.Event)
    connection: int = 0  # over which all of it was answered; 0: it was not
    error: CoordinationError | None = None  # why not, where that is known

    def check(self) -> None:
        """Raise why it was not answered, if it is known."""
        if self.error is not None:
            raise self.error


class LinearizableZnodes:
    """The `nncache.coordination.zookeeper.Znodes` below a root, linearizable.

    Invariants:
        X1  A read is sent behind a sync that was sent after the read was asked, and both are answered over one
            connection. A server carries out what comes over a connection in the order in which it comes.
        X2  One sync at a time; all reads that wait share the next one, and small ones its call as well.
        X3  `commit` returns if the transaction was carried out, once; it raises OutcomeUnknownError if that could not
            be found out in time, and otherwise it was not carried out and never will be.
    """

    def __init__(self, zookeeper: SyncedZnodes, root: str, name: str, patience_s: float) -> None:
        """Prepare it; `name` is this process's alone, and each call ends within about twice `patience_s`."""
        self._zookeeper = zookeeper
        self._root = root
        self._marks = f"{root}{MARKS}/{name}"
        self._name = name
        self._patience_s = patience_s
        self._free: list[_Mark] = []
        self._numbers = itertools.count()  # of marks
        self._tokens = itertools.count()
        self._next: _Round | None = None  # the one that has not begun
        self._one_sync = asyncio.Lock()
        self._counts = ZnodesStats()

    async def begin(self) -> None:
        """See that the root is there, and what is needed below it."""
        await self._zookeeper.ensure(self._marks)

    def stats(self) -> ZnodesStats:
        """Return the figures."""
        return replace(self._counts)

    @property
    def session_id(self) -> int:
        """The session of what is ephemeral; 0 without one."""
        return self._zookeeper.session_id

    # ---- reads ---------------------------------------------------------------------------------------------------

    async def get(self, path: str) -> Znode:
        """Return a znode. Raises NoNodeError."""
        (znode,) = await self.get_many([path])
        if znode is None:
            raise NoNodeError(path)
        return znode

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes, as they are at one moment (up to MOST_AT_ONE_MOMENT)."""
        found: list[Znode | None] = []
        for start in range(0, len(paths), MOST_AT_ONE_MOMENT):
            asked = paths[start : start + MOST_AT_ONE_MOMENT]
            placed = [self._root + path for path in asked]
            if len(placed) <= MOST_SHARED // 2:
                znodes = await self._in_time(partial(self._share, placed))
            else:
                znodes = await self._read(partial(self._zookeeper.snapshot, placed))
            found += (
                None if znode is None else replace(znode, path=path)
                for path, znode in zip(asked, znodes, strict=True)
            )
        return tuple(found)

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children. Raises NoNodeError."""
        with self._below():
            return await self._read(lambda: self._zookeeper.children(self._root + path))

    async def _read(self, read: Callable[[], Awaitable[_T]]) -> _T:
        """Read behind a sync."""
        return await self._in_time(partial(self._follow, read))

    async def _in_time(self, attempt: Callable[[], Awaitable[_T | None]]) -> _T:
        """Attempt a read; None: it was in vain, as a read over a lost connection is, and is begun again."""
        began = asyncio.get_running_loop().time()
        self._counts.reads += 1
        try:
            async with asyncio.timeout(self._patience_s):
                while True:
                    try:
                        found = await attempt()
                    except ConnectionLostError:
                        await self._zookeeper.wait_connected(self._patience_s)
                        await asyncio.sleep(_PAUSE_S)
                        continue
                    if found is not None:
                        self._counts.read_s += asyncio.get_running_loop().time() - began
                        return found
        except TimeoutError as late:
            raise ConnectionLostError("ZooKeeper does not answer") from late

    async def _follow(self, read: Callable[[], Awaitable[_T]]) -> _T | None:
        """Read by a call that is sent behind the next sync; what it is refused counts no sooner than what it finds."""
        found: list[_T] = []
        refusals: list[ZnodeError] = []
        is_leader = self._next is None
        joined = self._next = self._next or _Round()

        async def own() -> None:
            await joined.sent.wait()
            try:
                found.append(await read())
            except ZnodeError as refusal:
                refusals.append(refusal)

        if is_leader:
            await run_all(partial(self._lead, joined), own)
        else:
            await own()
            await joined.over.wait()
        joined.check()
        if not joined.connection or joined.connection != self._zookeeper.connection_id:
            return None
        if refusals:
            raise refusals.pop()  # and held by no frame that its traceback leads to
        return found[0]

    async def _share(self, placed: Sequence[str]) -> tuple[Znode | None, ...] | None:
        """Read by the one call of the next round."""
        joined = self._next
        is_leader = joined is None or len(joined.paths) + len(placed) > MOST_SHARED
        if joined is None or is_leader:
            joined = self._next = _Round()
        begin = len(joined.paths)
        joined.paths += placed
        if is_leader:
            await self._lead(joined)
        else:
            await joined.over.wait()
        joined.check()
        return joined.found[begin : begin + len(placed)] if joined.connection else None

    async def _lead(self, joined: _Round) -> None:
        """Sync, and read what those that have joined by then want."""

        async def sync() -> None:
            joined.sent.set()  # those that wait for it go on in a later turn of the loop, when the sync was sent
            await self._sync()

        async def read() -> None:
            await joined.sent.wait()
            if joined.paths:
                joined.found = await self._zookeeper.snapshot(joined.paths)

        try:
            async with self._one_sync:
                await asyncio.sleep(0)  # who reads in this turn of the loop joins
                if self._next is joined:
                    self._next = None
                connection = self._zookeeper.connection_id
                await run_all(sync, read)
                if self._zookeeper.connection_id != connection:
                    raise ConnectionLostError("the connection was lost under a sync")
                joined.connection = connection
        except CoordinationError as error:
            joined.error = error
            raise
        finally:
            if self._next is joined:
                self._next = None
            joined.sent.set()
            joined.over.set()

    async def _sync(self) -> None:
        await self._zookeeper.sync(self._root)
        self._counts.syncs += 1

    # ---- transactions --------------------------------------------------------------------------------------------

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Carry out a transaction, once.

        Raises:
            ZnodeError: in one of its kinds: nothing was changed.
            ConnectionLostError: nothing was changed, and will not be.
            OutcomeUnknownError: it is not known.
            TooLargeError: ZooKeeper does not take so much at once.
        """
        if not operations:
            return
        placed = [replace(operation, path=self._root + operation.path) for operation in operations]
        size = sum(
            len(each.path) + _BYTES_OF_AN_OPERATION + len(getattr(each, "data", b"")) for each in placed
        )
        if size > MOST_BYTES:
            raise TooLargeError(f"a transaction of {len(placed)} operations with {size} bytes")
        began = asyncio.get_running_loop().time()
        async with self._mark() as mark:
            with self._below():
                await self._once(placed, mark)
        self._counts.commits += 1
        self._counts.commit_s += asyncio.get_running_loop().time() - began

    @asynccontextmanager
    async def _mark(self) -> AsyncIterator[_Mark]:
        """Lend a mark."""
        mark = self._free.pop() if self._free else _Mark(f"{self._marks}/{next(self._numbers)}", None)
        try:
            yield mark
        finally:
            self._free.append(mark)

    async def _once(self, operations: Sequence[Operation], mark: _Mark) -> None:
        for _ in range(_ATTEMPTS):
            await self._zookeeper.wait_connected(self._patience_s)
            version = await self._version(mark)
            token = f"{self._name} {next(self._tokens)}".encode()
            mark.version = None  # until there is an answer
            try:
                await self._zookeeper.commit([*operations, SetData(mark.path, token, version)])
            except ConnectionLostError as lost:
                try:
                    async with asyncio.timeout(self._patience_s):
                        was_done = await self._was_done(mark, version, token)
                        self._counts.settled += 1
                        if was_done:
                            return
                except (TimeoutError, ConnectionLostError, ZnodeError):
                    self._counts.unknown += 1
                    raise OutcomeUnknownError(f"whether it was carried out is not known: {lost}") from lost
                continue  # it was not, and never will be
            except ZnodeError as refused:
                if refused.path == mark.path:
                    continue  # it was not read after a transaction that was given up, or was swept
                mark.version = version
                raise
            mark.version = version + 1
            return
        raise ConnectionLostError("the connection was lost under each attempt of a transaction")

    async def _version(self, mark: _Mark) -> int:
        """Return the mark's version. If it is not the last, no harm is done: the transaction is refused for it."""
        if mark.version is None:
            try:
                mark.version = (await self._zookeeper.get(mark.path)).version
            except NoNodeError:
                await self._zookeeper.ensure(mark.path)
                mark.version = (await self._zookeeper.get(mark.path)).version
        return mark.version

    async def _was_done(self, mark: _Mark, version: int, token: bytes) -> bool:
        """Find out whether the transaction with that mark was carried out; if not, see that it never is."""
        while True:
            try:
                await self._zookeeper.wait_connected(self._patience_s)
                await self._zookeeper.commit([SetData(mark.path, _VOID, version)])
            except ConnectionLostError:
                await asyncio.sleep(_PAUSE_S)
                continue
            except BadVersionError:
                found = await self._read(lambda: self._zookeeper.get(mark.path))
                return found.data == token
            mark.version = version + 1
            return False

    @contextmanager
    def _below(self) -> Iterator[None]:
        """Let errors name paths below the root."""
        try:
            yield
        except ZnodeError as error:
            error.path = error.path.removeprefix(self._root)
            raise


async def check_snapshots(writer: SyncedZnodes, reader: SyncedZnodes, path: str, rounds: int = 100) -> bool:
    """Tell whether a multiRead of this ensemble is a snapshot: two znodes, written together, read together.

    Servers promise it nowhere (CommitProcessor lets reads and writes alternate "in the current implementation"), so
    that it is seen at each start.
    """
    pair = [f"{path}/{name}" for name in ("one", "other")]
    await writer.ensure(path)
    await writer.commit([Create(each, b"0", ephemeral=True) for each in pair])
    is_over = False

    async def write() -> None:
        nonlocal is_over
        try:
            for number in range(rounds):
                await writer.commit([SetData(each, str(number).encode()) for each in pair])
        finally:
            is_over = True

    torn = False
    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        while not is_over:
            one, other = await reader.snapshot(pair)
            torn |= one is not None and other is not None and one.data != other.data
    return not torn
