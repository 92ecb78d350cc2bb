"""One run of the stream for caches: records, filters and probes.

Three tasks read and queue; the stream's user takes from the queue. So records are read while filters are, coverage
comes while ZooKeeper is away, and an iteration that is cancelled has lost nothing.
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
from nncache.invalidation.channel.records import CacheRecord, Dropped, Stale, parse_cache_record
from nncache.invalidation.channel.untrusted_znodes import BadZnodes
from nncache.invalidation.channel.znodes import Znodes
from nncache.invalidation.errors import MissingEventsError, NotPermittedError
from nncache.invalidation.follower.filter_set import FilterSet, FilterSetReader
from nncache.invalidation.follower.probing import Probing
from nncache.invalidation.stats import RecordStats
from nncache.invalidation.stream import Changes, Filters, StreamItem

REREAD_S: Final = 0.5
"""The stream's value is read this often while coverage is waited for, notified or not."""

IDLE_REREAD_S: Final = 2.0
"""And this often otherwise; so is the generation of the filters."""

RECONNECT_S: Final = 10.0
"""How long a connection is waited for at a time; then it is waited for again."""

MAX_QUEUED: Final = 64
"""Items queued beyond which no more records are read."""

_T = TypeVar("_T")


class Follower:
    """Follows `.cache` and `.filters` of one nameservice, under one term of the active NameNode.

    Invariants:
        L1  The queue holds what follows the last item returned, in order; filters stand before the first changes
            that were made with them.
        L2  Coverage is returned only when all that was read up to its transaction was returned before.
        L3  Nothing is returned once the pool knows another term, or a task has found continuity broken.
        L4  A lost connection changes nothing: what was asked is asked again, from the same position.
    """

    def __init__(
        self,
        zookeeper: ZooKeeper,
        znodes: Znodes,
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
        self._chance = chance  # spreads retries apart
        self._records = RecordReader(zookeeper, znodes.cache, parse_cache_record, bad_znodes)
        self._filters = FilterSetReader(zookeeper, znodes, bad_znodes)
        self._filter_set: FilterSet | None = None  # the last that was read
        self._filter_lock = asyncio.Lock()  # held while it is read and queued
        self._connection_id = 0  # the one over which records were read last
        self._items: deque[StreamItem] = deque()
        self._news = asyncio.Event()  # there may be something to return
        self._room = asyncio.Event()  # the queue has become shorter
        self._failure: Exception | None = None  # what ended this run

    # ---- for its owner -------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Find position and filters.

        Raises:
            ChannelUnavailableError: nothing was published yet, or the pool does not say how far the log has come.
            CorruptZnodeError: the stream's value is no number.
            MissingEventsError: there are no filters, the log went back, or another NameNode is active.
            CoordinationError: ZooKeeper can't be asked.
        """
        await self._records.begin_at_end()
        self._connection_id = self._zookeeper.connection_id
        self._queue_filters(await self._filters.read())
        await self._probing.begin(self._records.txid)

    def follow(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """Return the work of this run, to be run side by side until cancelled; none of it raises."""
        return tuple(
            self._until_failure(work)
            for work in (self._follow_records, self._follow_filters, self._follow_probes)
        )

    async def next_item(self) -> StreamItem:
        """Return what comes next; may be cancelled and called again. Raises what ended this run."""
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
        """Return an item; coverage before changes, so that no flow of them keeps it back."""
        is_filters_next = bool(self._items) and isinstance(self._items[0], Filters)
        covered = None if is_filters_next else self._probing.take()
        if covered is not None or not self._items:
            return covered
        item = self._items.popleft()
        self._room.set()
        if isinstance(item, Changes):
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
        """Go on over another connection.

        ZooKeeper may have been put back to what it was earlier, and the publisher have gone on from there: the stream
        has every change all the same, but the same generation may mean other filters.
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
        """Queue what a record says; the filters that it was made with come before it.

        Raises:
            MissingEventsError: it says that something is missing, or the set of filters was restarted.
        """
        record = read.record
        self._counts.records_read += 1
        match record.content:
            case Dropped(first_txid, last_txid, reason):
                raise MissingEventsError(
                    f"transactions {first_txid} to {last_txid} were dropped: {reason}",
                    first_txid=first_txid,
                    last_txid=last_txid,
                )
            case Stale(changes):
                await self._see_filters(record.generation, is_first=is_first)
                passed_on = tuple(_passed_on(txid, change, read.after_txid) for txid, change in changes)
                self._items.append(Changes(passed_on, record.link.txid))
                self._news.set()

    async def _see_filters(self, generation: int, *, is_first: bool) -> None:
        """See that the filters of this generation, or later ones, are queued.

        The first record of a chain that was not known before may stand in a tree made again, where the same
        generation means other filters.
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
            self._items.append(Filters(read.globs))
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
        """Read until there is an answer (L4)."""
        backoff = Backoff(limit_s=REREAD_S)
        while True:
            try:
                return await read()
            except ConnectionLostError:
                await asyncio.sleep(backoff.failed(self._chance()))
                await self._reconnected()

    async def _reconnected(self) -> None:
        while True:
            try:
                await self._zookeeper.wait_connected(RECONNECT_S)
            except ConnectionLostError:
                continue
            return


def _passed_on(txid: int, change: Change, after_txid: int) -> tuple[int, Change]:
    """Return a change as it is to be passed on by who has read all transactions up to `after_txid` already.

    One of these may stand for later ones, too, which it has swallowed (`channel.digest`), so it is reported again; but
    no two-step write may end by what came before its time.
    """
    if txid <= after_txid and isinstance(change, Opened | Closed):
        return txid, Touched(change.path)
    return txid, change
