"""A session with ZooKeeper for asyncio, based on kazoo.

The implementation of the protocols in `coordination/zookeeper.py`.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias

from kazoo.client import KazooClient
from kazoo.interfaces import IAsyncResult

from nncache.coordination import translation
from nncache.coordination.acl import OPEN_ACL, Acl
from nncache.coordination.connection import ZooKeeperConnection
from nncache.coordination.errors import (
    ConnectionLostError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
    UnknownCallError,
)
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.many_reads import AT_ONCE, GetDataReply, send_many_reads
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.watches import Watcher, WatchHandle, ZnodeWatches
from nncache.coordination.zookeeper import CreateOp, SessionStats, Znode, ZnodeAcl, ZnodeOp

_Send: TypeAlias = Callable[[KazooClient], IAsyncResult]


class KazooSession:
    """The ZooKeeper of `nncache.coordination.zookeeper`, while it is entered.

    Entering does not wait for a connection; the session connects, and reconnects, by itself. Leaving closes the
    session in at most 2 seconds. One task may enter it and another leave it, on one event loop.

    Every call but `wait_connected` ends within the session's timeout, `get_many` within this time for each hundred
    znodes.
    """

    def __init__(
        self,
        settings: ZooKeeperSettings,
        clock: Callable[[], float],
        *,
        log_name: str = "",
        login: ZooKeeperLogin | None = None,
    ) -> None:
        """Prepare a session; `log_name` prefixes its log lines, and each connection logs in with `login`."""
        self._watches = ZnodeWatches(self)
        self._connection = ZooKeeperConnection(
            settings, clock, log_name=log_name, on_connected=self._watches.reconnected, login=login
        )
        self._counters = SessionStats()
        self._reads_many = True  # until a server older than ZooKeeper 3.6 rejects the call

    async def __aenter__(self) -> Self:
        self._connection.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as this client knows."""
        return self._connection.is_connected

    @property
    def connection_id(self) -> int:
        """Incremented by every connection and every new session; 0 before the first connection."""
        return self._connection.connections

    @property
    def session_id(self) -> int:
        """The current session's id; 0 without a session."""
        return self._connection.session_id

    def stats(self) -> SessionStats:
        """Return the figures."""
        return replace(
            self._counters,
            is_connected=self.is_connected,
            is_login_failing=self._connection.is_login_failing,
            connections=self._connection.connections,
            sessions=self._connection.sessions,
            sessions_given_up=self._connection.sessions_given_up,
        )

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Wait for a connection. Raises ConnectionLostError after `timeout_s` seconds; None: wait without a limit."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._connection.wait()
        except TimeoutError as exc:
            raise ConnectionLostError(self._connection.complaint) from exc

    async def get(self, path: str) -> Znode:
        """Return a znode. Raises NoNodeError, NotAllowedError."""
        return await self.read(path, None)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes, in few calls; None for each that does not exist."""
        found: list[Znode | None] = []
        for start in range(0, len(paths), AT_ONCE):
            found += await self._chunk(paths[start : start + AT_ONCE])
        return tuple(found)

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return the znodes at one moment, in one call; see SyncedZnodes.snapshot."""
        return tuple(await self._many(paths)) if paths else ()

    async def sync(self, path: str) -> None:
        """Wait until the server has applied all earlier transactions; see SyncedZnodes.sync."""
        await self._call(path, lambda kazoo: kazoo.sync_async(path))

    async def children(self, path: str, watcher: Watcher | None = None) -> tuple[str, ...]:
        """Return the names of the children, in any order; with a watcher, set a watch on them.

        Raises NoNodeError, NotAllowedError; no watch is set then.
        """
        return tuple(await self._call(path, lambda kazoo: kazoo.get_children_async(path, watcher)))

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out all of the operations or none; see ZooKeeper.commit."""
        if not operations:
            return
        where = operations[0].path
        results = await self._call(where, lambda kazoo: translation.begin_transaction(kazoo, operations))
        refusal = translation.refusal(operations, results)
        if refusal is not None:
            self._counters.writes_refused += 1
            raise refusal
        self._counters.writes += 1

    async def ensure(self, path: str, acl: Acl = OPEN_ACL) -> None:
        """Create a znode and its ancestors where they are missing; see ZooKeeper.ensure."""
        missing: list[str] = []
        while path and not await self._is_there(path):
            missing.append(path)
            path = path.rpartition("/")[0]
        for absent in reversed(missing):
            try:
                await self.commit([CreateOp(absent, b"", acl=acl)])
            except NodeExistsError:
                continue  # another client has created it in between

    async def acl(self, path: str) -> ZnodeAcl:
        """Return a znode's ACL; see ZooKeeper.acl."""
        return translation.znode_acl(await self._call(path, lambda kazoo: kazoo.get_acls_async(path)))

    async def set_acl(self, path: str, acl: Acl, version: int) -> None:
        """Replace the ACL of this version; see ZooKeeper.set_acl."""
        entries = translation.kazoo_acl(acl)
        await self._call(path, lambda kazoo: kazoo.set_acls_async(path, entries, version))

    def watch(self, path: str) -> WatchHandle:
        """Return a watch on the data of a path."""
        return self._watches.look(path)

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode; see WatchedReads."""
        return translation.znode(path, await self._call(path, lambda kazoo: kazoo.get_async(path, watcher)))

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Return whether a znode exists; see WatchedReads."""
        return await self._call(path, lambda kazoo: kazoo.exists_async(path, watcher)) is not None

    async def _is_there(self, path: str) -> bool:
        try:
            return await self.exists(path, None)
        except NotAllowedError:
            return True  # only an existing znode can be refused (ZOOKEEPER-2590)

    async def _call(self, path: str, send: _Send) -> Any:  # noqa: ANN401 - kazoo has no types
        """Make a call and return kazoo's value, within the timeout."""
        self._counters.calls += 1
        try:
            return self._value(path, await self._reply(path, send))
        except ConnectionLostError:
            self._counters.calls_failed += 1
            raise

    async def _reply(self, path: str, send: _Send) -> IAsyncResult | None:
        timeout_s = self._connection.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await (await self._connection.client().begin(send))
        except TimeoutError as exc:
            raise ConnectionLostError(
                f"{path}: no answer from {self._connection.name} in {timeout_s:g} s"
            ) from exc

    async def _chunk(self, paths: Sequence[str]) -> list[Znode | None]:
        connection = self.connection_id
        try:
            if self._reads_many:
                return await self._many(paths)
        except UnknownCallError as error:
            self._reads_many = False
            await self._other_connection(connection, error)
        return [await self._found(path) for path in paths]

    async def _other_connection(self, connection: int, error: UnknownCallError) -> None:
        """Wait for the connection after this one, which the server closes because of a call that it does not know."""
        try:
            async with asyncio.timeout(self._connection.timeout_s):
                while self.connection_id == connection:
                    await self._watches.wait()
        except TimeoutError:
            raise error from None

    async def _many(self, paths: Sequence[str]) -> list[Znode | None]:
        replies = await self._call(paths[0], partial(send_many_reads, paths=paths))
        return [self._read(path, reply) for path, reply in zip(paths, replies, strict=True)]

    def _read(self, path: str, reply: GetDataReply) -> Znode | None:
        if not isinstance(reply, Exception):
            return translation.znode(path, reply)
        failure = translation.failure(path, reply)
        if isinstance(failure, NoNodeError):
            return None
        raise failure from reply

    async def _found(self, path: str) -> Znode | None:
        try:
            return await self.read(path, None)
        except NoNodeError:
            return None

    def _value(self, path: str, reply: IAsyncResult | None) -> Any:  # noqa: ANN401 - kazoo has no types
        if reply is None:
            raise ConnectionLostError(
                f"{path}: the connection to {self._connection.name} was lost before an answer came"
            )
        if reply.exception is not None:
            raise translation.failure(path, reply.exception) from reply.exception
        return reply.value
