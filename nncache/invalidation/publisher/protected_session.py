"""Make every znode with its ACL.

The one place where a publisher's znodes get their ACLs: what writes them need not think of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self

from nncache.coordination.acl import OPEN, Acl
from nncache.coordination.stats import SessionStats
from nncache.coordination.zookeeper import (
    Create,
    Operation,
    Znode,
    ZnodeAcl,
    ZnodeWatch,
    ZooKeeperSession,
)


class ProtectedSession:
    """A ZooKeeperSession that gives each znode that it makes the ACL of its path."""

    def __init__(self, session: ZooKeeperSession, acl_of: Callable[[str], Acl]) -> None:
        self._session = session
        self._acl_of = acl_of

    async def __aenter__(self) -> Self:
        await self._session.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.__aexit__(kind, error, trace)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._session.is_connected

    @property
    def connection_id(self) -> int:
        """Counts up with every connection, and with every session; 0 before the first."""
        return self._session.connection_id

    @property
    def session_id(self) -> int:
        """The present session's id; 0 without one."""
        return self._session.session_id

    def stats(self) -> SessionStats:
        """Return the session's figures."""
        return self._session.stats()

    async def wait_connected(self, timeout_s: float) -> None:
        """Return when there is a connection; see ZooKeeper."""
        await self._session.wait_connected(timeout_s)

    async def get(self, path: str) -> Znode:
        """Return a znode; see ZooKeeper."""
        return await self._session.get(path)

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes; see ZooKeeper."""
        return await self._session.get_many(paths)

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children; see ZooKeeper."""
        return await self._session.children(path)

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Carry out all of the operations or none; see ZooKeeper."""
        await self._session.commit([self._protected(each) for each in operations])

    async def ensure(self, path: str, acl: Acl = OPEN) -> None:
        """See that a znode is there, and those above it; see ZooKeeper.

        What is above has the ACL of `path`, too.
        """
        await self._session.ensure(path, self._acl_of(path) if acl == OPEN else acl)

    async def acl(self, path: str) -> ZnodeAcl:
        """Return a znode's ACL; see ZooKeeper."""
        return await self._session.acl(path)

    async def set_acl(self, path: str, acl: Acl, version: int) -> None:
        """Replace the ACL of this version; see ZooKeeper."""
        await self._session.set_acl(path, acl, version)

    def watch(self, path: str) -> ZnodeWatch:
        """Return a look at the data of a path."""
        return self._session.watch(path)

    def _protected(self, operation: Operation) -> Operation:
        if isinstance(operation, Create) and operation.acl == OPEN:
            return replace(operation, acl=self._acl_of(operation.path))
        return operation
