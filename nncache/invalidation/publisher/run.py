"""One run of a publisher: read, match, write.

Three tasks, one for each slow peer: the edits, ZooKeeper, the filters in HDFS. Their shared state changes only between
awaits.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NoReturn

from nncache.coordination.task_group import run_all
from nncache.invalidation.channel.records import DroppedTransactions, StaleChanges
from nncache.invalidation.edits_source import EditsRead, EditsSource
from nncache.invalidation.errors import ChannelUnavailableError, InvalidationError
from nncache.invalidation.publisher.filter_follower import FilterAdmission, FilterFollower
from nncache.invalidation.publisher.filter_journal import FilterHistory, by_kind
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.filter_plan import changed_positions, plan_filters
from nncache.invalidation.publisher.output_stream import (
    FilterChange,
    FilterPosition,
    InotifyEventOutputStream,
    Publication,
)
from nncache.invalidation.publisher.pacing import RecordPacer
from nncache.invalidation.publisher.resume import SILENCE_S, Resumed
from nncache.invalidation.publisher.stats import PublisherStats
from nncache.net.event_wait import wait_set
from nncache.net.some_names import some_names

MISSED_LOGGED_S: Final = 60.0
"""The shortest time between two log lines that name filters that miss events, in seconds."""

CURRENT_S: Final = 5.0
"""Edits are current if all before this many seconds ago were read; if current edits do not fit, that is a flood."""

TRANSACTIONS_PER_ITERATION: Final = 64
"""Transactions matched in a row before other tasks get the event loop (about two milliseconds)."""

_log = logging.getLogger(__name__)


class Run:
    """Publishes the edits that the source reads, until an error.

    Invariants:
        L1  While the set of filters changes, nothing is matched: everything matched with the old set is published
            first, and everything read during the change is matched with the new one.
        L2  When reading ends, everything read is published before the run ends.
    """

    def __init__(  # noqa: PLR0913 - one for each part, most of which outlast a run
        self,
        resumed: Resumed,
        *,
        source: EditsSource,
        output: InotifyEventOutputStream,
        follower: FilterFollower,
        pacer: RecordPacer,
        admission: FilterAdmission,
        limits: FilterLimits,
        counts: PublisherStats,
        journal: FilterHistory,
        clock: Callable[[], float],
        new_id: Callable[[], str],
    ) -> None:
        self._pending = resumed.pending
        self._source = source
        self._output = output
        self._follower = follower
        self._pacer = pacer
        self._admission = admission
        self._limits = limits
        self._counts = counts
        self._journal = journal
        self._clock = clock
        self._new_id = new_id
        self._is_changing = False  # the set of filters is being changed: nothing may be matched
        self._must_compare = True  # the published filters may differ from those in HDFS
        self._ending: Exception | None = None  # why reading ended
        self._pending_since: float | None = None  # when the first unpublished transaction was read
        self._missed_logged_at = -math.inf
        self._wake = asyncio.Event()  # the writer has work
        self._room = asyncio.Event()  # the reader should check again whether it may continue
        self._count_filters()
        if not resumed.is_continuous:
            follower.forget()

    async def run(self) -> None:
        """Publish until the run ends with an error."""
        await run_all(self._read, self._write, lambda: self._follower.follow(self._compare_soon))

    @property
    def filters(self) -> Mapping[str, FilterPosition]:
        """The filters in force, by name, each with the position of its own records."""
        return self._pending.filters

    @property
    def events_waiting(self) -> int:
        """The number of events that wait to be published; a large event counts as several."""
        return self._pending.events_waiting

    def waiting_s(self, now: float) -> float:
        """Return the time for which edits have been waiting to be published, in seconds."""
        return 0.0 if self._pending_since is None else now - self._pending_since

    # -- reading --------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Read until an error, which the writer raises once it has published the rest."""
        try:
            while True:
                async with asyncio.timeout(SILENCE_S):
                    read = await self._source.read()
                for number, part in enumerate(_in_parts(read)):
                    if number:
                        await asyncio.sleep(0)
                    left: EditsRead | None = part
                    while left is not None:
                        await self._wait_for_room()
                        left = self._take(left)
        except TimeoutError:
            self._ending = ChannelUnavailableError(f"the edits could not be read for {SILENCE_S:g} s")
        except InvalidationError as exc:
            self._ending = exc.with_traceback(None)  # the traceback refers to this frame
        self._wake.set()

    async def _wait_for_room(self) -> None:
        while self._is_changing or (self._pending.is_full and not self._is_current()):
            self._room.clear()
            await self._room.wait()

    def _is_current(self) -> bool:
        """Return whether edits are read as they come. Those of an outage can wait in the NameNode's log."""
        return self._clock() - self._limits.all_read_at <= CURRENT_S

    def _take(self, read: EditsRead) -> EditsRead | None:
        """Match the edits read; return those for which there is no room yet."""
        now = self._clock()
        self._counts.read_txid, self._counts.read_at = read.through_txid, now
        self._limits.read(now, read.fresh_as_of)  # even if nothing is new: then everything was read
        if read.through_txid <= self._pending.through_txid:
            return None
        collapsed = self._pending.collapsed
        left = self._pending.add(read, may_drop=self._is_current())
        self._counts.changes_collapsed += self._pending.collapsed - collapsed
        if self._pending_since is None:
            self._pending_since = now
        self._follower.invalidate(self._pending.take_stale())
        self._wake.set()
        return left

    # -- writing --------------------------------------------------------------------------------------------------

    async def _write(self) -> NoReturn:
        while True:
            await self._wait_due()
            if self._must_compare:
                await self._compare()
            elif not await self._publish_pending() and self._ending is not None:
                raise self._ending

    async def _wait_due(self) -> None:
        """Wait until there is work and its time has come."""
        while (due_at := self._due_at()) is None or due_at > self._clock():
            self._wake.clear()
            await wait_set(self._wake, None if due_at is None else due_at - self._clock())

    def _due_at(self) -> float | None:
        if self._must_compare or self._ending is not None:
            return self._clock()
        if self._pending.through_txid > self._pending.txid:
            return self._pacer.due_at(is_relevant=self._pending.transactions > 0)
        return None

    async def _publish_pending(self) -> bool:
        """Publish the pending batch; return whether there was anything to publish."""
        transactions, collapsed = self._pending.transactions, self._pending.collapsed
        publication = self._pending.take()
        if publication is None:
            return False
        self._counts.changes_collapsed += self._pending.collapsed - collapsed
        self._pending_since = began_at = self._clock()
        writes = await self._output.publish(publication)
        self._pacer.published(began_at, transactions=transactions, writes=writes)
        self._count_published(publication)
        if self._pending.through_txid == self._pending.txid:
            self._pending_since = None
        self._room.set()
        return True

    # -- filters --------------------------------------------------------------------------------------------------

    def _compare_soon(self) -> None:
        self._must_compare = True
        self._wake.set()

    async def _compare(self) -> None:
        """Change the published filters to those in HDFS."""
        self._must_compare = False
        if self._plan().is_empty:
            self._count_filters()
            return
        self._is_changing = True
        try:
            await self._publish_pending()
            # Plan again: a new filter begins where the publications end, and HDFS may by now have the published set.
            # An empty change would be written as well, and make each proxy read all filters again.
            change = self._plan()
            if not change.is_empty:
                await self._change_filters(change)
        finally:
            self._is_changing = False
            self._room.set()
        self._count_filters()

    async def _change_filters(self, wanted: FilterChange) -> None:
        writes = await self._output.change_filters(wanted)
        change = wanted.without(self._output.blocked)
        self._pacer.wrote(writes, self._clock())
        before = self._pending.filters
        self._pending.change_filters(changed_positions(before, change, txid=self._pending.txid))
        if not change.is_empty:
            self._counts.filter_changes += 1
            self._journal.changed(change, before, self._pending.filters, self._clock())
            _log.info("the filters have changed: %s", _described(change))

    def _plan(self) -> FilterChange:
        in_force = {name: position.filter for name, position in self._pending.filters.items()}
        stored = self._follower.stored
        return plan_filters(
            in_force,
            {},
            None if stored is None else self._admission.admit(stored, in_force),
            since_txid=self._pending.txid,
            new_id=self._new_id,
        )

    # -- figures --------------------------------------------------------------------------------------------------

    def _count_filters(self) -> None:
        self._counts.filters = len(self._pending.filters)

    def _count_published(self, publication: Publication) -> None:
        self._counts.published_txid, self._counts.published_at = publication.txid, self._clock()
        self._journal.published(publication, self._pending.filters, self._clock())
        changes = len(publication.content.changes) if isinstance(publication.content, StaleChanges) else 0
        self._counts.changes_published += changes
        if publication.missed and self._clock() - self._missed_logged_at >= MISSED_LOGGED_S:
            self._missed_logged_at = self._clock()
            for reason, names in _by_reason(publication.missed).items():
                _log.warning("subscribers of %s miss events: %s", some_names(names), reason)
        self._counts.coverage_records += not (changes or publication.filters or publication.missed)


def _in_parts(read: EditsRead) -> Iterator[EditsRead]:
    """Yield the edits in parts of few transactions; only the last has the position and freshness of the whole."""
    batches = read.batches
    for at in range(TRANSACTIONS_PER_ITERATION, len(batches), TRANSACTIONS_PER_ITERATION):
        part = batches[at - TRANSACTIONS_PER_ITERATION : at]
        yield EditsRead(part, part[-1].txid, None)
    yield replace(
        read, batches=batches[(len(batches) - 1) // TRANSACTIONS_PER_ITERATION * TRANSACTIONS_PER_ITERATION :]
    )


def _described(change: FilterChange) -> str:
    return "; ".join(f"{kind}: {some_names(names)}" for kind, names in by_kind(change).items() if names)


def _by_reason(missed: Mapping[str, DroppedTransactions]) -> dict[str, list[str]]:
    """Return the sorted names of filters, by the reason why they miss events."""
    found: dict[str, list[str]] = {}
    for name in sorted(missed):
        found.setdefault(missed[name].reason, []).append(name)
    return found
