"""Create znodes with the ACLs that they must have, and repair other ACLs.

All of a publisher's znodes get their ACLs here, so the code that writes them does not handle ACLs. ZooKeeper sets ACLs
one by one, outside transactions: each call names the version of the ACL that was read, so that a late call changes
nothing.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from nncache.coordination.acl import OPEN_ACL, Acl, is_same, shown
from nncache.coordination.errors import BadVersionError, NoNodeError, NotAllowedError
from nncache.coordination.task_group import each_bounded
from nncache.coordination.zookeeper import (
    CreateOp,
    ZnodeOp,
    ZooKeeper,
    ZooKeeperSession,
)
from nncache.invalidation.publisher.stats import OutputStats
from nncache.net.some_names import some_names

AT_ONCE: Final = 32
"""Znodes checked at the same time."""

MAX_LOGGED: Final = 10_000
"""Paths that are remembered as logged."""

MAX_SHOWN: Final = 200
"""Characters of an ACL that the log shows."""

_log = logging.getLogger(__name__)


class AclRepair:
    """Compares and repairs ACLs. It outlasts the publisher's runs."""

    def __init__(self, zookeeper: ZooKeeper, acl_of: Callable[[str], Acl], counts: OutputStats) -> None:
        self._zookeeper = zookeeper
        self._acl_of = acl_of
        self._counts = counts
        self._logged: set[str] = set()  # paths whose ACLs we may not set

    async def repair(self, paths: Iterable[str]) -> None:
        """Set the ACL of each of these znodes that has a different one, and log it; missing znodes are ignored.

        Raises:
            CoordinationError: ZooKeeper does not answer, or does not know the scheme of an identity.
        """
        repaired, kept = await self._settle(paths)
        self._counts.acls_repaired += len(repaired)
        if repaired:
            _log.warning(
                "%d znodes had other ACLs than they must have, which this publisher has set again: %s",
                len(repaired),
                some_names(
                    [f"{path} (had {before[:MAX_SHOWN]})" for path, before in sorted(repaired.items())]
                ),
            )
        news = sorted(kept - self._logged)
        if news:
            if len(self._logged) + len(news) > MAX_LOGGED:
                self._logged.clear()
            self._logged.update(news)
            _log.error(
                "%d znodes have ACLs that this publisher may not look at or set, so that others may be able to write "
                "there: %s. Delete them as an administrator of ZooKeeper, or give this publisher's identity all rights "
                "to them",
                len(news),
                some_names(news),
            )

    async def apply(self, paths: Iterable[str]) -> None:
        """Set ACLs that have to change from now on, without a log line; raises the same errors as `repair`."""
        await self._settle(paths)

    async def _settle(self, paths: Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """Return the repaired paths with their former ACLs, and the paths that we may not repair."""
        repaired: dict[str, str] = {}
        kept: set[str] = set()

        async def settle(path: str) -> None:
            try:
                found = await self._zookeeper.acl(path)
                wanted = self._acl_of(path)
                if not is_same(found.acl, wanted):
                    await self._zookeeper.set_acl(path, wanted, found.version)
                    repaired[path] = shown(found.acl)
            except (NoNodeError, BadVersionError):
                return  # deleted, or set by a client that was faster and knows more
            except NotAllowedError:
                kept.add(path)

        await each_bounded(paths, settle, at_once=AT_ONCE)
        return repaired, kept


class ProtectedSession:
    """A ZooKeeperSession that gives each new znode the ACL of its path."""

    def __init__(self, session: ZooKeeperSession, acl_of: Callable[[str], Acl]) -> None:
        self._session = session
        self._acl_of = acl_of
        self.stats = session.stats
        self.wait_connected = session.wait_connected
        self.get = session.get
        self.get_many = session.get_many
        self.snapshot = session.snapshot
        self.children = session.children
        self.acl = session.acl
        self.set_acl = session.set_acl
        self.watch = session.watch
        self.sync = session.sync

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
        """Incremented with every connection and every session; 0 before the first."""
        return self._session.connection_id

    @property
    def session_id(self) -> int:
        """The id of the present session; 0 without one."""
        return self._session.session_id

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out all of the operations or none; see ZooKeeper."""
        await self._session.commit([self._protected(each) for each in operations])

    async def ensure(self, path: str, acl: Acl = OPEN_ACL) -> None:
        """Create a znode and its ancestors where they are missing; see ZooKeeper.

        The ancestors get the ACL of `path` as well.
        """
        await self._session.ensure(path, self._acl_of(path) if acl == OPEN_ACL else acl)

    def _protected(self, operation: ZnodeOp) -> ZnodeOp:
        if isinstance(operation, CreateOp) and operation.acl == OPEN_ACL:
            return replace(operation, acl=self._acl_of(operation.path))
        return operation
