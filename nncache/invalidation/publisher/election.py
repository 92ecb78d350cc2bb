"""Elect the leader among the publishers of a nameservice.

As in HDFS's own ActiveStandbyElector (org.apache.hadoop.ha, 3.x), the holder of an ephemeral lock leads. The
transaction that takes the lock also increments the epoch. Every write of a leader checks that the epoch is still its
own, so a leader that was paused while another was elected changes nothing when it wakes up.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, NoReturn, assert_never

from nncache.coordination.errors import BadVersionError, CoordinationError, NodeExistsError, NoNodeError
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode, ZnodeOp, ZooKeeper
from nncache.invalidation.channel.znodes import ZnodePaths, encode_number, parse_txid
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.publisher.deletion import clear
from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity, parse_identity
from nncache.invalidation.publisher.stats import OutputStats

LOOK_S: Final = 5.0
"""Seconds between two checks if no watch fires."""

RESIGN_S: Final = 2.0
"""Timeout of resigning, in seconds; a lock that is left behind ends with its session."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LockFree:
    """No publisher leads."""


@dataclass(frozen=True, slots=True)
class LockHeld:
    """This session of this process holds the lock."""


@dataclass(frozen=True, slots=True)
class LockLeftBehind:
    """No process that could lead holds the lock, so it may be deleted."""


@dataclass(frozen=True, slots=True)
class LockTaken:
    """Another process leads, as far as is known."""

    by: str


Standing = LockFree | LockHeld | LockLeftBehind | LockTaken


def standing(lock: Znode | None, session_id: int, identity: PublisherIdentity) -> Standing:
    """Return what a lock means for this process."""
    if lock is None:
        return LockFree()
    if lock.owner_session == 0:  # not ephemeral: not a publisher's lock
        return LockLeftBehind()
    holder = parse_identity(lock.data)
    if lock.owner_session == session_id:
        return LockHeld() if holder == identity else LockLeftBehind()
    if holder is None:
        return LockTaken(f"an unknown process (session {lock.owner_session:#x})")
    return (
        LockLeftBehind() if holder == identity else LockTaken(str(holder))
    )  # ours, of a session that we gave up


class Election:
    """This process's part in the election of a nameservice's leader.

    Invariants:
        E1  Only the transaction that takes the lock, or one of the leader itself, increments the epoch.
        E2  `fence` fails for good once another process leads, whether or not this process has noticed.
        E3  Only the session that was elected has a `fence`: in another session our lock is gone.
    """

    def __init__(
        self, zookeeper: ZooKeeper, znodes: ZnodePaths, identity: PublisherIdentity, counts: OutputStats
    ) -> None:
        self._zookeeper = zookeeper
        self._lock = znodes.publisher
        self._epoch = znodes.epoch
        self._identity = identity
        self._counts = counts
        self._watch = zookeeper.watch(self._lock)
        self._fence: CheckOp | None = None  # of the epoch in which we lead, or led last
        self._elected_session = 0
        self.waiting_for = ""
        """The current leader while this process stands by; "" otherwise."""

    @property
    def fence(self) -> CheckOp:
        """The check that makes a write fail once another process has been elected.

        Raises:
            ChannelUnavailableError: this session has not been elected.
        """
        if self._fence is None or self._elected_session != self._zookeeper.session_id:
            raise ChannelUnavailableError(
                "this publisher has not been elected in its present ZooKeeper session"
            )
        return self._fence

    async def lead(self) -> None:
        """Become the leader; stand by while another process leads.

        Raises:
            CoordinationError: ZooKeeper does not answer, or refuses.
        """
        try:
            while not await self._try_to_lead():
                pass
        finally:
            self.waiting_for = ""

    async def keep(self) -> NoReturn:
        """Never return; raise as soon as another process may lead.

        Raises:
            ChannelUnavailableError: the lock is gone, or another process holds it.
            CoordinationError: ZooKeeper does not answer.
        """
        while True:
            if not isinstance(self._standing(await self._watch.read()), LockHeld):
                raise ChannelUnavailableError(f"{self._lock} is no longer ours: another publisher may lead")
            await self._watch.changed(LOOK_S)

    async def resign(self) -> None:
        """Let a standby lead immediately, if ZooKeeper answers in time."""
        try:
            async with asyncio.timeout(RESIGN_S):
                lock = await self._watch.read()
                if lock is not None and isinstance(self._standing(lock), LockHeld):
                    await self._zookeeper.commit([DeleteOp(self._lock, lock.version)])
        except (CoordinationError, TimeoutError) as exc:
            _log.debug("%s was not given up: %s", self._lock, exc)

    def _standing(self, lock: Znode | None) -> Standing:
        return standing(lock, self._zookeeper.session_id, self._identity)

    async def _try_to_lead(self) -> bool:
        lock = await self._watch.read()
        found = self._standing(lock)
        match found:
            case LockHeld():
                return await self._is_our_epoch() or await self._count_up()
            case LockFree():
                return await self._count_up(
                    CreateOp(self._lock, encode_identity(self._identity), ephemeral=True)
                )
            case LockLeftBehind():
                assert lock is not None, "nothing is left behind"
                await self._delete(lock)
            case LockTaken(by):
                if by != self.waiting_for:
                    self.waiting_for = by
                    self._counts.standby_waits += 1
                    _log.info("another publisher leads, standing by: %s", by)
                await self._watch.changed(LOOK_S)
            case _:
                assert_never(found)
        return False

    async def _is_our_epoch(self) -> bool:
        (epoch,) = await self._zookeeper.get_many([self._epoch])
        is_ours = self._elected_session == self._zookeeper.session_id
        return (
            is_ours and self._fence is not None and epoch is not None and epoch.version == self._fence.version
        )

    async def _count_up(self, *taking: ZnodeOp) -> bool:
        """Increment the epoch together with the operation that takes the lock; return whether this succeeded."""
        (found,) = await self._zookeeper.get_many([self._epoch])
        session_id = self._zookeeper.session_id
        number = 1 + ((parse_txid(found.data) if found is not None else None) or 0)
        data = encode_number(number)
        begin: ZnodeOp
        if found is None:
            begin, version = CreateOp(self._epoch, data), 0
        else:
            begin, version = SetDataOp(self._epoch, data, found.version), found.version + 1
        try:
            await self._zookeeper.commit([begin, *taking])
        except (NodeExistsError, BadVersionError, NoNodeError):
            return False  # another process was faster
        self._fence, self._elected_session = CheckOp(self._epoch, version), session_id
        self._counts.epoch = number
        _log.info("this publisher leads, in epoch %d", number)
        return True

    async def _delete(self, lock: Znode) -> None:
        if lock.children:
            await clear(self._zookeeper, self._lock, self._zookeeper.commit)
        try:
            await self._zookeeper.commit([DeleteOp(self._lock, lock.version)])
        except (NoNodeError, BadVersionError):
            return
