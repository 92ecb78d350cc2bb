"""Keep a cache consistent with a stream of events."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NoReturn, Protocol, assert_never

from nncache.hadoop.change import Change
from nncache.hadoop.changes import changes_of_batch
from nncache.invalidation.backoff import NOT_PERMITTED_RETRY_S, SETTLED_S, Backoff
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    InvalidationError,
    MissingEventsError,
    NotPermittedError,
    part_from_frames,
)
from nncache.invalidation.stats import StreamStats
from nncache.invalidation.stream import (
    ChangeBatch,
    CoveredThrough,
    FiltersInForce,
    InotifyEventInputStream,
    TransactionEvents,
)
from nncache.net.event_wait import wait_set

ITEMS_PER_ITERATION = 64
"""Transactions applied in a row before other tasks get the event loop (about a millisecond)."""

CHANGES_PER_ITERATION = 1_000
"""Changes of one item applied in a row: some milliseconds. A CONCAT of any number of files is one transaction."""

FILTERS_PER_ITERATION = 100
"""Filters removed or added before other tasks get the event loop (about 10 ms)."""

_log = logging.getLogger(__name__)


class CacheSink(Protocol):
    """The interface of a cache to the consumer; `cache.MetadataCache` has it. No method may await or block."""

    def open_stream(self, term: int) -> None:
        """Forget everything; replies to requests sent from now on may be kept."""

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Keep what matches these globs, by filter id; forget what a removed filter matched."""

    def apply(self, change: Change, now: float, txid: int | None = None) -> None:
        """Forget what the change makes stale."""

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Record that changes acknowledged before `as_of`, and seen before `seen_as_of` (None: same), are applied."""

    def close_stream(self, reason: str) -> None:
        """Forget everything, and keep nothing until `open_stream`."""


class Consumer:
    """Follows a stream while the process runs, run after run.

    Invariants:
        K1  The cache's stream is open only inside a run, and is opened after the run's first position is known: a
            reply requested after `open_stream` is newer than the position, so a later change of it will be yielded.
            A reply requested earlier may have changed before the position: it cannot be kept.
        K2  One task applies the items in order: `cover` is called only when everything yielded before has been
            applied. A large item is applied in steps; after each step of a change of filters, the set is one that may
            be in force.
        K3  The end of a run, whatever its cause, closes the cache's stream (GapFlush); `run` ends only if cancelled.
    """

    def __init__(
        self,
        cache: CacheSink,
        stream: InotifyEventInputStream,
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._cache = cache
        self._stream = stream
        self._clock = clock
        self._chance = chance  # from 0 to 1; jitter of the backoff
        self._backoff = Backoff()
        self._globs: Mapping[str, str] = {}  # the filters that the cache has
        self._moved = asyncio.Event()  # set and replaced at each Covered and at the end of a run
        self._counts = StreamStats()
        self._complaint = ""  # why the last attempt failed; a repeated reason is logged once
        self.trouble = ""  # the same, for `/ready`; cleared when a run begins

    async def run(self) -> NoReturn:
        """Follow the stream until cancelled."""
        while True:
            began_at = self._clock()
            try:
                await self._live()
            except Exception as exc:  # noqa: BLE001 - supervised: a consumer that dies would not be noticed
                pause_s = self._pause_s(exc, self._clock() - began_at)
                part_from_frames(exc)
            await asyncio.sleep(pause_s)

    def request_probe(self) -> None:
        """Request coverage soon."""
        self._stream.request_probe()

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait for the next coverage; return False after `timeout_s` seconds, or if the stream ends first."""
        moved = self._moved
        covers = self._counts.covers
        return await wait_set(moved, timeout_s) and self._counts.covers > covers

    def stats(self) -> StreamStats:
        """Return the figures of the consumer and the channel."""
        return replace(self._counts, channel=self._stream.stats())

    async def _live(self) -> NoReturn:
        """Follow one run of the stream until it ends with an error."""
        async with self._stream as stream:
            try:
                self._open(stream.term)
                in_a_row = 0
                async for item in stream:
                    match item:
                        case TransactionEvents(batch):
                            await self._apply(changes_of_batch(batch))
                            self._counts.events += len(batch.events)
                            self._counts.applied_txid = batch.txid
                            in_a_row += 1
                            if in_a_row % ITEMS_PER_ITERATION == 0:
                                await asyncio.sleep(0)
                        case ChangeBatch(changes, through_txid):
                            await self._apply(changes)
                            self._counts.applied_txid = through_txid
                            await asyncio.sleep(0)  # a record may hold a thousand changes
                        case FiltersInForce(globs):
                            await self._change_filters(globs)
                        case CoveredThrough(as_of, txid, seen_as_of):
                            self._cover(as_of, txid, seen_as_of)
                            in_a_row = 0
                        case _:
                            assert_never(item)
            except BaseException as exc:
                self._close(str(exc) or type(exc).__name__)
                raise
            self._close("the stream ended")
        raise ChannelUnavailableError("the stream ended")

    def _open(self, term: int) -> None:
        self._cache.open_stream(term)
        self._counts.is_open = True
        self._counts.streams_opened += 1
        self._complaint = self.trouble = ""
        _log.info("following the edits of the active NameNode (term %d)", term)

    async def _apply(self, changes: Iterable[tuple[int, Change]]) -> None:
        now = self._clock()
        for number, (txid, change) in enumerate(changes, 1):
            self._cache.apply(change, now, txid)
            if number % CHANGES_PER_ITERATION == 0:
                await asyncio.sleep(0)

    async def _change_filters(self, globs: Mapping[str, str]) -> None:
        for step in _steps(self._globs, globs):
            self._cache.set_filters(step)
            self._globs = step
            await asyncio.sleep(0)

    def _cover(self, as_of: float, txid: int, seen_as_of: float | None) -> None:
        self._cache.cover(as_of, txid, seen_as_of)
        self._counts.covers += 1
        self._counts.applied_txid = txid
        self._counts.fresh_as_of = as_of
        self._wake_waiters()

    def _close(self, reason: str) -> None:
        """Close the cache's stream, whatever happens: the gate closes by time even if this fails."""
        self._counts.is_open = False
        try:
            self._cache.close_stream(reason)
        except Exception:  # noqa: BLE001 - a fault of the cache must not end the loop that would flush it again
            _log.exception("could not empty the cache")
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _pause_s(self, exc: Exception, lasted_s: float) -> float:
        """Count and log why a run ended; return the seconds to wait before the next."""
        if lasted_s >= SETTLED_S:
            self._backoff.succeeded()
        is_gap = isinstance(exc, MissingEventsError)
        self._counts.streams_lost += is_gap
        self._counts.streams_failed += not is_gap
        complaint = f"{type(exc).__name__}: {exc}"
        self.trouble = str(exc) or type(exc).__name__
        if complaint != self._complaint:
            self._complaint = complaint
            self._complain(exc)
        if isinstance(exc, NotPermittedError):
            return NOT_PERMITTED_RETRY_S
        return self._backoff.failed(self._chance())

    def _complain(self, exc: Exception) -> None:
        match exc:
            case MissingEventsError():
                _log.warning("emptying the cache: %s", exc)
            case NotPermittedError():
                _log.error("nothing is cached, needs an administrator; all calls are forwarded: %s", exc)
            case InvalidationError():
                _log.warning("cannot read the edits, calls are forwarded meanwhile: %s", exc)
            case _:
                _log.error("internal error; emptying the cache", exc_info=exc)


def _steps(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """Yield sets of filters that lead from `before` to `after`, in steps of at most FILTERS_PER_ITERATION filters."""
    step = dict(before)
    gone = [filter_id for filter_id, glob in before.items() if after.get(filter_id) != glob]
    changed = gone + [filter_id for filter_id, glob in after.items() if before.get(filter_id) != glob]
    for at in range(FILTERS_PER_ITERATION, len(changed), FILTERS_PER_ITERATION):
        for filter_id in changed[at - FILTERS_PER_ITERATION : at]:
            if step.pop(filter_id, None) is None:
                step[filter_id] = after[filter_id]
        yield dict(step)
    yield after
