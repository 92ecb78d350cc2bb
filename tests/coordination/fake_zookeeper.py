"""ZooKeeper without ZooKeeper, and sessions with it. (Checked against the real ones in tests/contracts.)

No thread, no socket, no chance: it works on any event loop, one whose time is virtual among them.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self

from nncache.coordination.acl import OPEN, Acl
from nncache.coordination.errors import (
    ConnectionLostError,
    CoordinationError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
)
from nncache.coordination.watches import Watcher, WatchHandle, ZnodeWatches
from nncache.coordination.zookeeper import Create, Operation, SessionStats, Znode, ZnodeAcl
from tests.coordination.fake_tree import ANYONE, FakeTree, Identities
from tests.coordination.fake_wire import SPACING_S, FakeWire, WireReply

SESSION_TIMEOUT_S = 6.0
FIRST_SESSION_ID = 0x1_0000_0000_0000


class FakeZooKeeper:
    """A server, and what may befall it.

    Attributes:
        tree: the znodes, for tests to look at; they write by a session of their own.
        latency_s: of each call, there and back.
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
        self._sessions: list[FakeSession] = []  # that have not been left
        self._last_session_id = FIRST_SESSION_ID - 1
        self._is_up = True
        self._loses_next_commit: bool | None = None  # before (False) or after (True) it was carried out
        self._watchers: dict[str, dict[FakeSession, Watcher]] = {}  # at most one for a session and a path

    @property
    def writes(self) -> int:
        """How many commits have been carried out."""
        return self.tree.writes

    @property
    def watches(self) -> int:
        """How many watches are set."""
        return sum(map(len, self._watchers.values()))

    def session(self, who: Identities = ANYONE) -> "FakeSession":
        """Return a session, connected if the server is up; `async with` it, or `close` it, or leave it at that.

        It has logged in as `who`.
        """
        session = FakeSession(self, who)
        self._sessions.append(session)
        if self._is_up:
            session.connect(self._new_session_id())
        return session

    # ---- what may befall it --------------------------------------------------------------------------------------

    def disconnect(self, session: "FakeSession | None" = None) -> None:
        """Cut all connections, or one session's, until `connect`. A session ends when that lasts too long."""
        self._is_up = session is not None
        for cut_off in self._sessions if session is None else [session]:
            if cut_off.is_connected:
                cut_off.disconnect()
                loop = asyncio.get_running_loop()
                loop.call_later(self.session_timeout_s + SPACING_S, self._end_if_too_long, cut_off)

    def connect(self) -> None:
        """Let everybody connect again."""
        self._is_up = True
        for session in self._sessions:
            if not session.is_connected:
                self._end_if_too_long(session)
                session.connect(session.session_id or self._new_session_id())

    def expire(self, session: "FakeSession") -> None:
        """End a session; its owner gets another one, at once if the server can be reached."""
        self._end(session)
        if self._is_up:
            session.connect(self._new_session_id())

    def wipe(self) -> None:
        """Lose all data, sessions included; everybody who is connected gets a new session at once."""
        self.tree = FakeTree()
        for session in self._sessions:
            was_connected = session.is_connected
            session.disconnect()
            session.session_id = 0
            if was_connected:
                session.connect(self._new_session_id())

    def lose_next_commit(self, *, after: bool) -> None:
        """Cut the connection under the next commit that arrives, before or after carrying it out, for a moment."""
        self._loses_next_commit = after

    # ---- what sessions ask ---------------------------------------------------------------------------------------

    def commit(self, session: "FakeSession", operations: Sequence[Operation]) -> None:
        """Carry out a commit that has arrived."""
        loses, self._loses_next_commit = self._loses_next_commit, None
        if loses is not False:
            self._fire(self.tree.commit(operations, session.session_id, session.who))
        if loses is not None:
            session.disconnect()
            session.connect(session.session_id)

    def read(self, session: "FakeSession", path: str, watcher: Watcher | None) -> Znode:
        """Return a znode, and set a watch if there is one to set."""
        znode = self.tree.read(path, session.who)
        self._watch(session, path, watcher)
        return znode

    def exists(self, session: "FakeSession", path: str, watcher: Watcher | None) -> bool:
        """Tell whether a znode is there, and set a watch if there is one to set."""
        is_there = self.tree.exists(path, session.who)
        self._watch(session, path, watcher)
        return is_there

    def forget_watches(self, session: "FakeSession") -> None:
        """Drop the watches of a connection that is lost."""
        for watchers in self._watchers.values():
            watchers.pop(session, None)

    def leave(self, session: "FakeSession") -> None:
        """Let a session end for good."""
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
    """A session with the fake; what it promises is said in `nncache.coordination.zookeeper.ZooKeeper`."""

    def __init__(self, server: FakeZooKeeper, who: Identities = ANYONE) -> None:
        self.who = who
        self.session_id = 0
        self.connection_id = 0
        self.lost_at = 0.0  # since when it is not connected
        self._server = server
        self._wire: FakeWire | None = None  # the present connection
        self._connected = asyncio.Event()
        self._sessions = 0  # counts
        self._watches = ZnodeWatches(self)
        self._counters = SessionStats()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave; nothing follows."""
        self._server.leave(self)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection."""
        return self._wire is not None

    def stats(self) -> SessionStats:
        """Return the figures."""
        return replace(
            self._counters,
            is_connected=self.is_connected,
            connections=self.connection_id,
            sessions=self._sessions,
        )

    async def wait_connected(self, timeout_s: float) -> None:
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
        """Return many znodes."""
        asked = [self._send(partial(self._server.read, self, path, None)) for path in paths]
        found: list[Znode | None] = []
        for future in asked:
            try:
                found.append(await self._value(future))
            except NoNodeError:
                found.append(None)
        return tuple(found)

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return znodes, all read as the call arrives."""

        def read() -> tuple[Znode | None, ...]:
            return tuple(
                self._server.read(self, path, None) if self._server.tree.has(path) else None for path in paths
            )

        found: tuple[Znode | None, ...] = await self._call(read)
        return found

    async def sync(self, path: str) -> None:
        """Return; there is one server, which is never behind."""
        await self._call(lambda: path)

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children."""
        names: tuple[str, ...] = await self._call(lambda: self._server.tree.children(path, self.who))
        return names

    async def commit(self, operations: Sequence[Operation]) -> None:
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

    async def ensure(self, path: str, acl: Acl = OPEN) -> None:
        """Make a path."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            above = "/" + "/".join(parts[:depth])
            with contextlib.suppress(NodeExistsError, NotAllowedError):
                if not await self.exists(above, None):
                    await self.commit([Create(above, b"", acl=acl)])

    def watch(self, path: str) -> WatchHandle:
        """Return a look at a path."""
        return self._watches.look(path)

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode, for looks."""
        znode: Znode = await self._call(lambda: self._server.read(self, path, watcher))
        return znode

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Tell whether there is one, for looks."""
        is_there: bool = await self._call(lambda: self._server.exists(self, path, watcher))
        return is_there

    # ---- what the server does ------------------------------------------------------------------------------------

    def connect(self, session_id: int) -> None:
        """Be connected, with this session."""
        self._sessions += session_id != self.session_id
        self.session_id = session_id
        self.connection_id += 1
        self._wire = FakeWire(lambda: self._server.latency_s)
        self._connected.set()
        self._watches.reconnected()

    def disconnect(self) -> None:
        """Lose the connection; what is under way fails."""
        if self._wire is not None:
            self.lost_at = self._server.clock()
            self._connected.clear()
            self._server.forget_watches(self)
            self._wire.cut()
            self._wire = None

    def notify(self, watcher: Watcher) -> None:
        """Tell that a watch has fired, as late as an answer would come."""
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
