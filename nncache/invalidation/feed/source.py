"""A source of edits without polls: the feed that a namespace in ZooKeeper writes together with its changes."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from nncache.coordination.errors import ConnectionLostError, CoordinationError, NotAllowedError
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.task_group import run_until_first
from nncache.coordination.zookeeper import SessionStats, ZooKeeperSession
from nncache.hadoop.election_view import Active
from nncache.hadoop.events import EventBatch
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    CorruptZnodeError,
    MissingEventsError,
    NotPermittedError,
    WrongNamespaceError,
)
from nncache.invalidation.feed.reader import FeedReader
from nncache.invalidation.follower.probing import Probing
from nncache.invalidation.namenodes import NameNodes, wait_active
from nncache.invalidation.same_namespace import check_same_namespace
from nncache.invalidation.stats import ChannelStats, RecordStats
from nncache.invalidation.stream import CoveredThrough

CONNECT_TIMEOUT_S: Final = 5.0
"""Seconds to wait for a connection to ZooKeeper when a run begins."""

REREAD_S: Final = 0.5
"""Seconds between reads of the feed while coverage is requested, notified or not."""

IDLE_REREAD_S: Final = 2.0
"""Seconds between these reads otherwise."""

Connect = Callable[[ZooKeeperSettings, Callable[[], float]], ZooKeeperSession]


class FeedEdits:
    """Edits through watches of ZooKeeper; an `nncache.invalidation.edits_source.EditsSource`.

    One session with ZooKeeper serves all runs. A run survives lost connections and expired sessions, and ends when
    continuity is lost. ZooKeeper's availability proves nothing: coverage is the end of the log that the active NameNode
    reports to the pool's probes, compared with what was read (`nncache.invalidation.follower.freshness`). That NameNode
    reads the end of the feed after a sync, so it covers the changes of all NameNodes.

    Invariants:
        W1  A read returns the edits after those of the previous read; a cancelled read loses nothing.
        W2  Coverage is returned only with, or after, all edits up to its transaction.
        W3  Nothing is returned once the pool knows another term.
    """

    def __init__(
        self,
        namenodes: NameNodes,
        settings: ZooKeeperSettings,
        feed_root: str,
        clock: Callable[[], float],
        *,
        login: ZooKeeperLogin | None = None,
        connect: Connect | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._namenodes = namenodes
        self._settings = settings
        self._root = feed_root
        self._clock = clock
        self._chance = chance  # from 0 to 1; jitter of the backoff
        self._connect: Connect = connect or partial(KazooSession, log_name="feed of edits", login=login)
        self._zookeeper: ZooKeeperSession | None = None  # from the first run on
        self._reader: FeedReader | None = None  # of the run
        self._probing: Probing | None = None  # of the run
        self._term = 0  # of the run
        self._found: tuple[tuple[EventBatch, ...], int] | None = None  # read, but not returned yet
        self._covered: CoveredThrough | None = None  # known, but not returned yet
        self._bad_znodes = BadZnodes()
        self._counts = RecordStats()
        self._connection = 0  # the last connection over which edits were read

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return self._term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run after this transaction, or at the present end, and read once: a corrupt edit fails here.

        Raises:
            ChannelUnavailableError: no ZooKeeper, no active NameNode, or no feed.
            WrongNamespaceError: the feed, or one of the NameNode's addresses, is of another namespace.
            NotPermittedError: ZooKeeper's ACL forbids it.
            MissingEventsError: `after_txid` is purged or not reached yet, the next edits are missing or corrupt, the
                log is behind the feed, or the active NameNode changed in between.
        """
        self.stop()
        try:
            zookeeper = await self._entered()
            await zookeeper.wait_connected(CONNECT_TIMEOUT_S)
            active = await wait_active(self._namenodes)
            reader = FeedReader(zookeeper, self._root, self._bad_znodes)
            await self._check_namespace(reader, active)
            await reader.begin(after_txid)
            before = reader.txid
            batches = await reader.read()
            probing = Probing(self._namenodes, active, self._clock)
            try:
                await probing.begin(before)
            except BaseException:
                probing.stop()
                raise
        except NotAllowedError as exc:
            raise NotPermittedError(str(exc)) from exc
        except (CoordinationError, CorruptZnodeError) as exc:
            raise ChannelUnavailableError(str(exc)) from exc
        self._reader, self._probing, self._term = reader, probing, active.term
        self._connection = zookeeper.connection_id
        if reader.txid > before:
            self._take(batches, reader.txid, reader.txid - before, self._connection)

    def stop(self) -> None:
        """End the run; the session with ZooKeeper stays."""
        if self._probing is not None:
            self._probing.stop()
        self._reader, self._probing, self._term = None, None, 0
        self._found = self._covered = None

    async def shut_down(self) -> None:
        """End the run, if there is one, and the session with ZooKeeper."""
        self.stop()
        zookeeper, self._zookeeper = self._zookeeper, None
        if zookeeper is not None:
            await zookeeper.__aexit__(None, None, None)

    async def read(self) -> EditsRead:
        """Return the next edits, or coverage, whichever comes first; may be cancelled and called again.

        Raises:
            MissingEventsError: continuity is lost.
            NotPermittedError: ZooKeeper's ACL no longer allows reading the feed.
            WrongNamespaceError: the RPC address leads to another namespace than the HTTP address.
        """
        reader, probing, zookeeper = self._reader, self._probing, self._zookeeper
        if reader is None or probing is None or zookeeper is None:
            raise ChannelUnavailableError("the source was not started")
        try:
            while self._found is None and self._covered is None:
                await run_until_first(
                    partial(self._read_on, reader, probing, zookeeper), partial(self._await_coverage, probing)
                )
        except NotAllowedError as exc:
            raise NotPermittedError(str(exc)) from exc
        except CoordinationError as exc:
            raise MissingEventsError(str(exc)) from exc
        probing.check_term()
        batches: tuple[EventBatch, ...] = ()
        if self._found is not None:
            (batches, through_txid), self._found = self._found, None
            probing.advance(through_txid)
        covered, self._covered = probing.take() or self._covered, None
        as_of = None if covered is None else covered.as_of
        return EditsRead(
            batches, probing.txid, as_of, seen_as_of=as_of
        )  # a change can be seen once it is in the feed, not before

    def wake(self) -> None:
        """Request coverage as of now: have the pool probe soon."""
        if self._probing is not None:
            self._probing.want()

    def stats(self) -> ChannelStats:
        """Return the figures over all runs; nothing is polled."""
        self._counts.corrupt_znodes = self._bad_znodes.corrupt_znodes
        session = SessionStats() if self._zookeeper is None else self._zookeeper.stats()
        return ChannelStats(records=replace(self._counts), session=session)

    async def _read_on(self, reader: FeedReader, probing: Probing, zookeeper: ZooKeeperSession) -> None:
        """Read the next edits, over as many connections as necessary."""
        backoff = Backoff(limit_s=REREAD_S)
        while True:
            before = reader.txid
            try:
                batches = await reader.read()
                if reader.txid > before:
                    self._take(batches, reader.txid, reader.txid - before, zookeeper.connection_id)
                    return
                if not reader.is_behind:
                    await reader.changed(REREAD_S if probing.is_pending else IDLE_REREAD_S)
            except ConnectionLostError:
                await asyncio.sleep(backoff.failed(self._chance()))
                await zookeeper.wait_connected(None)

    def _take(self, batches: tuple[EventBatch, ...], through_txid: int, edits: int, connection: int) -> None:
        self._found = batches, through_txid
        self._counts.records_read += edits
        self._counts.resumes += connection != self._connection
        self._connection = connection

    async def _await_coverage(self, probing: Probing) -> None:
        while True:
            probing.look()
            self._covered = probing.take()
            if self._covered is not None:
                return
            await probing.wait()

    async def _check_namespace(self, reader: FeedReader, active: Active) -> None:
        """Check that the feed is of the namespace that the active NameNode serves, at both addresses."""
        namespace = await check_same_namespace(self._namenodes, active)
        found = await reader.namespace()
        if found != namespace.block_pool:
            raise WrongNamespaceError(
                f"the feed below {self._root} is of namespace {found!r}, but {active.namenode.http} serves "
                f"{namespace.block_pool!r}: see feed_root"
            )

    async def _entered(self) -> ZooKeeperSession:
        """Return the session; start it if necessary."""
        if self._zookeeper is None:
            zookeeper = self._connect(self._settings, self._clock)
            await zookeeper.__aenter__()
            self._zookeeper = zookeeper
        return self._zookeeper
