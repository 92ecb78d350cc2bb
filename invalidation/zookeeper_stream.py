"""The channel through ZooKeeper: a proxy follows what a publisher writes. (invalidation/zookeeper_stream.py)"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Final, Protocol, Self

from coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from coordination.session import Session
from coordination.settings import ZooKeeperSettings
from coordination.stats import SessionStats
from coordination.zookeeper import ZooKeeper
from hadoop.election_view import Active
from hadoop.errors import NoActiveNameNodeError
from invalidation.channel.life import Life
from invalidation.channel.oddities import Oddities
from invalidation.channel.probing import Probing
from invalidation.channel.znodes import Znodes
from invalidation.errors import ChannelUnavailableError, CorruptZnodeError, NotPermittedError
from invalidation.polled_edits import ACTIVE_TIMEOUT_S
from invalidation.same_namespace import see_same_namespace
from invalidation.stats import ChannelStats, RecordCounters
from invalidation.stream import ChannelSetup, InotifyEventInputStream, StreamItem

CONNECT_TIMEOUT_S: Final = 5.0
"""How long a connection to ZooKeeper is waited for when a life begins."""


class OwnZooKeeper(ZooKeeper, Protocol):
    """A ZooKeeper that its user begins and ends; `coordination.session.Session` has this shape."""

    async def __aenter__(self) -> Self:
        """Begin to connect; do not wait for it."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the session, in bounded time."""

    def stats(self) -> SessionStats:
        """Return the session's figures."""


Connect = Callable[[ZooKeeperSettings, Callable[[], float]], OwnZooKeeper]


class ZooKeeperInotifyEventInputStream(InotifyEventInputStream):
    """The stream of what caches must forget, as published for one nameservice, with the filters it was matched by.

    One session with ZooKeeper serves all lives; it holds two watches. A life survives lost connections and expired
    sessions, and ends where continuity does. Nothing is concluded from ZooKeeper's being there or not: coverage is
    what the NameNode says of its log, compared with what was read (`invalidation.freshness`).
    """

    def __init__(self, setup: ChannelSetup, connect: Connect = Session) -> None:
        self._namenodes = setup.namenodes
        self._settings = setup.zookeeper
        self._clock = setup.clock
        self._znodes = Znodes(setup.zookeeper.zookeeper_root, setup.nameservice)
        self._connect = connect
        self._zookeeper: OwnZooKeeper | None = None  # from the first life on
        self._life: Life | None = None
        self._probing: Probing | None = None  # of the life
        self._term = 0  # of the life
        self._tasks: asyncio.TaskGroup | None = None  # of the life
        self._running: list[asyncio.Task[None]] = []
        self._counts = RecordCounters()
        self._oddities = Oddities()

    @property
    def term(self) -> int:
        """The term of the active NameNode whose changes this life yields; 0 outside of one."""
        return self._term

    async def open(self) -> None:
        """Begin a life at the end of what is published; its first item is the filters in force.

        Raises:
            ChannelUnavailableError: no ZooKeeper, no active NameNode, no publisher yet, or one of another namespace.
            WrongNamespaceError: the NameNode's addresses lead to different namespaces.
            NotPermittedError: ZooKeeper's ACL forbids it.
            MissingEventsError: the log is not as far as what was published, or the active NameNode changed meanwhile.
        """
        await self.close()
        try:
            zookeeper = await self._entered()
            await zookeeper.wait_connected(CONNECT_TIMEOUT_S)
            active = await self._namenodes.wait_active(ACTIVE_TIMEOUT_S)
            await self._see_namespace(zookeeper, active)
            await self._begin(zookeeper, active)
        except NotAllowedError as exc:
            raise NotPermittedError(str(exc)) from exc
        except NoActiveNameNodeError as exc:
            raise ChannelUnavailableError(exc.whole) from exc
        except (CoordinationError, CorruptZnodeError) as exc:
            raise ChannelUnavailableError(str(exc)) from exc

    async def close(self) -> None:
        """End the life; the session with ZooKeeper stays."""
        self._life, self._term = None, 0
        if self._probing is not None:
            self._probing.stop()
            self._probing = None
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            for task in self._running:
                task.cancel()
            await tasks.__aexit__(None, None, None)

    async def shut_down(self) -> None:
        """End the session with ZooKeeper, and the life if there is one."""
        await self.close()
        zookeeper, self._zookeeper = self._zookeeper, None
        if zookeeper is not None:
            await zookeeper.__aexit__(None, None, None)

    async def __anext__(self) -> StreamItem:
        """Return the next item; see InotifyEventInputStream."""
        if self._life is None:
            raise ChannelUnavailableError("the stream is not open")
        return await self._life.next_item()

    def request_probe(self) -> None:
        """Have the pool probe soon, at most every PROBE_SPACING_S."""
        if self._probing is not None:
            self._probing.want()

    def stats(self) -> ChannelStats:
        """Return the figures over all lives."""
        records = self._counts.stats(
            corrupt_znodes=self._oddities.corrupt_znodes, foreign_znodes=self._oddities.foreign_znodes
        )
        session = SessionStats() if self._zookeeper is None else self._zookeeper.stats()
        return ChannelStats(records=records, session=session)

    async def _entered(self) -> OwnZooKeeper:
        """Return the session, begun if it was not."""
        if self._zookeeper is None:
            zookeeper = self._connect(self._settings, self._clock)
            await zookeeper.__aenter__()
            self._zookeeper = zookeeper
        return self._zookeeper

    async def _see_namespace(self, zookeeper: ZooKeeper, active: Active) -> None:
        """See that what is published comes from the namespace that the active NameNode serves, at both addresses."""
        namespace = await see_same_namespace(self._namenodes, active)
        path = self._znodes.namespace
        try:
            published = (await zookeeper.get(path)).data.decode("ascii", errors="replace")
        except NoNodeError as exc:
            raise ChannelUnavailableError(
                f"{path}: there is no such znode: nothing was published yet"
            ) from exc
        if published != namespace.block_pool:
            raise ChannelUnavailableError(
                f"{path} is about namespace {published!r}, but {active.namenode.http} serves "
                f"{namespace.block_pool!r}: is it the right nameservice?"
            )

    async def _begin(self, zookeeper: ZooKeeper, active: Active) -> None:
        probing = Probing(self._namenodes, active, self._clock)
        life = Life(
            zookeeper, self._znodes, probing, self._clock, counts=self._counts, oddities=self._oddities
        )
        try:
            await life.begin()
        except BaseException:
            probing.stop()
            raise
        tasks = asyncio.TaskGroup()
        await tasks.__aenter__()
        self._tasks = tasks
        self._running = [tasks.create_task(work) for work in life.follow()]
        self._life, self._probing, self._term = life, probing, active.term
