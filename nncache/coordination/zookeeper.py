"""The interface of ZooKeeper for the rooms above.

Protocols and values; `nncache.coordination.session.KazooSession` implements them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from nncache.coordination.acl import OPEN_ACL, Acl


@dataclass(slots=True, kw_only=True)
class SessionStats:
    """Figures of a session with ZooKeeper since start, and its current state."""

    is_connected: bool = False
    is_login_failing: bool = False
    connections: int = 0  # including the first one
    sessions: int = 0  # sessions that ZooKeeper granted
    sessions_given_up: int = 0  # sessions abandoned by this client: too long without a connection, or refused
    calls: int = 0  # each znode of a read of many counts
    calls_failed: int = 0  # calls without a connection, with a lost one, or without an answer in time
    writes: int = 0  # transactions carried out
    writes_refused: int = 0  # transactions that ZooKeeper refused: the tree did not match


ANY_VERSION: Final = -1
"""For writes that replace any version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """A znode as it was read (org.apache.zookeeper.data.Stat)."""

    path: str
    data: bytes
    version: int  # incremented by each change of the data
    created_zxid: int  # differs if a znode of the same path was deleted and created again
    children: int
    owner_session: int  # of an ephemeral znode; 0 for others
    created_ms: int = 0  # since 1970, by ZooKeeper's clock
    children_zxid: int = 0  # last transaction that created or deleted a child; its own creation before that


@dataclass(frozen=True, slots=True)
class ZnodeAcl:
    """A znode's ACL as it was read."""

    acl: Acl
    version: int  # incremented by each change of the ACL


@dataclass(frozen=True, slots=True)
class CreateOp:
    """Create a znode; its parent must exist.

    A number is appended to the path of a sequential znode (`sequential_name`): the number of children that the parent
    has had before, including deleted ones.
    """

    path: str
    data: bytes
    ephemeral: bool = False
    acl: Acl = OPEN_ACL
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetDataOp:
    """Replace the data of a znode that has this version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class DeleteOp:
    """Delete a znode that has this version and no children."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class CheckOp:
    """Require that a znode has this version."""

    path: str
    version: int


ZnodeOp: TypeAlias = CreateOp | SetDataOp | DeleteOp | CheckOp


def sequential_name(path: str, number: int) -> str:
    """Return the path of a sequential znode by its number (PrepRequestProcessor: at least ten digits)."""
    return f"{path}{number:010}"


class ZnodeWatch(Protocol):
    """Watches the data of one path. It holds at most one ZooKeeper watch at any time."""

    async def read(self) -> Znode | None:
        """Return the current znode, None if there is none; `changed` waits for a change after this read.

        Raises:
            ConnectionLostError: no answer.
            NotAllowedError: ZooKeeper's ACL refuses the read.
        """

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as the data may differ from the last read, False after `timeout_s` seconds.

        The cause is a fired watch, or a new connection: the watch was lost with the old one. False proves nothing: the
        data may have changed.
        """


class Znodes(Protocol):
    """A tree of znodes: read, and changed by conditional transactions. `nncache.coordination.embedded` is another."""

    async def get(self, path: str) -> Znode:
        """Return a znode. Raises NoNodeError, NotAllowedError."""

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes, pipelined with a bounded number in flight; None for each that does not exist."""

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children, in any order. Raises NoNodeError, NotAllowedError."""

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out all of the operations or none, in one ZooKeeper transaction.

        Raises:
            ZnodeError: a subclass, for the first operation that cannot be carried out; nothing was changed.
            ConnectionLostError: whether it was carried out is unknown.
        """


class SyncedZnodes(Znodes, Protocol):
    """A session with ZooKeeper, as `nncache.coordination.linearizable` needs it. Every call may lose the connection.

    Calls are sent in the order in which they begin; those over one connection are carried out in that order.
    """

    @property
    def connection_id(self) -> int:
        """Incremented by every connection and every new session; 0 before the first connection."""

    @property
    def session_id(self) -> int:
        """The current session's id, as in `Znode.owner_session`; 0 without a session."""

    async def sync(self, path: str) -> None:
        """Wait until this session's server has applied all transactions that were committed before the call.

        Later reads over the same connection see them.
        """

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return the znodes at one moment, in one call; None for each that does not exist.

        Raises UnknownCallError if the server is older than ZooKeeper 3.6, which introduced the call.
        """

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Wait for a connection. Raises ConnectionLostError after `timeout_s` seconds; None: wait without a limit."""

    async def ensure(self, path: str, acl: Acl = OPEN_ACL) -> None:
        """Create a znode and its ancestors where they are missing, without data, with this ACL."""


class ZooKeeper(SyncedZnodes, Protocol):
    """A session with ZooKeeper. Every call but `wait_connected` has a deadline of its own, and all can be cancelled.

    All calls raise ConnectionLostError if there is no connection or it is lost during the call; others are listed.
    """

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as this client knows."""

    async def acl(self, path: str) -> ZnodeAcl:
        """Return a znode's ACL. This requires READ or ADMIN permission.

        Raises:
            NoNodeError: the znode does not exist.
            NotAllowedError: ZooKeeper's ACL refuses it.
        """

    async def set_acl(self, path: str, acl: Acl, version: int) -> None:
        """Replace the ACL that has this version. ZooKeeper's transactions do not support this.

        Raises:
            NoNodeError, BadVersionError: the znode does not exist, or another client has set its ACL in between.
            NotAllowedError: ZooKeeper's ACL refuses it.
            ZnodeError: ZooKeeper has no identities of such a scheme.
        """

    def watch(self, path: str) -> ZnodeWatch:
        """Return a watch on the data of a path."""


class ZooKeeperSession(ZooKeeper, Protocol):
    """A ZooKeeper session that its user starts and ends."""

    async def __aenter__(self) -> Self:
        """Start to connect, without waiting."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the session in bounded time."""

    def stats(self) -> SessionStats:
        """Return the session's figures."""
