"""Collect the content of the next records.

Sans-I/O. Transactions are matched as soon as they are read, against the filters then in force. Transactions that match
nothing are not kept.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from nncache.hadoop.change import EverythingUnknown
from nncache.hadoop.changes import changes_of_batch
from nncache.hadoop.events import Event, EventBatch, MetadataKind, MetadataUpdate, Rename
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT
from nncache.invalidation.channel.records import DroppedTransactions, StaleChanges
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.publisher.digest import Digest
from nncache.invalidation.publisher.event_buffer import EventBuffer
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.output_stream import FilterPosition, Publication
from nncache.invalidation.publisher.pacing import ALL
from nncache.invalidation.publisher.relevance import matched, narrow
from nncache.invalidation.publisher.stats import PublisherStats


class PendingBatch:
    """The edits that were read and are not published yet.

    Invariants:
        A1  The publications have no gap between them. Each covers the transactions after its predecessor up to its own.
            It holds every change of these that concerns a cache of the filters in force. For each filter it holds every
            matching event, or the range of transactions with too many events; transactions that the filter's own
            records already hold are left out.
        A2  Everything matched with one set of filters is taken before the set changes.
    """

    def __init__(
        self,
        txid: int,
        filters: Mapping[str, FilterPosition],
        *,
        max_changes: int,
        max_events: int,
        filters_path: str,
        limits: FilterLimits,
        counts: PublisherStats,
    ) -> None:
        """Begin after `txid`, the last transaction published."""
        self._limits = limits
        self._counts = counts
        self._buffer = EventBuffer(max_events, counts)
        self.txid = txid  # the last transaction taken
        self.through_txid = txid  # the last transaction read
        self._digest = Digest(max_changes)
        self._filters_path = filters_path
        self.filters: dict[str, FilterPosition] = {}  # by name; `take` advances the positions
        self._modified: tuple[str, ...] = ()  # modified filters that the next publication announces
        self._globs = GlobSet({})
        self.transactions = 0  # pending transactions that concern some filter
        self._stale: set[str] = set()  # filters that may have changed in HDFS, by name; ALL for all
        self.change_filters(filters)

    @property
    def is_full(self) -> bool:
        """Whether reading should pause, unless events may be dropped."""
        return self._buffer.is_full

    @property
    def events_waiting(self) -> int:
        """The number of pending events; a large event counts as several."""
        return self._buffer.weight

    @property
    def collapsed(self) -> int:
        """The number of changes merged into larger ones since start."""
        return self._digest.collapsed

    def add(self, read: EditsRead, *, may_drop: bool = False) -> EditsRead | None:
        """Add the edits that were read next, at least one transaction; return the edits for which there was no room.

        With `may_drop`, all edits are added, and filters lose events if too many are pending.
        """
        for number, batch in enumerate(read.batches):
            if number and self.is_full and not may_drop:
                self.through_txid = read.batches[number - 1].txid
                return replace(read, batches=read.batches[number:])
            self._add(batch, may_drop=may_drop)
        self.through_txid = read.through_txid
        return None

    def take(self) -> Publication | None:
        """Return the next publication, or None if nothing new was read."""
        if self.through_txid <= self.txid:
            return None
        events, missed = self._buffer.take()
        publication = Publication(
            txid=self.through_txid, content=StaleChanges(self._digest.take()), filters=events, missed=missed
        )
        for name, content in events.items():
            self._counts.events_matched += sum(len(batch.events) for batch in content.batches)
            self.filters[name] = replace(self.filters[name], txid=content.batches[-1].txid)
        for name, dropped in missed.items():
            self.filters[name] = replace(self.filters[name], txid=dropped.last_txid)
        self._reported_modified(self.through_txid, events.keys() | missed.keys())
        self.txid = self.through_txid
        self.transactions = 0
        return publication

    def drop(self, last_txid: int, reason: str) -> Publication:
        """Return the publication that reports all transactions up to `last_txid` as missed; nothing may be pending."""
        assert self.through_txid == self.txid < last_txid, "what was read is published before"
        publication = Publication(
            txid=last_txid,
            content=DroppedTransactions(self.txid + 1, last_txid, reason),
            filters={
                name: DroppedTransactions(max(self.txid, position.txid) + 1, last_txid, reason)
                for name, position in self.filters.items()
                if position.txid < last_txid
            },
        )
        for name in publication.filters:
            self.filters[name] = replace(self.filters[name], txid=last_txid)
        self._reported_modified(last_txid, publication.filters.keys())
        self.txid = self.through_txid = last_txid
        return publication

    def change_filters(self, filters: Mapping[str, FilterPosition]) -> None:
        """Match against these filters from now on; nothing may be pending."""
        assert self.through_txid == self.txid, "what was matched is published before"
        self.filters = dict(filters)
        self._modified = tuple(
            name for name, position in filters.items() if position.filter.replaces is not None
        )
        self._limits.keep({position.filter.chain for position in filters.values()})
        self._globs.change_to({name: position.filter.path_glob for name, position in filters.items()})

    def take_stale(self) -> frozenset[str]:
        """Return the names of the filters, or ALL, that may have changed in HDFS since the last call."""
        touched, self._stale = frozenset(self._stale), set()
        return touched

    def _add(self, batch: EventBatch, *, may_drop: bool) -> None:
        concerns = False
        for txid, change in narrow(changes_of_batch(batch), self._globs):
            self._digest.add(txid, change)
            concerns = True
            if isinstance(change, EverythingUnknown):
                self._miss(batch, change.reason)
        for name, found in matched(batch, self._globs).items():
            if batch.txid > self.filters[name].txid:
                self._give(name, found, may_drop=may_drop)
                concerns = True
        self.transactions += concerns
        for event in batch.events:
            self._stale.update(self._stale_after(event))

    def _miss(self, batch: EventBatch, reason: str) -> None:
        """Record that a transaction may have events that the filters miss, and may have changed each filter."""
        for name, position in self.filters.items():
            if batch.txid > position.txid:
                self._buffer.leave_out(name, batch, reason)
        self._stale.add(ALL)

    def _give(self, name: str, found: EventBatch, *, may_drop: bool) -> None:
        """Buffer these events for a filter, or record that it misses them and all later ones of this publication."""
        if self._buffer.misses(name) or not self._limits.admit(
            self.filters[name].filter.chain, len(found.events)
        ):
            per_s = f"{self._limits.per_s:g} events a second (max_events_per_s_per_filter)"
            self._buffer.leave_out(name, found, f"the filter matches more than {per_s}")
        else:
            self._buffer.add(name, found, may_drop=may_drop)

    def _reported_modified(self, txid: int, with_records: Collection[str]) -> None:
        """Record that a publication announces the modified filters, in an extra record where a filter has none.

        A stream may be ahead of `txid` if a publication was cut short. A later publication then announces the change.
        """
        unreported = []
        for name in self._modified:
            position = self.filters[name]
            if name not in with_records and position.txid >= txid:
                unreported.append(name)
                continue
            records_txid = position.txid if name in with_records else txid
            self.filters[name] = FilterPosition(replace(position.filter, replaces=None), records_txid)
        self._modified = tuple(unreported)

    def _stale_after(self, event: Event) -> Iterator[str]:
        """Yield the filters that an event may have changed in HDFS."""
        match event:
            case MetadataUpdate(kind=MetadataKind.TIMES):  # the publisher's own reads cause it, too
                return
            case Rename(source=source, destination=destination):
                paths: tuple[str, ...] = (source, destination)
            case _:
                paths = (event.path,)
        top = self._filters_path
        for path in paths:
            if _is_at_or_below(top, path):
                yield ALL
            elif path.startswith(top + ROOT):
                name = path[len(top) + 1 :].partition(ROOT)[0]
                if not name.startswith("."):  # a draft
                    yield name


def _is_at_or_below(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip(ROOT) + ROOT)
