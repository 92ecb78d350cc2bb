"""What the rooms above need of ZooKeeper.

Shapes and values; `nncache.coordination.session.Session` is the real thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

from nncache.coordination.acl import OPEN, Acl


@dataclass(slots=True, kw_only=True)
class SessionStats:
    """What a session with ZooKeeper did since it was started, and its present state."""

    is_connected: bool = False
    is_login_failing: bool = False
    connections: int = 0  # connections made, the first included
    sessions: int = 0  # sessions that ZooKeeper has granted
    sessions_given_up: int = 0  # of these, such as we gave up: too long without a connection, or refused
    calls: int = 0  # calls made; a read of many znodes is one for each
    calls_failed: int = 0  # times that a call found no connection, lost it, or got no answer in time
    writes: int = 0  # transactions carried out
    writes_refused: int = 0  # transactions that ZooKeeper refused: the tree was not as supposed


ANY_VERSION: Final = -1
"""For writes that may replace whatever is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """A znode as it was read (org.apache.zookeeper.data.Stat)."""

    path: str
    data: bytes
    version: int  # counts up with each change of the data
    created_zxid: int  # tells a znode from one of the same path that was deleted and made again
    children: int
    owner_session: int  # of an ephemeral znode; else 0
    created_ms: int = 0  # since 1970, by ZooKeeper's clock
    children_zxid: int = (
        0  # of the last transaction that made or deleted a child; of its own creation before that
    )


@dataclass(frozen=True, slots=True)
class ZnodeAcl:
    """Who may do what with a znode, as it was read."""

    acl: Acl
    version: int  # counts up with each change of the ACL


@dataclass(frozen=True, slots=True)
class Create:
    """Make a znode; its parent must be there.

    A sequential one gets a number behind its path (`sequential_name`): of how many children have been made below that
    parent before it, whatever has become of them.
    """

    path: str
    data: bytes
    ephemeral: bool = False
    acl: Acl = OPEN
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    """Replace the data of a znode of this version."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a znode of this version; it must have no children."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """See that a znode has this version."""

    path: str
    version: int


Operation: TypeAlias = Create | SetData | Delete | Check


def sequential_name(path: str, number: int) -> str:
    """Return the path of a sequential znode by its number (PrepRequestProcessor: ten digits at least)."""
    return f"{path}{number:010}"


class ZnodeWatch(Protocol):
    """Looks at the data of one path. Holds one ZooKeeper watch at most, whatever happens."""

    async def read(self) -> Znode | None:
        """Return the znode as it is, None if there is none; from here on `changed` looks for a change.

        Raises:
            ConnectionLostError: no answer.
            NotAllowedError: ZooKeeper's ACL forbids it.
        """

    async def changed(self, timeout_s: float) -> bool:
        """Return True as soon as the data may be other than last read, False after `timeout_s` seconds.

        A notification is one reason, a connection lost and found again is another: a watch may have been lost
        with it. False proves nothing.
        """


class Znodes(Protocol):
    """A tree of znodes: read, and changed by guarded transactions. `nncache.coordination.embedded` is one, too."""

    async def get(self, path: str) -> Znode:
        """Return a znode. Raises NoNodeError, NotAllowedError."""

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return many znodes, pipelined and bounded in flight; None for those that are not there."""

    async def children(self, path: str) -> tuple[str, ...]:
        """Return the names of the children, in no order. Raises NoNodeError, NotAllowedError."""

    async def commit(self, operations: Sequence[Operation]) -> None:
        """Carry out all of the operations or none (one ZooKeeper transaction).

        Raises:
            ZnodeError: in one of its kinds, for the first operation that can't be carried out; nothing was changed.
            ConnectionLostError: it is not known whether it was carried out.
        """


class SyncedZnodes(Znodes, Protocol):
    """What `nncache.coordination.linearizable` needs of a session with ZooKeeper. All calls may lose the connection.

    Calls are sent in the order in which they are begun, and over one connection carried out in that order.
    """

    @property
    def connection_id(self) -> int:
        """Counts up with every connection, and with every session; 0 before the first."""

    @property
    def session_id(self) -> int:
        """The present session's id, as in `Znode.owner_session`; 0 without one."""

    async def sync(self, path: str) -> None:
        """Return when this session's server has carried out all that was committed before the call.

        Later reads over the same connection see that.
        """

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Return znodes as they are at one moment, in one call; None for those that are not there.

        Raises UnknownCallError: the server, before ZooKeeper 3.6, has no such call.
        """

    async def wait_connected(self, timeout_s: float) -> None:
        """Return when there is a connection. Raises ConnectionLostError after `timeout_s` seconds."""

    async def ensure(self, path: str, acl: Acl = OPEN) -> None:
        """See that a znode is there, and those above it; those that are missing are made empty, with this ACL."""


class ZooKeeper(SyncedZnodes, Protocol):
    """One session with ZooKeeper. Every call has a deadline and may be cancelled.

    All calls raise ConnectionLostError when there is no connection or it was lost meanwhile; others as said.
    """

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as is known."""

    async def acl(self, path: str) -> ZnodeAcl:
        """Return a znode's ACL, which needs the right to read or to administer it.

        Raises:
            NoNodeError: there is no such znode.
            NotAllowedError: ZooKeeper's ACL forbids it.
        """

    async def set_acl(self, path: str, acl: Acl, version: int) -> None:
        """Replace the ACL of this version. ZooKeeper has no transaction that can do so.

        Raises:
            NoNodeError, BadVersionError: the znode is not there, or another client has set its ACL in between.
            NotAllowedError: ZooKeeper's ACL forbids it.
            ZnodeError: ZooKeeper knows no identities of such a scheme.
        """

    def watch(self, path: str) -> ZnodeWatch:
        """Return a look at the data of a path."""


class ZooKeeperSession(ZooKeeper, Protocol):
    """A ZooKeeper that its user begins and ends."""

    async def __aenter__(self) -> Self:
        """Begin to connect; do not wait for it."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the session, in bounded time."""

    def stats(self) -> SessionStats:
        """Return the session's figures."""
