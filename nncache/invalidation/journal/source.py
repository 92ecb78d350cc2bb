"""Edits from all JournalNodes of a journal, polled in parallel; no NameNode is polled."""

import asyncio
import logging
import math
import random
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final

from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.journalnode import CacheMissError, JournaledEdits, JournalNodeRpc
from nncache.hadoop.editlog.ops import decode_op
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.events import EventBatch
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import ChannelUnavailableError, Discontinued, GapKind, MissingEventsError
from nncache.invalidation.follower.probing import Probing
from nncache.invalidation.journal.access import JournalAccess, explained, unreadable
from nncache.invalidation.journal.finalized import FinalizedSegments
from nncache.invalidation.journal.quorum import JournalQuorum, NewTransactions, ShownTransaction
from nncache.invalidation.journal.segments import TransactionCrcs
from nncache.invalidation.namenodes import NameNodes, wait_active
from nncache.invalidation.same_namespace import check_same_namespace, unavailable
from nncache.invalidation.settings import JOURNALNODES
from nncache.invalidation.stats import ChannelStats, JournalStats
from nncache.net.event_wait import wait_set

POLL_INTERVAL_S: Final = 0.025
"""Delay between a JournalNode's answer and the next request to it."""

MAX_TRANSACTIONS: Final = 2000
"""Limit of one answer; an answer with this many is followed by the next request immediately."""

FIRST_TRANSACTIONS: Final = 16
"""Limit of the first answer, and of the first after an error: the size of transactions is unknown then."""

ANSWER_BYTES: Final = 1 << 19
"""Size limit of one answer, estimated from the last answer; one iteration of the event loop processes it."""

MAX_WAITING: Final = 4 * MAX_TRANSACTIONS
"""Limit of transactions that wait to be returned; beyond it no JournalNode is polled."""

EPOCH_INTERVAL_S: Final = 1.0
"""Interval of requests for the epoch of each JournalNode."""

BEHIND_S: Final = 10.0
"""How long the NameNode's log may be ahead of the journal, if another source can be used instead."""

START_S: Final = 5.0
"""Time limit for the answers of a majority at the start of a run."""

KNOWN_S: Final = 90.0
"""How long a JournalNode's trouble is reported after the last request to it: longer than between two trials."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Node:
    """One JournalNode, over all runs."""

    address: str
    rpc: JournalNodeRpc
    same_over: tuple[int, tuple[int, str]] | None = None  # a connection, and the namespace found over it
    trouble: Exception | None = None  # why its answers do not count
    asked_at: float = -math.inf  # when the last request was sent to it
    wanted: int = FIRST_TRANSACTIONS  # limit of the next answer
    last_txid: int | None = None  # the last transaction in its answers in this run
    heard_at: float = -math.inf  # when the last answer that counts arrived, or a poll was skipped on purpose


@dataclass(slots=True)
class _Run:
    """The state of one run."""

    quorum: JournalQuorum
    probing: Probing
    term: int
    storage: tuple[int, str]  # ids of the namespace and its cluster
    first_txid: int  # earlier transactions are not returned
    begun_after: int  # the position at the start
    needed_txid: int  # the position from which on the run can be used
    is_durable: bool  # no NameNode can lose a transaction up to the position
    must_show: bool = False  # empty answers prove nothing: the NameNode may have left these JournalNodes
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)  # set when `read` may have a result
    woken: asyncio.Event = field(default_factory=asyncio.Event)  # set to end the delays before the next polls
    batches: list[EventBatch] = field(default_factory=list)  # read, but not returned yet
    room: asyncio.Event = field(default_factory=asyncio.Event)  # set when the batches were returned
    is_catching_up: bool = False  # finalized segments are being read
    end: Exception | None = None  # why the run ends
    reached_as_of: float | None = None  # time of the last probe whose transaction the position has reached
    behind_since: float | None = None  # since when a probe's transaction is awaited
    fresh_as_of: float | None = None  # the last returned value
    moved_txid: int = -1  # the last observed position
    moved_at: float = -math.inf  # when it was observed; this does not require answers of a majority

    @property
    def has_begun(self) -> bool:
        """Whether the run can be used: the answers of a majority count, or finalized segments are being read."""
        quorum = self.quorum
        return quorum.through_txid >= self.needed_txid and (
            (quorum.is_quorate and not self.must_show) or quorum.through_txid > self.begun_after
        )

    def cancel(self) -> None:
        """Cancel all polls."""
        for task in self.tasks:
            task.cancel()


class JournalEdits:
    """Edits from JournalNodes; an `nncache.invalidation.edits_source.EditsSource`.

    A run begins at a position of the NameNode's log, and ends when the epoch or the active NameNode changes.
    Transactions in too few caches are read from finalized segments; the run ends if only the open segment has them.

    Invariants:
        J1  With `at_first_sight` a transaction is returned as soon as one JournalNode shows it, in each version that
            is shown: a cache may forget entries for a transaction that the log does not keep. Otherwise only
            transactions in the log are returned, in order, once each. In both cases the position moves over those only.
        J2  Coverage is what `quorum` proves by answers over connections whose other end has shown its epoch and the
            namespace of the NameNodes. It is no later than the last probe whose transaction was read: JournalNodes to
            which the NameNode no longer writes answer as before. With several NameNodes it is no later than the last
            probe that found exactly one active: it must not cover answers of a NameNode that is cut off.
        J3  A cancelled read loses nothing.
        J4  The last `MAX_REMEMBERED` transactions that this process has returned as in the log are compared once with
            the log of a new epoch; a difference ends the run (GapKind.WENT_BACK).
    """

    def __init__(
        self,
        namenodes: NameNodes,
        access: JournalAccess,
        clock: Callable[[], float],
        *,
        at_first_sight: bool,
        away_s: float | None = None,
        poll_interval_s: float = POLL_INTERVAL_S,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Read these JournalNodes; a run ends if a majority does not answer for `away_s` (None: it waits)."""
        self._namenodes = namenodes
        self._access = access
        self._clock = clock
        self._at_first_sight = at_first_sight
        self._away_s = away_s
        self._poll_interval_s = poll_interval_s
        self._chance = chance  # randomizes the delays of retries
        self._nodes = tuple(_Node(address, access.rpc(address)) for address in access.journal.addresses)
        self._finalized = FinalizedSegments(access, {node.address: node.rpc for node in self._nodes})
        self._taken = TransactionCrcs()
        self._has_peers = len(namenodes.namenodes) > 1
        self._tasks: asyncio.TaskGroup | None = None  # from the first run on
        self._run: _Run | None = None
        self._must_show = (
            False  # the last run was behind the NameNode's log for too long: empty answers prove nothing
        )
        self._counts = JournalStats()

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read; 0 outside a run."""
        return 0 if self._run is None else self._run.term

    async def start(self, after_txid: int | None) -> None:
        """Begin a run after this (durable) transaction, or at the current end.

        The current end is the last transaction that the active NameNode reports over JMX: its later answers to clients
        include all transactions up to there.

        Raises:
            ChannelUnavailableError: no active NameNode, or no majority of JournalNodes, or the next transaction is in
                no cache and in no finalized segment yet; the message says which.
            NotPermittedError: a majority does not permit this service to read.
            WrongNamespaceError: the journal belongs to another namespace, or the NameNode's addresses do.
            MissingEventsError: the transactions after `after_txid` are purged, or the log has lost transactions that
                were read from it (WENT_BACK), or the active NameNode changed during the start.
        """
        self.stop()
        try:
            active = await wait_active(self._namenodes)
            namespace = await check_same_namespace(self._namenodes, active)
            storage = await self._namenodes.rpc(active.namenode).namespace_id(), namespace.cluster_id
        except HadoopError as exc:
            raise unavailable(exc) from exc
        probing = Probing(self._namenodes, active, self._clock)
        try:
            await probing.begin(-1 if after_txid is None else after_txid)
            end_txid = probing.end_txid
            first_txid = (end_txid if after_txid is None else after_txid) + 1
            # Read the last transaction once more: a transaction that was written need not stay in the log.
            position = first_txid - 2 if after_txid is None and not self._at_first_sight else first_txid - 1
            is_durable = after_txid is not None

            def run_after(position: int, needed_txid: int) -> _Run:
                quorum = JournalQuorum(self._access.journal.addresses, position)
                return _Run(
                    quorum,
                    probing,
                    active.term,
                    storage,
                    first_txid,
                    position,
                    needed_txid,
                    is_durable,
                    self._must_show,
                )

            self._taken.resume(after_txid)
            run, since = run_after(position, position), None
            await self._begin(run)
            if run.quorum.epoch is not None and run.end is None:
                since = self._taken.compare_from(run.quorum.epoch)
            if since is not None:
                run.cancel()
                run = run_after(since - 1, position)
                await self._begin(run)
        except BaseException:
            probing.stop()
            self.stop()
            raise
        if run.end is None:
            return
        probing.stop()
        self.stop()
        if since is not None and isinstance(run.end, MissingEventsError) and run.end.kind is GapKind.PURGED:
            self._taken.resume(None)
            raise ChannelUnavailableError(
                f"what was read cannot be compared any more: {run.end}"
            ) from run.end
        raise run.end

    def stop(self) -> None:
        """End the run, if there is one."""
        run, self._run = self._run, None
        if run is not None:
            run.probing.stop()
            run.cancel()

    async def shut_down(self) -> None:
        """End the run, and close the connections to the JournalNodes."""
        self.stop()
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            await tasks.__aexit__(None, None, None)
        for node in self._nodes:
            await node.rpc.close()

    async def read(self) -> EditsRead:
        """Return new transactions, new coverage or both, as soon as there are any.

        Raises:
            MissingEventsError: continuity is lost.
            WrongNamespaceError: the RPC address of the NameNode leads to another namespace than the HTTP address.
            ChannelUnavailableError: no majority has answered for `away_s`; or, with `away_s`, the NameNode's log has
                been ahead of the journal for `BEHIND_S`.
        """
        while True:
            run = self._run
            if run is None:
                raise ChannelUnavailableError("the source was not started")
            run.news.clear()
            run.probing.look()
            if run.end is not None:
                raise run.end
            if self._away_s is not None:
                run.probing.check_shown()
            run.probing.advance(run.quorum.through_txid)
            seen = run.probing.take()
            if seen is not None:
                run.reached_as_of, run.behind_since = seen.as_of, None
            fresh_as_of = self._fresh_as_of(run)
            if run.batches or seen is not None or fresh_as_of != run.fresh_as_of:
                batches, run.batches = tuple(run.batches), []
                run.room.set()
                run.fresh_as_of = fresh_as_of
                return EditsRead(
                    batches,
                    run.quorum.through_txid,
                    fresh_as_of,
                    run.is_durable,
                    None if seen is None else seen.as_of,
                )
            await self._await_news(run)

    def wake(self) -> None:
        """Poll now, and ask the pool for a probe soon: a caller waits for current coverage."""
        if self._run is not None:
            self._run.probing.want()
            self._run.woken.set()

    def stats(self) -> ChannelStats:
        """Return the figures since start; no NameNode is polled."""
        quorum = None if self._run is None else self._run.quorum
        counting = () if quorum is None else quorum.counting
        known_since = self._clock() - KNOWN_S
        asked = [
            node
            for node in self._nodes
            if node.asked_at > known_since and (self._run is not None or node.trouble is not None)
        ]
        shown = {node.address: node.last_txid for node in asked if node.last_txid is not None}
        last_txid = max(shown.values(), default=0)
        journal = replace(
            self._counts,
            epoch=0 if quorum is None or quorum.epoch is None else quorum.epoch,
            counted={node.address: int(node.address in counting) for node in asked},
            behind_txids={address: last_txid - txid for address, txid in shown.items()},
            troubles={node.address: str(node.trouble) for node in asked if node.trouble is not None},
        )
        return ChannelStats(source=JOURNALNODES, journal=journal)

    async def _begin(self, run: _Run) -> None:
        """Start to poll, and wait until the run can be used."""
        if self._tasks is None:
            tasks = asyncio.TaskGroup()
            await tasks.__aenter__()
            self._tasks = tasks
        self._run = run
        for node in self._nodes:
            node.last_txid = None
        run.tasks = [
            self._tasks.create_task(self._follow(run, node), name=f"read {node.address}")
            for node in self._nodes
        ]
        run.tasks.append(
            self._tasks.create_task(run.probing.tell(run.news), name="await probes of NameNodes")
        )
        try:
            async with asyncio.timeout(START_S) as deadline:
                while not run.has_begun and run.end is None:
                    if run.is_catching_up:
                        deadline.reschedule(None)  # each of its steps has a timeout of its own
                    run.news.clear()
                    await run.news.wait()
        except TimeoutError as exc:
            raise self._no_majority(run) from exc
        self._must_show = False
        for node in self._nodes:
            node.heard_at = self._clock()

    def _no_majority(self, run: _Run) -> ChannelUnavailableError:
        """Return the error of a journal with too few readable JournalNodes."""
        troubles = [node.trouble for node in self._nodes if node.trouble is not None]
        count = len(self._nodes)
        if run.must_show and run.quorum.is_quorate:
            return ChannelUnavailableError(
                "since the NameNode's log was ahead of the JournalNodes they show nothing"
            )
        return unreadable(f"{len(run.quorum.counting)} of {count} JournalNodes can be read", troubles, count)

    async def _await_news(self, run: _Run) -> None:
        """Wait until there may be a result, or a majority may be unavailable."""
        if self._away_s is None:
            await run.news.wait()
            return
        now = self._clock()
        if run.quorum.through_txid != run.moved_txid:
            run.moved_txid, run.moved_at = run.quorum.through_txid, now
        heard_at = sorted((node.heard_at for node in self._nodes), reverse=True)[len(self._nodes) // 2]
        wait_s = max(heard_at, run.moved_at) + self._away_s - now
        if wait_s <= 0:
            if run.quorum.is_quorate:
                raise ChannelUnavailableError(f"most JournalNodes have not answered for {self._away_s:g} s")
            raise self._no_majority(run)
        if run.probing.is_pending:
            run.behind_since = now if run.behind_since is None else run.behind_since
            if now >= max(run.behind_since, run.moved_at) + BEHIND_S:
                self._must_show = True
                raise ChannelUnavailableError(
                    f"the NameNode's log has been ahead of its JournalNodes for {BEHIND_S:g} s: do they belong to "
                    "dfs.namenode.shared.edits.dir of the running NameNodes?"
                )
        await wait_set(run.news, wait_s)

    async def _follow(self, run: _Run, node: _Node) -> None:
        """Poll one JournalNode, independently of the others."""
        backoff = Backoff()
        while run.end is None:
            wait_s = self._poll_interval_s
            node.asked_at = self._clock()
            try:
                if len(run.batches) >= MAX_WAITING:
                    node.heard_at = self._clock()
                elif await self._poll(run, node):
                    wait_s = 0.0
            except CacheMissError as exc:
                self._failed(node, exc)
                wait_s = backoff.failed(self._chance())
            except (HadoopError, ChannelUnavailableError) as exc:
                self._failed(node, explained(exc))
                run.quorum.failed(node.address)
                wait_s = backoff.failed(self._chance())
            except Exception as exc:  # noqa: BLE001 - `read` raises the error that ends the run
                run.end = exc
            else:
                backoff.succeeded()
                node.trouble = None
            run.news.set()
            run.woken.clear()
            await wait_set(run.woken, wait_s)

    async def _poll(self, run: _Run, node: _Node) -> bool:
        """Poll a JournalNode once; return whether it has more transactions immediately."""
        quorum, rpc = run.quorum, node.rpc
        connection = rpc.connection_id
        if (connection, run.storage) != node.same_over or quorum.needs_epoch(
            node.address, self._clock(), EPOCH_INTERVAL_S
        ):
            connection = await self._ask_epoch(run, node)
        sent_at, next_txid, wanted = self._clock(), quorum.next_txid, node.wanted
        try:
            edits = await self._edits(node, next_txid)
        except CacheMissError:
            # If the position has moved, other JournalNodes have shown the transaction in between.
            missed = quorum.missed(node.address) if next_txid == quorum.next_txid else None
            if missed is not None and quorum.epoch is not None and not run.is_catching_up:
                await self._catch_up(run, missed)
                return True
            raise
        replied_at = self._clock()
        if rpc.connection_id != connection:
            raise ChannelUnavailableError(f"{node.address}: the connection changed under a call")
        is_whole = len(edits.frames) < wanted
        found = quorum.answered(
            node.address,
            [ShownTransaction(edits.layout_version, frame) for frame in edits.frames],
            asked_at=sent_at,
            now=replied_at,
            is_whole=is_whole,
        )
        if node.address in quorum.counting:
            node.heard_at = replied_at
        self._counts.polls += 1
        self._counts.poll_s += replied_at - sent_at
        if edits.frames:
            node.last_txid = edits.frames[-1].txid
            size = sum(len(frame.body) for frame in edits.frames)
            fitting = ANSWER_BYTES * len(edits.frames) // max(1, size)
            node.wanted = max(1, min(2 * wanted, fitting, MAX_TRANSACTIONS))
        self._take(run, found)
        return not is_whole and quorum.next_txid > next_txid  # else the answer would be the same again

    async def _edits(self, node: _Node, next_txid: int) -> JournaledEdits:
        """Return a JournalNode's transactions from this one on, and the one before if the node has not shown it.

        Otherwise a JournalNode that always answers last is asked only for transactions to come, and never shows one.
        """
        if (node.last_txid or 0) < next_txid - 1:
            try:
                return await node.rpc.edits(next_txid - 1, node.wanted)
            except CacheMissError:
                node.last_txid = next_txid - 1  # Journal.getJournaledEdits: it has written that
        return await node.rpc.edits(next_txid, node.wanted)

    async def _catch_up(self, run: _Run, missed: Discontinued) -> None:
        """Read from finalized segments what too few caches contain; end the run if no finalized segment contains it."""
        _log.info("%s; finalized segments are read", missed.reason)
        run.is_catching_up = True
        run.news.set()
        first_txid = run.quorum.next_txid
        segments = self._finalized.read(first_txid, run.storage)
        try:
            async with aclosing(segments):
                async for shown in segments:
                    self._take(run, run.quorum.caught_up(shown, self._clock()))
                    run.news.set()
                    while len(run.batches) >= MAX_WAITING:
                        run.room.clear()
                        await run.room.wait()
                    if run.end is not None:
                        return
        except (ChannelUnavailableError, MissingEventsError) as exc:
            run.end = run.end or exc
            return
        finally:
            run.is_catching_up = False
        if run.quorum.next_txid == first_txid:
            run.end = run.end or ChannelUnavailableError(
                f"{missed.reason}, and in no finalized segment yet: hdfs dfsadmin -rollEdits ends the open one, as a "
                "standby does every dfs.ha.log-roll.period"
            )
            return
        _log.info("transactions %d to %d were in finalized segments", first_txid, run.quorum.through_txid)

    def _take(self, run: _Run, found: NewTransactions) -> None:
        """Pass the found transactions to `read`, unless they show that the log is another one."""
        self._counts.discarded += found.discarded
        run.is_durable = run.is_durable or bool(found.durable)
        if not self._at_first_sight and run.quorum.epoch is not None:
            self._heed(run, self._taken.take(run.quorum.epoch, found.durable))
        run.batches += self._decoded(found.seen if self._at_first_sight else found.durable, run.first_txid)

    async def _ask_epoch(self, run: _Run, node: _Node) -> int:
        """Read a JournalNode's epoch, and verify the namespace of a new connection; return the connection's id."""
        asked_at = self._clock()
        state = await node.rpc.state()
        connection = node.rpc.connection_id
        if (connection, run.storage) != node.same_over:
            await self._access.check_same_journal(state.web, run.storage)
            node.same_over = connection, run.storage
        self._heed(run, run.quorum.promised(node.address, state.promised_epoch, asked_at))
        return connection

    def _decoded(self, shown: Iterable[ShownTransaction], first_txid: int) -> list[EventBatch]:
        """Return the changes of the transactions that belong to the run."""
        return [
            batch
            for each in shown
            if each.frame.txid >= first_txid and (batch := _batch_of(each)) is not None
        ]

    def _failed(self, node: _Node, exc: Exception) -> None:
        self._counts.polls_failed += 1
        if str(exc) != str(node.trouble):
            _log.warning("answers of JournalNode %s do not count: %s", node.address, exc)
        node.trouble, node.wanted = exc, FIRST_TRANSACTIONS

    def _heed(self, run: _Run, discontinued: Discontinued | None) -> None:
        if discontinued is not None and run.end is None:
            run.end = MissingEventsError(
                discontinued.reason, discontinued.kind, first_txid=run.quorum.next_txid
            )

    def _fresh_as_of(self, run: _Run) -> float | None:
        as_of = run.quorum.fresh_as_of if self._at_first_sight else run.quorum.durable_as_of()
        if as_of is None or run.reached_as_of is None:
            return None
        as_of = min(as_of, run.reached_as_of)
        if not self._has_peers:
            return as_of
        active, confirmed_as_of = self._namenodes.active, self._namenodes.confirmed_as_of
        return None if active is None or confirmed_as_of is None else min(as_of, confirmed_as_of)


def _batch_of(shown: ShownTransaction) -> EventBatch | None:
    """Return the events and changes of a transaction; None if it changes nothing that a status shows."""
    return batch_of(decode_op(shown.frame, shown.layout_version))
