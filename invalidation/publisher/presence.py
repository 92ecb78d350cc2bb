"""Be the one publisher of a nameservice, as far as all can see. (invalidation/publisher/presence.py)

An ephemeral znode says who publishes. It keeps publishers from getting into each other's way; that they can't harm
each other is not its doing, but that of the versions which every write checks.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Final, NoReturn, assert_never

from nncache.coordination.errors import BadVersionError, CoordinationError, NodeExistsError, NoNodeError
from nncache.coordination.zookeeper import Create, Delete, Znode, ZooKeeper
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.publisher.delete_tree import clear
from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity, parse_identity
from nncache.invalidation.publisher.stats import OutputStats

LOOK_S: Final = 5.0
"""Seconds between two looks when no watch has fired."""

GIVE_UP_S: Final = 2.0
"""What giving up may take; a presence left behind ends with its session."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Free:
    """No publisher is there."""


@dataclass(frozen=True, slots=True)
class Ours:
    """This very session has it."""


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Its process can't be alive: it may be deleted."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Another process publishes, as far as is known."""

    by: str


Standing = Free | Ours | LeftBehind | Taken


def standing(znode: Znode | None, session_id: int, identity: PublisherIdentity) -> Standing:
    """Say what a presence that was found means to us."""
    if znode is None:
        return Free()
    if znode.owner_session == 0:  # not ephemeral: no publisher's
        return LeftBehind()
    other = parse_identity(znode.data)
    if znode.owner_session == session_id:
        return Ours() if other == identity else LeftBehind()
    if other is None:
        return Taken(f"an unknown process (session {znode.owner_session:#x})")
    return LeftBehind() if identity.is_successor_of(other) else Taken(str(other))


class Presence:
    """Our place at `.publisher`."""

    def __init__(
        self, zookeeper: ZooKeeper, path: str, identity: PublisherIdentity, counts: OutputStats
    ) -> None:
        self._zookeeper = zookeeper
        self._path = path
        self._identity = identity
        self._counts = counts
        self._watch = zookeeper.watch(path)
        self.waiting_for = ""
        """The other publisher whose end is waited for; "" for none."""

    async def take(self) -> None:
        """Become the publisher; wait as long as there is another.

        Raises:
            CoordinationError: ZooKeeper can't be asked, or refuses.
        """
        try:
            while not await self._try_to_take():
                pass
        finally:
            self.waiting_for = ""

    async def keep(self) -> NoReturn:
        """Return never; raise as soon as another process may be the publisher.

        Raises:
            ChannelUnavailableError: the presence is gone, or another's.
            CoordinationError: ZooKeeper can't be asked.
        """
        while True:
            znode = await self._watch.read()
            if not isinstance(self._standing(znode), Ours):
                raise ChannelUnavailableError(f"{self._path} is no longer ours: another may publish")
            await self._watch.changed(LOOK_S)

    async def give_up(self) -> None:
        """Let others publish at once, if that can be said in time."""
        try:
            async with asyncio.timeout(GIVE_UP_S):
                znode = await self._watch.read()
                if znode is not None and isinstance(self._standing(znode), Ours):
                    await self._zookeeper.commit([Delete(self._path, znode.version)])
        except (CoordinationError, TimeoutError) as exc:
            _log.debug("%s was not given up: %s", self._path, exc)

    def _standing(self, znode: Znode | None) -> Standing:
        return standing(znode, self._zookeeper.session_id, self._identity)

    async def _try_to_take(self) -> bool:
        znode = await self._watch.read()
        found = self._standing(znode)
        match found:
            case Ours():
                return True
            case Free():
                await self._create()
            case LeftBehind():
                assert znode is not None, "nothing is left behind"
                await self._delete(znode)
            case Taken(by):
                if by != self.waiting_for:
                    self.waiting_for = by
                    self._counts.presence_waits += 1
                    _log.info("another publisher is running, waiting for it to stop: %s", by)
                await self._watch.changed(LOOK_S)
            case _:
                assert_never(found)
        return False

    async def _create(self) -> None:
        try:
            data = encode_identity(self._identity)
            await self._zookeeper.commit([Create(self._path, data, ephemeral=True)])
        except NodeExistsError:
            return

    async def _delete(self, znode: Znode) -> None:
        if znode.children:
            await clear(self._zookeeper, self._path, self._zookeeper.commit)
        try:
            await self._zookeeper.commit([Delete(self._path, znode.version)])
        except (NoNodeError, BadVersionError):
            return
