"""One run of a publisher: read, match, write.

Three tasks, one for each thing that takes its time: the edits, ZooKeeper, the filters in HDFS. What they share changes
between awaits only.
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NoReturn

from nncache.coordination.task_group import run_all
from nncache.invalidation.channel.records import Dropped, Stale
from nncache.invalidation.edits_source import EditsRead, EditsSource
from nncache.invalidation.errors import ChannelUnavailableError, InvalidationError
from nncache.invalidation.publisher.filter_follower import FilterAdmission, FilterFollower
from nncache.invalidation.publisher.filter_journal import FilterJournal, by_kind
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
from nncache.net.some_names import some_names

MISSED_LOGGED_S: Final = 60.0
"""So often, at most, the log names the filters that miss events."""

CURRENT_S: Final = 5.0
"""Edits of which all before so many seconds ago were read are read as they come: what does not fit is a flood."""

TRANSACTIONS_PER_ITERATION: Final = 64
"""Transactions matched in a row before others get the event loop (about two milliseconds)."""

_log = logging.getLogger(__name__)


class Run:
    """Publishes what the source reads, until something fails.

    Invariants:
        L1  While the set of filters changes nothing is matched: what was matched with the old set is published
            before, what is read meanwhile is matched with the new one.
        L2  When reading ends, what was read is published before the run ends.
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
        journal: FilterJournal,
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
        self._is_changing = False  # the set of filters changes: nothing may be matched
        self._must_compare = True  # the filters published may not be those of HDFS
        self._ending: Exception | None = None  # why reading ended
        self._pending_since: float | None = None  # when the first transaction was read that is not published
        self._missed_logged_at = -math.inf
        self._wake = asyncio.Event()  # there is something for the writer
        self._room = asyncio.Event()  # the reader may look again whether it may go on
        self._count_filters()
        if not resumed.is_continuous:
            follower.forget()

    async def run(self) -> None:
        """Publish; the end of the run is an error."""
        await run_all(self._read, self._write, lambda: self._follower.follow(self._compare_soon))

    @property
    def filters(self) -> Mapping[str, FilterPosition]:
        """The filters in force, by name, each with how far its own records go."""
        return self._pending.filters

    @property
    def events_waiting(self) -> int:
        """How many events wait to be published; a large one counts as several."""
        return self._pending.events_waiting

    def waiting_s(self, now: float) -> float:
        """Return for how long something has been waiting to be published."""
        return 0.0 if self._pending_since is None else now - self._pending_since

    # -- reading --------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Read until that fails; the writer says so when it has published the rest."""
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
            self._ending = exc.with_traceback(None)  # which leads here
        self._wake.set()

    async def _wait_for_room(self) -> None:
        while self._is_changing or (self._pending.is_full and not self._is_current()):
            self._room.clear()
            await self._room.wait()

    def _is_current(self) -> bool:
        """Whether edits are read as they come, and not those of an outage: these can wait in the NameNode's log."""
        return self._clock() - self._limits.all_read_at <= CURRENT_S

    def _take(self, read: EditsRead) -> EditsRead | None:
        """Match what was read; return what has no room yet."""
        now = self._clock()
        self._counts.read_txid, self._counts.read_at = read.through_txid, now
        self._limits.read(now, read.fresh_as_of)  # also when that is nothing new: then all was read
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
        """Return when there is something to do, and its time has come."""
        while (due_at := self._due_at()) is None or due_at > self._clock():
            self._wake.clear()
            try:
                async with asyncio.timeout(None if due_at is None else due_at - self._clock()):
                    await self._wake.wait()
            except TimeoutError:
                continue

    def _due_at(self) -> float | None:
        if self._must_compare or self._ending is not None:
            return self._clock()
        if self._pending.through_txid > self._pending.txid:
            return self._pacer.due_at(is_relevant=self._pending.transactions > 0)
        return None

    async def _publish_pending(self) -> bool:
        """Publish what waits; tell whether there was anything."""
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
        """Make the filters published those of HDFS."""
        self._must_compare = False
        if self._plan().is_empty:
            self._count_filters()
            return
        self._is_changing = True
        try:
            await self._publish_pending()
            # Again: it begins where the publications end, and HDFS may meanwhile have what is published. A change of
            # nothing is written, too, and each proxy would read all filters again for it.
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
        changes = len(publication.content.changes) if isinstance(publication.content, Stale) else 0
        self._counts.changes_published += changes
        if publication.missed and self._clock() - self._missed_logged_at >= MISSED_LOGGED_S:
            self._missed_logged_at = self._clock()
            for reason, names in _by_reason(publication.missed).items():
                _log.warning("subscribers of %s miss events: %s", some_names(names), reason)
        self._counts.coverage_records += not (changes or publication.filters or publication.missed)


def _in_parts(read: EditsRead) -> Iterator[EditsRead]:
    """Yield what was read, few transactions at a time; only with the last part all is read that the whole says."""
    batches = read.batches
    for at in range(TRANSACTIONS_PER_ITERATION, len(batches), TRANSACTIONS_PER_ITERATION):
        part = batches[at - TRANSACTIONS_PER_ITERATION : at]
        yield EditsRead(part, part[-1].txid, None)
    yield replace(
        read, batches=batches[(len(batches) - 1) // TRANSACTIONS_PER_ITERATION * TRANSACTIONS_PER_ITERATION :]
    )


def _described(change: FilterChange) -> str:
    return "; ".join(f"{kind}: {some_names(names)}" for kind, names in by_kind(change).items() if names)


def _by_reason(missed: Mapping[str, Dropped]) -> dict[str, list[str]]:
    """Return the names of filters, sorted, by why they miss something."""
    found: dict[str, list[str]] = {}
    for name in sorted(missed):
        found.setdefault(missed[name].reason, []).append(name)
    return found
