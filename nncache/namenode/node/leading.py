"""The election of the NameNode, among those on one store, that is active and does the periodic work.

Each of them serves all calls. The NameNode that holds `/active`, an ephemeral znode, leads; the transaction that
creates it increments the epoch. Each transaction of the leader's own work checks that the epoch is still its own, so a
leader that was paused while another was elected changes nothing when it resumes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nncache.coordination.errors import CoordinationError, ZnodeError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import CheckOp, CreateOp, SetDataOp, Znode, ZnodeOp, Znodes
from nncache.namenode.namespace import layout


class NotLeadingError(CoordinationError):
    """Another NameNode leads, or none does, or a claim has ended; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a NameNode is active, and since when, by its own clock or the epoch's (0: since its start)."""

    is_active: bool
    since_ms: int = 0


class Leader:
    """Takes part in the election of the leader.

    Invariants:
        L1  At each moment at most one NameNode's `standing` is active: it reads the holder of `/active`.
        L2  `fence` fails for good once another NameNode has been elected.
    """

    def __init__(self, znodes: LinearizableZnodes, name: str, wall_ms: Callable[[], int]) -> None:
        self._znodes = znodes
        self._name = name
        self._wall_ms = wall_ms
        self._fence: CheckOp | None = None

    async def standing(self) -> Standing:
        """Return whether this NameNode is active, and since when."""
        holder, epoch = await self._znodes.get_many([layout.ACTIVE, layout.EPOCH])
        if holder is None or epoch is None or not self._holds(holder):
            return Standing(is_active=False)
        return Standing(is_active=True, since_ms=_since(epoch))

    async def try_to_lead(self) -> bool:
        """Become the leader if there is none. Return whether this NameNode leads."""
        holder, epoch = await self._znodes.get_many([layout.ACTIVE, layout.EPOCH])
        if holder is not None:
            # An election counts even if its reply was lost: both znodes were read in one snapshot.
            is_own = self._holds(holder)
            self._fence = CheckOp(layout.EPOCH, epoch.version) if is_own and epoch is not None else None
            return self._fence is not None
        since = self._wall_ms()
        begin: ZnodeOp
        if epoch is None:
            begin, version = CreateOp(layout.EPOCH, f"1 {since}".encode()), 0
        else:
            number, before = map(int, epoch.data.split())
            data = f"{number + 1} {max(since, before + 1)}".encode()
            begin, version = SetDataOp(layout.EPOCH, data, epoch.version), epoch.version + 1
        try:
            await self._znodes.commit([begin, CreateOp(layout.ACTIVE, self._name.encode(), ephemeral=True)])
        except ZnodeError:
            return False  # another NameNode was faster
        self._fence = CheckOp(layout.EPOCH, version)
        return True

    def fence(self) -> CheckOp:
        """Return the check that fails a transaction once another NameNode leads. Raises NotLeadingError."""
        if self._fence is None:
            raise NotLeadingError("this NameNode does not lead")
        return self._fence

    def _holds(self, holder: Znode) -> bool:
        is_of_session = holder.owner_session == self._znodes.session_id
        return is_of_session and holder.data == self._name.encode()


def _since(epoch: Znode) -> int:
    return int(epoch.data.split()[1])


class FencedZnodes:
    """Znodes whose changes carry a fence.

    `fence` returns the check that fails a transaction once the process no longer leads (`Leader.fence`) or has lost its
    claim (`claims.Claim`).
    """

    def __init__(self, znodes: Znodes, fence: Callable[[], CheckOp]) -> None:
        self._znodes = znodes
        self._fence = fence
        self.get = znodes.get
        self.get_many = znodes.get_many
        self.children = znodes.children

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction. Raises NotLeadingError: the work belongs to another process now."""
        fence = self._fence()
        try:
            await self._znodes.commit([fence, *operations])
        except ZnodeError as refused:
            if refused.path == fence.path:
                raise NotLeadingError(f"another process has it by now: {fence.path}") from refused
            raise
