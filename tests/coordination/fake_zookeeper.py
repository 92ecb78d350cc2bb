"""A fake ZooKeeper server, and sessions with it. (Checked against real servers in tests/contracts.)

It uses no thread, socket or randomness, so it works on any event loop, also in virtual time.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from nncache.coordination.acl import OPEN_ACL, Acl
from nncache.coordination.errors import (
    ConnectionLostError,
    CoordinationError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
)
from nncache.coordination.watches import Watcher, WatchHandle, ZnodeWatches
from nncache.coordination.zookeeper import CreateOp, SessionStats, Znode, ZnodeAcl, ZnodeOp
from tests.coordination.fake_tree import ANYONE, FakeTree, Identities
from tests.coordination.fake_wire import SPACING_S, FakeWire, WireReply

SESSION_TIMEOUT_S = 6.0
FIRST_SESSION_ID = 0x1_0000_0000_0000


class FakeZooKeeper:
    """A server, and the faults that it can suffer.

    Attributes:
        tree: the znodes, for tests to read; they write through sessions.
        latency_s: the round-trip time of each call.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        latency_s: float = 0.002,
        session_timeout_s: float = SESSION_TIMEOUT_S,
    ) -> None:
        self.tree = FakeTree()
        self.latency_s = latency_s
        self.session_timeout_s = session_timeout_s
        self.clock = clock
        self._sessions: list[FakeSession] = []  # those that were not closed
        self._last_session_id = FIRST_SESSION_ID - 1
        self._is_up = True
        self._loses_next_commit: bool | None = None  # before (False) or after (True) it takes effect
        self._watchers: dict[str, dict[FakeSession, Watcher]] = {}  # at most one for each session and path

    @property
    def writes(self) -> int:
        """The number of commits carried out."""
        return self.tree.writes

    @property
    def watches(self) -> int:
        """The number of watches set."""
        return sum(map(len, self._watchers.values()))

    def session(self, who: Identities = ANYONE) -> "FakeSession":
        """Return a session of `who`, connected if the server is up. Entering or closing it is optional."""
        session = FakeSession(self, who)
        self._sessions.append(session)
        if self._is_up:
            session.connect(self._new_session_id())
        return session

    # ---- faults --------------------------------------------------------------------------------------------------

    def disconnect(self, session: "FakeSession | None" = None) -> None:
        """Cut all connections, or one session's, until `connect`. Sessions expire after their timeout."""
        self._is_up = session is not None
        for cut_off in self._sessions if session is None else [session]:
            if cut_off.is_connected:
                cut_off.disconnect()
                loop = asyncio.get_running_loop()
                loop.call_later(self.session_timeout_s + SPACING_S, self._end_if_too_long, cut_off)

    def connect(self) -> None:
        """Let all sessions connect again."""
        self._is_up = True
        for session in self._sessions:
            if not session.is_connected:
                self._end_if_too_long(session)
                session.connect(session.session_id or self._new_session_id())

    def expire(self, session: "FakeSession") -> None:
        """Expire a session; its owner gets another one, immediately if the server is up."""
        self._end(session)
        if self._is_up:
            session.connect(self._new_session_id())

    def wipe(self) -> None:
        """Lose all data and sessions; each connected client gets a new session immediately."""
        self.tree = FakeTree()
        for session in self._sessions:
            was_connected = session.is_connected
            session.disconnect()
            session.session_id = 0
            if was_connected:
                session.connect(self._new_session_id())

    def lose_next_commit(self, *, after: bool) -> None:
        """Cut the connection briefly at the next commit, before or after it takes effect."""
        self._loses_next_commit = after

    # ---- calls of sessions ---------------------------------------------------------------------------------------

    def commit(self, session: "FakeSession", operations: Sequence[ZnodeOp]) -> None:
        """Carry out a commit that has arrived from a session."""
        loses, self._loses_next_commit = self._loses_next_commit, None
        if loses is not False:
            self._fire(self.tree.commit(operations, session.session_id, session.who))
        if loses is not None:
            session.disconnect()
            session.connect(session.session_id)

    def read(self, session: "FakeSession", path: str, watcher: Watcher | None) -> Znode:
        """Return a znode, and set the watch if one is given."""
        znode = self.tree.read(path, session.who)
        self._watch(session, path, watcher)
        return znode

    def exists(self, session: "FakeSession", path: str, watcher: Watcher | None) -> bool:
        """Return whether a znode exists, and set the watch if one is given."""
        is_there = self.tree.exists(path, session.who)
        self._watch(session, path, watcher)
        return is_there

    def forget_watches(self, session: "FakeSession") -> None:
        """Drop the watches of a session whose connection is lost."""
        for watchers in self._watchers.values():
            watchers.pop(session, None)

    def leave(self, session: "FakeSession") -> None:
        """Close a session."""
        if session in self._sessions:
            self._sessions.remove(session)
            self._end(session)

    def _new_session_id(self) -> int:
        self._last_session_id += 1
        return self._last_session_id

    def _watch(self, session: "FakeSession", path: str, watcher: Watcher | None) -> None:
        if watcher is not None:
            self._watchers.setdefault(path, {})[session] = watcher

    def _fire(self, paths: Sequence[str]) -> None:
        for path in paths:
            for session, watcher in self._watchers.pop(path, {}).items():
                session.notify(watcher)

    def _end(self, session: "FakeSession") -> None:
        ended = session.session_id
        session.disconnect()
        session.session_id = 0
        self._fire(self.tree.end_session(ended))

    def _end_if_too_long(self, session: "FakeSession") -> None:
        is_too_long = self.clock() - session.lost_at > self.session_timeout_s
        if session.session_id and not session.is_connected and is_too_long:
            self._end(session)


class FakeSession:
    """A session with the fake, with the contract of `nncache.coordination.zookeeper.ZooKeeper`."""

    def __init__(self, server: FakeZooKeeper, who: Identities = ANYONE) -> None:
        self.who = who
        self.session_id = 0
        self.connection_id = 0
        self.lost_at = 0.0  # the time of the last disconnect
        self._server = server
        self._wire: FakeWire | None = None  # the present connection
        self._connected = asyncio.Event()
        self._sessions = 0  # number of sessions so far
        self._watches = ZnodeWatches(self)
        self._counters = SessionStats()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the session."""
        self._server.leave(self)

    @property
    def is_connected(self) -> bool:
        """Whether the session is connected."""
        return self._wire is not None

    def stats(self) -> SessionStats:
        """Return the figures."""
        return replace(
            self._counters,
            is_connected=self.is_connected,
            connections=self.connection_id,
            sessions=self._sessions,
        )

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Wait for a connection."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._connected.wait()
        except TimeoutError as exc:
            raise ConnectionLostError("no connection to the fake") from exc

    async def get(self, path: str) -> Znode:
        """Return a znode."""
        return await self.read(path, None)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes; None for each that does not exist."""
        asked = [self._send(partial(self._server.read, self, path, None)) for path in paths]
        found: list[Znode | None] = []
        for future in asked:
            try:
                found.append(await self._value(future))
            except NoNodeError:
                found.append(None)
        return tuple(found)

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return znodes; all are read when the call arrives."""

        def read() -> tuple[Znode | None, ...]:
            return tuple(
                self._server.read(self, path, None) if self._server.tree.has(path) else None for path in paths
            )

        found: tuple[Znode | None, ...] = await self._call(read)
        return found

    async def sync(self, path: str) -> None:
        """Wait for a round trip; the single server is never behind."""
        await self._call(lambda: path)

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children."""
        names: tuple[str, ...] = await self._call(lambda: self._server.tree.children(path, self.who))
        return names

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction."""
        if not operations:
            return
        try:
            await self._call(lambda: self._server.commit(self, operations))
        except CoordinationError as exc:
            self._counters.writes_refused += not isinstance(exc, ConnectionLostError)
            raise
        self._counters.writes += 1

    async def acl(self, path: str) -> ZnodeAcl:
        """Return a znode's ACL."""
        found: ZnodeAcl = await self._call(lambda: self._server.tree.acl(path, self.who))
        return found

    async def set_acl(self, path: str, acl: Acl, version: int) -> None:
        """Set a znode's ACL."""
        await self._call(lambda: self._server.tree.set_acl(path, acl, version, self.who))

    async def ensure(self, path: str, acl: Acl = OPEN_ACL) -> None:
        """Create a path with its ancestors."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            above = "/" + "/".join(parts[:depth])
            with contextlib.suppress(NodeExistsError, NotAllowedError):
                if not await self.exists(above, None):
                    await self.commit([CreateOp(above, b"", acl=acl)])

    def watch(self, path: str) -> WatchHandle:
        """Return a watch on a path."""
        return self._watches.look(path)

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode and set the watch; for `ZnodeWatches`."""
        znode: Znode = await self._call(lambda: self._server.read(self, path, watcher))
        return znode

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Return whether a znode exists and set the watch; for `ZnodeWatches`."""
        is_there: bool = await self._call(lambda: self._server.exists(self, path, watcher))
        return is_there

    # ---- called by the server ------------------------------------------------------------------------------------

    def connect(self, session_id: int) -> None:
        """Connect with this session."""
        self._sessions += session_id != self.session_id
        self.session_id = session_id
        self.connection_id += 1
        self._wire = FakeWire(lambda: self._server.latency_s)
        self._connected.set()
        self._watches.reconnected()

    def disconnect(self) -> None:
        """Lose the connection; calls in flight fail."""
        if self._wire is not None:
            self.lost_at = self._server.clock()
            self._connected.clear()
            self._server.forget_watches(self)
            self._wire.cut()
            self._wire = None

    def notify(self, watcher: Watcher) -> None:
        """Deliver a watch event, with the latency of a reply."""
        if self._wire is not None:
            self._wire.tell(watcher)

    # ---- calls ---------------------------------------------------------------------------------------------------

    async def _call(self, request: Callable[[], object]) -> Any:
        return await self._value(self._send(request))

    def _send(self, request: Callable[[], object]) -> asyncio.Future[WireReply]:
        self._counters.calls += 1
        if self._wire is None:
            self._counters.calls_failed += 1
            raise ConnectionLostError("no connection to the fake")
        return self._wire.ask(request)

    async def _value(self, future: asyncio.Future[WireReply]) -> Any:
        try:
            async with asyncio.timeout(self._server.session_timeout_s):
                answer = await future
        except TimeoutError as exc:
            self._counters.calls_failed += 1
            raise ConnectionLostError("no answer from the fake in time") from exc
        if answer.error is not None:
            self._counters.calls_failed += isinstance(answer.error, ConnectionLostError)
            raise answer.error
        return answer.value
