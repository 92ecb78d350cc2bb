"""One run of the stream for caches: records, filters and probes.

Three tasks read and fill a queue; the stream's user takes from the queue. So records are read while filters are,
coverage arrives while ZooKeeper is unavailable, and a cancelled iteration loses nothing.
"""

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar

from nncache.coordination.errors import ConnectionLostError, CoordinationError, NotAllowedError
from nncache.coordination.zookeeper import ZooKeeper
from nncache.hadoop.change import Change, Closed, Opened, Touched
from nncache.invalidation.backoff import Backoff
from nncache.invalidation.channel.reader import NextRecord, RecordReader
from nncache.invalidation.channel.records import (
    CacheRecord,
    DroppedTransactions,
    StaleChanges,
    parse_cache_record,
)
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import MissingEventsError, NotPermittedError
from nncache.invalidation.follower.filter_set import FilterSet, FilterSetReader
from nncache.invalidation.follower.probing import Probing
from nncache.invalidation.stats import RecordStats
from nncache.invalidation.stream import ChangeBatch, FiltersInForce, StreamItem

REREAD_S: Final = 0.5
"""Seconds between reads of the stream's value while coverage is requested, notified or not."""

IDLE_REREAD_S: Final = 2.0
"""Seconds between these reads otherwise, and between reads of the filters' generation."""

MAX_QUEUED: Final = 64
"""Queued items at which the reading of records pauses."""

_T = TypeVar("_T")


class Follower:
    """Follows `.cache` and `.filters` of one nameservice, under one term of the active NameNode.

    Invariants:
        L1  The queue holds the items after the last one returned, in order; filters come before the first changes
            that were matched with them.
        L2  Coverage is returned only after everything that was read up to its transaction.
        L3  Nothing is returned once the pool knows another term, or a task has found that continuity is lost.
        L4  A lost connection changes nothing: each request is repeated from the same position.
    """

    def __init__(
        self,
        zookeeper: ZooKeeper,
        znodes: ZnodePaths,
        probing: Probing,
        clock: Callable[[], float],
        *,
        counts: RecordStats,
        bad_znodes: BadZnodes,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._zookeeper = zookeeper
        self._probing = probing
        self._clock = clock
        self._counts = counts
        self._chance = chance  # from 0 to 1; jitter of the backoff
        self._records = RecordReader(zookeeper, znodes.cache, parse_cache_record, bad_znodes)
        self._filters = FilterSetReader(zookeeper, znodes, bad_znodes)
        self._filter_set: FilterSet | None = None  # the last set that was read
        self._filter_lock = asyncio.Lock()  # held while the set is read and queued
        self._connection_id = 0  # the connection over which records were last read
        self._items: deque[StreamItem] = deque()
        self._news = asyncio.Event()  # there may be an item to return
        self._room = asyncio.Event()  # the queue has become shorter
        self._failure: Exception | None = None  # what ended this run

    # ---- for its owner -------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Find the position and the filters.

        Raises:
            ChannelUnavailableError: nothing was published yet, or the pool does not report the position of the log.
            CorruptZnodeError: the stream's value is not a number.
            MissingEventsError: there are no filters, the log went back, or another NameNode is active.
            CoordinationError: ZooKeeper does not answer, or refuses.
        """
        await self._records.begin_at_end()
        self._connection_id = self._zookeeper.connection_id
        self._queue_filters(await self._filters.read())
        await self._probing.begin(self._records.txid)

    def follow(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Return the tasks of this run, to be run concurrently until cancelled; none of them raises."""
        return tuple(
            self._until_failure(work)
            for work in (self._follow_records, self._follow_filters, self._follow_probes)
        )

    async def next_item(self) -> StreamItem:
        """Return the next item; may be cancelled and called again. Raises the error that ended this run."""
        while True:
            if self._failure is not None:
                raise self._failure
            self._probing.check_term()
            item = self._take()
            if item is not None:
                return item
            self._news.clear()
            await self._news.wait()

    def _take(self) -> StreamItem | None:
        """Return an item, if there is one; coverage before changes, so that no flow of changes delays it."""
        is_filters_next = bool(self._items) and isinstance(self._items[0], FiltersInForce)
        covered = None if is_filters_next else self._probing.take()
        if covered is not None or not self._items:
            return covered
        item = self._items.popleft()
        self._room.set()
        if isinstance(item, ChangeBatch):
            self._probing.advance(item.through_txid)
        return item

    # ---- its tasks -----------------------------------------------------------------------------------------------

    async def _until_failure(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except NotAllowedError as exc:
            self._fail(NotPermittedError(str(exc)))
        except CoordinationError as exc:
            self._fail(MissingEventsError(str(exc)))
        except Exception as exc:  # noqa: BLE001 - raised again by next_item, in the task of the stream's user
            self._fail(exc)

    def _fail(self, failure: Exception) -> None:
        self._failure = self._failure or failure
        self._news.set()

    async def _follow_records(self) -> None:
        while True:
            is_first = not self._records.is_chain_known
            reads = await self._retried(self._records.read)
            if self._zookeeper.connection_id != self._connection_id:
                await self._resume()
            for read in reads:
                await self._queue_record(read, is_first=is_first)
                is_first = False
            while len(self._items) >= MAX_QUEUED:
                self._room.clear()
                await self._room.wait()
            if not self._records.is_behind:
                await self._wait_for_records()

    async def _resume(self) -> None:
        """Continue over another connection.

        ZooKeeper may have been restored to an earlier state, from which the publisher continued. The stream still has
        every change, but the same generation may mean other filters.
        """
        self._connection_id = self._zookeeper.connection_id
        self._counts.resumes += 1
        await self._read_filters(reread=True)

    async def _wait_for_records(self) -> None:
        read_at = self._clock()
        while not await self._records.changed(REREAD_S):
            if self._probing.is_pending or self._clock() - read_at >= IDLE_REREAD_S:
                return

    async def _queue_record(self, read: NextRecord[CacheRecord], *, is_first: bool) -> None:
        """Queue the content of a record, after the filters that it was matched with.

        Raises:
            MissingEventsError: the record reports dropped transactions, or the set of filters was restarted.
        """
        record = read.record
        self._counts.records_read += 1
        match record.content:
            case DroppedTransactions(first_txid, last_txid, reason):
                raise MissingEventsError(
                    f"transactions {first_txid} to {last_txid} were dropped: {reason}",
                    first_txid=first_txid,
                    last_txid=last_txid,
                )
            case StaleChanges(changes):
                await self._check_filters(record.generation, is_first=is_first)
                passed_on = tuple(_passed_on(txid, change, read.after_txid) for txid, change in changes)
                self._items.append(ChangeBatch(passed_on, record.link.txid))
                self._news.set()

    async def _check_filters(self, generation: int, *, is_first: bool) -> None:
        """Ensure that the filters of this generation, or later ones, are queued.

        The first record of a chain that was unknown before may be in a recreated tree, where the same generation means
        other filters.
        """
        if self._generation >= generation and not is_first:
            return
        await self._read_filters(reread=is_first)
        if self._generation < generation:
            raise MissingEventsError(
                f"a record was made with the filters of generation {generation}, there are only those of "
                f"{self._generation}"
            )

    async def _follow_filters(self) -> None:
        while True:
            await self._filters.changed(IDLE_REREAD_S)
            await self._read_filters()

    async def _read_filters(self, *, reread: bool = False) -> None:
        async with self._filter_lock:
            self._queue_filters(
                await self._retried(lambda: self._filters.read(self._filter_set, reread=reread))
            )

    def _queue_filters(self, read: FilterSet) -> None:
        known, self._filter_set = self._filter_set, read
        self._counts.filters, self._counts.filter_names = len(read.globs), read.names
        if known is None or known.globs != read.globs:
            self._items.append(FiltersInForce(read.globs))
            self._news.set()

    @property
    def _generation(self) -> int:
        return -1 if self._filter_set is None else self._filter_set.generation

    async def _follow_probes(self) -> None:
        while True:
            self._probing.look()
            self._news.set()
            await self._probing.wait()

    async def _retried(self, read: Callable[[], Awaitable[_T]]) -> _T:
        """Retry a read until there is an answer (L4)."""
        backoff = Backoff(limit_s=REREAD_S)
        while True:
            try:
                return await read()
            except ConnectionLostError:
                await asyncio.sleep(backoff.failed(self._chance()))
                await self._zookeeper.wait_connected(None)


def _passed_on(txid: int, change: Change, after_txid: int) -> tuple[int, Change]:
    """Return a change for a consumer that has already read all transactions up to `after_txid`.

    A change of one of these may also stand for later changes that were merged into it (`publisher.digest`), so it is
    reported again. But no two-step write may end by a change from before it began.
    """
    if txid <= after_txid and isinstance(change, Opened | Closed):
        return txid, Touched(change.path)
    return txid, change
