"""Znodes below a root of ZooKeeper, linearizable: as if there were one copy, and each call took effect at one moment.

ZooKeeper answers reads from the connected server, which may lag behind, and a lost connection leaves the outcome of a
transaction open. Here each read is sent after a `sync` that was itself sent after the caller's request, without waiting
for the sync's reply. The outcome of a transaction whose reply was lost is determined before its call returns.

Each transaction also sets a mark, on condition of the mark's version. A mark is a znode of this process alone, and one
transaction at a time uses it. If the reply is lost, the mark is set again on condition of the same version. If that
succeeds, the transaction can never be carried out. Otherwise the version is higher, and the mark's data tell which
transaction raised it. No assumption about connections and sessions is involved.
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
from nncache.coordination.zookeeper import CreateOp, SetDataOp, SyncedZnodes, Znode, ZnodeOp

_T = TypeVar("_T")

MARKS: Final = "/marks"
"""Parent, below the root, of each process's znode with its marks."""

MOST_AT_ONE_MOMENT: Final = 3_100
"""Limit of znodes in one snapshot; larger reads take several, each at a moment of its own."""

MOST_BYTES: Final = 1_000_000
"""Limit of a transaction's size. At 1,048,575 bytes a server closes the connection (jute.maxbuffer)."""

MOST_SHARED: Final = 400
"""Limit of znodes in a call that several reads share."""

_BYTES_OF_AN_OPERATION: Final = 64
_VOID: Final = b"void"
_ATTEMPTS: Final = 10
_PAUSE_S: Final = 0.05  # after a call with a lost connection


@dataclass(slots=True, kw_only=True)
class ZnodesStats:
    """Figures since the start of the process."""

    reads: int = 0  # reads that were requested
    syncs: int = 0  # answered syncs; several reads share one
    read_s: float = 0.0  # total time of the reads, including the wait for a sync
    commits: int = 0  # transactions carried out
    commit_s: float = 0.0  # total time of these, including retries
    settled: int = 0  # transactions with a lost reply whose outcome was determined
    unknown: int = 0  # ... could not be determined


@dataclass(slots=True)
class _Mark:
    path: str
    version: int | None  # None: it must be read


@dataclass(slots=True)
class _Round:
    """One sync, and one call for the znodes to be read after it. Further calls may be sent after the same sync."""

    paths: list[str] = field(default_factory=list)
    found: tuple[Znode | None, ...] = ()
    sent: asyncio.Event = field(default_factory=asyncio.Event)  # the sync was sent, or will never be
    over: asyncio.Event = field(default_factory=asyncio.Event)
    connection: int = 0  # the connection over which everything was answered; 0: it was not
    error: CoordinationError | None = None  # the reason, if it is known

    def check(self) -> None:
        """Raise the reason why it was not answered, if it is known."""
        if self.error is not None:
            raise self.error


class LinearizableZnodes:
    """The `nncache.coordination.zookeeper.Znodes` below a root, linearizable.

    Invariants:
        X1  A read is sent after a sync that was itself sent after the caller's request, and both are answered over one
            connection. A server processes the requests of a connection in order.
        X2  One sync is in flight at a time. All waiting reads share the next one; small reads also share its call.
        X3  `commit` returns if the transaction was carried out, exactly once. It raises OutcomeUnknownError if that
            could not be determined in time. After any other error it was not carried out and never will be.
    """

    def __init__(self, zookeeper: SyncedZnodes, root: str, name: str, patience_s: float) -> None:
        """Prepare it; `name` is unique to this process, and each call ends within about twice `patience_s` seconds."""
        self._zookeeper = zookeeper
        self._root = root
        self._marks = f"{root}{MARKS}/{name}"
        self._name = name
        self._patience_s = patience_s
        self._free: list[_Mark] = []
        self._numbers = itertools.count()  # of marks
        self._tokens = itertools.count()
        self._next: _Round | None = None  # the round that has not begun
        self._one_sync = asyncio.Lock()
        self._counts = ZnodesStats()

    async def begin(self) -> None:
        """Create the root, and this process's znode for marks, if they are missing."""
        await self._zookeeper.ensure(self._marks)

    def stats(self) -> ZnodesStats:
        """Return a copy of the figures."""
        return replace(self._counts)

    @property
    def session_id(self) -> int:
        """The session that owns the ephemeral znodes; 0 without a session."""
        return self._zookeeper.session_id

    # ---- reads ---------------------------------------------------------------------------------------------------

    async def get(self, path: str) -> Znode:
        """Return a znode. Raises NoNodeError."""
        (znode,) = await self.get_many([path])
        if znode is None:
            raise NoNodeError(path)
        return znode

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes, at one moment (up to MOST_AT_ONE_MOMENT)."""
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
        """Read after a sync."""
        return await self._in_time(partial(self._follow, read))

    async def _in_time(self, attempt: Callable[[], Awaitable[_T | None]]) -> _T:
        """Repeat an attempt to read until it succeeds; None or ConnectionLostError means that it failed."""
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
        """Read by a call of its own, sent after the next sync. A refusal counts only where a reply would."""
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
        """Read by the shared call of the next round."""
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
        """Sync, and read the znodes of all requests that have joined by then."""

        async def sync() -> None:
            joined.sent.set()  # waiting reads continue in a later iteration of the loop: after the sync
            await self._sync()

        async def read() -> None:
            await joined.sent.wait()
            if joined.paths:
                joined.found = await self._zookeeper.snapshot(joined.paths)

        try:
            async with self._one_sync:
                await asyncio.sleep(0)  # reads of this iteration of the loop join
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

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction, exactly once.

        Raises:
            ZnodeError: a subclass; nothing was changed.
            ConnectionLostError: nothing was changed, and never will be.
            OutcomeUnknownError: the outcome could not be determined.
            TooLargeError: the transaction exceeds ZooKeeper's limit; nothing was sent.
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
        """Reserve a mark for one transaction."""
        mark = self._free.pop() if self._free else _Mark(f"{self._marks}/{next(self._numbers)}", None)
        try:
            yield mark
        finally:
            self._free.append(mark)

    async def _once(self, operations: Sequence[ZnodeOp], mark: _Mark) -> None:
        for _ in range(_ATTEMPTS):
            await self._zookeeper.wait_connected(self._patience_s)
            version = await self._version(mark)
            token = f"{self._name} {next(self._tokens)}".encode()
            mark.version = None  # until there is a reply
            try:
                await self._zookeeper.commit([*operations, SetDataOp(mark.path, token, version)])
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
                continue  # it was not carried out, and never will be
            except ZnodeError as refused:
                if refused.path == mark.path:
                    continue  # the version was outdated after an abandoned transaction, or the mark was swept
                mark.version = version
                raise
            mark.version = version + 1
            return
        raise ConnectionLostError("the connection was lost under each attempt of a transaction")

    async def _version(self, mark: _Mark) -> int:
        """Return the mark's version. An outdated one does no harm: ZooKeeper then refuses the transaction."""
        if mark.version is None:
            try:
                mark.version = (await self._zookeeper.get(mark.path)).version
            except NoNodeError:
                await self._zookeeper.ensure(mark.path)
                mark.version = (await self._zookeeper.get(mark.path)).version
        return mark.version

    async def _was_done(self, mark: _Mark, version: int, token: bytes) -> bool:
        """Return whether the transaction with this mark was carried out; if not, ensure that it never will be."""
        while True:
            try:
                await self._zookeeper.wait_connected(self._patience_s)
                await self._zookeeper.commit([SetDataOp(mark.path, _VOID, version)])
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
        """Strip the root from the paths in errors."""
        try:
            yield
        except ZnodeError as error:
            error.path = error.path.removeprefix(self._root)
            raise


async def check_snapshots(writer: SyncedZnodes, reader: SyncedZnodes, path: str, rounds: int = 100) -> bool:
    """Return whether this ensemble's multiRead is a snapshot. Two znodes are written together, and read together.

    ZooKeeper does not promise it (CommitProcessor lets reads and writes alternate "in the current implementation"), so
    each start checks it.
    """
    pair = [f"{path}/{name}" for name in ("one", "other")]
    await writer.ensure(path)
    await writer.commit([CreateOp(each, b"0", ephemeral=True) for each in pair])
    is_over = False

    async def write() -> None:
        nonlocal is_over
        try:
            for number in range(rounds):
                await writer.commit([SetDataOp(each, str(number).encode()) for each in pair])
        finally:
            is_over = True

    torn = False
    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        while not is_over:
            one, other = await reader.snapshot(pair)
            torn |= one is not None and other is not None and one.data != other.data
    return not torn
