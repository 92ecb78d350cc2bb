"""The channel through ZooKeeper: a proxy follows what a publisher writes."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from nncache.coordination.errors import CoordinationError, NoNodeError, NotAllowedError
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import SessionStats, ZooKeeper, ZooKeeperSession
from nncache.hadoop.election_view import Active
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import (
    NOTHING_YET,
    ChannelUnavailableError,
    CorruptZnodeError,
    NotPermittedError,
)
from nncache.invalidation.follower.follower import Follower
from nncache.invalidation.follower.probing import Probing
from nncache.invalidation.namenodes import wait_active
from nncache.invalidation.same_namespace import check_same_namespace
from nncache.invalidation.stats import ChannelStats, RecordStats
from nncache.invalidation.stream import ChannelSetup, InotifyEventInputStream, StreamItem

CONNECT_TIMEOUT_S: Final = 5.0
"""Seconds to wait for a connection to ZooKeeper when a run begins."""


Connect = Callable[[ZooKeeperSettings, Callable[[], float]], ZooKeeperSession]


class ZooKeeperInotifyEventInputStream(InotifyEventInputStream):
    """The stream of changes published for the caches of one nameservice, with the filters that they were matched with.

    One session with ZooKeeper serves all runs; it holds two watches. A run survives lost connections and expired
    sessions, and ends when continuity is lost. ZooKeeper's availability proves nothing: coverage is what the NameNode
    reports of its log, compared with what was read (`nncache.invalidation.follower.freshness`).
    """

    def __init__(self, setup: ChannelSetup, connect: Connect | None = None) -> None:
        self._namenodes = setup.namenodes
        self._settings = setup.zookeeper
        self._clock = setup.clock
        self._znodes = ZnodePaths(setup.zookeeper.zookeeper_root, setup.nameservice)
        self._connect: Connect = connect or partial(KazooSession, login=setup.login)
        self._zookeeper: ZooKeeperSession | None = None  # from the first run on
        self._follower: Follower | None = None
        self._probing: Probing | None = None  # of the run
        self._term = 0  # of the run
        self._tasks: asyncio.TaskGroup | None = None  # of the run
        self._running: list[asyncio.Task[None]] = []
        self._counts = RecordStats()
        self._bad_znodes = BadZnodes()

    @property
    def term(self) -> int:
        """The term of the active NameNode whose changes this run yields; 0 outside a run."""
        return self._term

    async def open(self) -> None:
        """Begin a run at the end of the published records; its first item is the filters in force.

        Raises:
            ChannelUnavailableError: no ZooKeeper, no active NameNode, no publisher yet, or one of another namespace.
            WrongNamespaceError: the NameNode's addresses lead to different namespaces.
            NotPermittedError: ZooKeeper's ACL forbids it.
            MissingEventsError: the log is behind the published records, or the active NameNode changed in between.
        """
        await self.close()
        try:
            zookeeper = await self._entered()
            await zookeeper.wait_connected(CONNECT_TIMEOUT_S)
            active = await wait_active(self._namenodes)
            await self._check_namespace(zookeeper, active)
            await self._begin(zookeeper, active)
        except NotAllowedError as exc:
            raise NotPermittedError(str(exc)) from exc
        except (CoordinationError, CorruptZnodeError) as exc:
            raise ChannelUnavailableError(str(exc)) from exc

    async def close(self) -> None:
        """End the run; the session with ZooKeeper stays."""
        self._follower, self._term = None, 0
        if self._probing is not None:
            self._probing.stop()
            self._probing = None
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            for task in self._running:
                task.cancel()
            await tasks.__aexit__(None, None, None)

    async def shut_down(self) -> None:
        """End the run, if there is one, and the session with ZooKeeper."""
        await self.close()
        zookeeper, self._zookeeper = self._zookeeper, None
        if zookeeper is not None:
            await zookeeper.__aexit__(None, None, None)

    async def __anext__(self) -> StreamItem:
        """Return the next item; see InotifyEventInputStream."""
        if self._follower is None:
            raise ChannelUnavailableError("the stream is not open")
        return await self._follower.next_item()

    def request_probe(self) -> None:
        """Have the pool probe soon, at most every PROBE_SPACING_S."""
        if self._probing is not None:
            self._probing.want()

    def stats(self) -> ChannelStats:
        """Return the figures over all runs."""
        records = replace(
            self._counts,
            corrupt_znodes=self._bad_znodes.corrupt_znodes,
            foreign_znodes=self._bad_znodes.foreign_znodes,
        )
        session = SessionStats() if self._zookeeper is None else self._zookeeper.stats()
        return ChannelStats(records=records, session=session)

    async def _entered(self) -> ZooKeeperSession:
        """Return the session; start it if necessary."""
        if self._zookeeper is None:
            zookeeper = self._connect(self._settings, self._clock)
            await zookeeper.__aenter__()
            self._zookeeper = zookeeper
        return self._zookeeper

    async def _check_namespace(self, zookeeper: ZooKeeper, active: Active) -> None:
        """Check that the published records are of the namespace that the active NameNode serves, at both addresses."""
        namespace = await check_same_namespace(self._namenodes, active)
        path = self._znodes.namespace
        try:
            published = (await zookeeper.get(path)).data.decode("ascii", errors="replace")
        except NoNodeError as exc:
            raise ChannelUnavailableError(f"{path}: there is no such znode: {NOTHING_YET}") from exc
        if published != namespace.block_pool:
            raise ChannelUnavailableError(
                f"{path} is about namespace {published!r}, but {active.namenode.http} serves "
                f"{namespace.block_pool!r}: is it the right nameservice?"
            )

    async def _begin(self, zookeeper: ZooKeeper, active: Active) -> None:
        probing = Probing(self._namenodes, active, self._clock)
        follower = Follower(
            zookeeper, self._znodes, probing, self._clock, counts=self._counts, bad_znodes=self._bad_znodes
        )
        try:
            await follower.begin()
        except BaseException:
            probing.stop()
            raise
        tasks = asyncio.TaskGroup()
        await tasks.__aenter__()
        self._tasks = tasks
        self._running = [tasks.create_task(work) for work in follower.follow()]
        self._follower, self._probing, self._term = follower, probing, active.term
