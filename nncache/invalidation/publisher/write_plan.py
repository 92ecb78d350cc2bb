"""Plan what a publisher writes to ZooKeeper.

Sans-I/O. ZooKeeper carries out a multi as a whole or not at all. If a publication needs several, the filters' records
are written first, each multi under a check of `.cache`, and `.cache` last: it never covers records that do not exist.
Operations are packed into as few multis as possible.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, assert_never

from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode, ZnodeOp
from nncache.hadoop.change import EverythingUnknown
from nncache.hadoop.events import EventBatch
from nncache.invalidation.channel.published_filters import PublishedFilter, encode_published_filter
from nncache.invalidation.channel.records import (
    CacheRecord,
    DroppedTransactions,
    FilterModification,
    FilterRecord,
    MatchedEvents,
    RecordLink,
    StaleChanges,
    encode_cache_record,
    encode_filter_record,
)
from nncache.invalidation.channel.znode_json import fits
from nncache.invalidation.channel.znodes import ZnodePaths, encode_number
from nncache.invalidation.publisher.filter_plan import after_modification
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition, Publication
from nncache.invalidation.publisher.stats import OutputStats

Multi: TypeAlias = Sequence[ZnodeOp]


MAX_OPERATIONS: Final = 2000
"""Operations in one multi."""

MAX_BYTES: Final = 900 * 1024
"""Size of one multi; a packet may have 1 MiB (jute.maxbuffer)."""

_OVERHEAD_BYTES: Final = 100  # upper bound for one operation in a packet, without path and data


def pack(
    units: Iterable[Sequence[ZnodeOp]],
    *,
    reserved: Sequence[ZnodeOp] = (),
    acl_bytes: Callable[[str], int] = lambda _: 0,
) -> list[list[ZnodeOp]]:
    """Pack units, each of which must stay whole, into as few multis as their order allows.

    `reserved` are operations to be added to each multi; `acl_bytes` returns the size of a new znode's ACL, by path.
    """
    packed: list[list[ZnodeOp]] = []
    base = sum(map(_size, reserved))
    size = 0
    for unit in units:
        unit_size = sum(map(_size, unit))
        unit_size += sum(acl_bytes(each.path) for each in unit if isinstance(each, CreateOp))
        if (
            not packed
            or base + size + unit_size > MAX_BYTES
            or len(reserved) + len(packed[-1]) + len(unit) > MAX_OPERATIONS
        ):
            packed.append([])
            size = 0
        packed[-1] += unit
        size += unit_size
    return packed


def _size(operation: ZnodeOp) -> int:
    data = operation.data if isinstance(operation, CreateOp | SetDataOp) else b""
    return len(operation.path.encode()) + len(data) + _OVERHEAD_BYTES


MAX_EVENTS_PER_RECORD: Final = 1000
"""Events that usually fit into one record; a record that is still too large is split in two."""

MAX_TRIMMED: Final = 500
"""Records that one new record may delete, after the number to keep was reduced."""


@dataclass(slots=True)
class PlannedStream:
    """One stream's znode as it will be when everything planned is carried out."""

    path: str
    chain: str
    txid: int  # the last transaction of its records; if there is none, where it begins
    version: int = 0
    records: deque[int] = field(default_factory=deque)  # by transaction, the oldest first


class WritePlan:
    """The znodes that the publisher of one nameservice writes.

    Planning changes it immediately: after a multi that was not carried out, the plan is useless.

    Invariants:
        T1  Each multi changes or checks `.cache` by its version, so it fails as a whole after a multi of another
            publisher, or after a late one of an earlier run of this publisher.
        T2  A stream's value names its newest record, which names the previous one; at most `max_records` are kept.
        T3  The set of filters, their globs and ids, changes only together with the generation and with the version
            of `.cache`.
        T4  The first record of a filter after its modification announces it. The first publication beyond the
            filter's stream has this record.
    """

    def __init__(
        self,
        znodes: ZnodePaths,
        max_records: int,
        counts: OutputStats,
        *,
        cache: PlannedStream,
        generation: int,
        filters_version: int,
        acl_bytes: Callable[[str], int] = lambda _: 0,
    ) -> None:
        """Start from the znodes that exist; `acl_bytes` returns the size of a znode's ACL, by path."""
        self._acl_bytes = acl_bytes
        self._znodes = znodes
        self._max_records = max_records
        self._counts = counts
        self._cache = cache
        self._generation = generation
        self._filters_version = filters_version
        self._filters: dict[str, PublishedFilter] = {}  # in force
        self._streams: dict[str, PlannedStream] = {}  # of the filters in force
        self._modified: dict[str, None] = {}  # names of filters whose modification is not announced yet
        self._definitions: dict[str, int] = {}  # versions of all definitions that exist, by name
        self._places: set[str] = set()  # names of all streams that exist

    @property
    def fence(self) -> CheckOp:
        """The check that makes a multi fail once another client has written to `.cache`."""
        return CheckOp(self._cache.path, self._cache.version)

    def versions(self) -> dict[str, int]:
        """Return the version of each znode that only its publisher writes, by path."""
        streams = (self._cache, *self._streams.values())
        return {
            self._znodes.filters: self._filters_version,
            **{stream.path: stream.version for stream in streams},
            **{self._znodes.definition(name): self._definitions[name] for name in self._filters},
        }

    def znodes(self) -> tuple[str, ...]:
        """Return the paths of the known records of `.cache` and of the znodes of all filters in force."""
        own = (self._znodes.record(self._cache.path, txid) for txid in self._cache.records)
        return (*own, *(path for name in self._filters for path in self.znodes_of(name)))

    def znodes_of(self, name: str) -> tuple[str, ...]:
        """Return the paths of a filter's znodes; none if it is not in force."""
        stream = self._streams.get(name)
        if stream is None:
            return ()
        records = (self._znodes.record(stream.path, txid) for txid in stream.records)
        return (self._znodes.definition(name), stream.path, *records)

    def positions(self) -> dict[str, FilterPosition]:
        """Return the filters in force and the positions of their records, by name."""
        return {
            name: FilterPosition(filter_, self._streams[name].txid) for name, filter_ in self._filters.items()
        }

    def add_filter(self, filter_: PublishedFilter, stream: PlannedStream) -> None:
        """Add a filter in force and its stream."""
        self._set_filter(filter_)
        self._streams[filter_.name] = stream

    def add_place(self, name: str) -> None:
        """Add the existing znode of a stream, whatever it holds."""
        self._places.add(name)

    def add_definition(self, name: str, version: int) -> None:
        """Add the existing znode of a definition, whatever it holds."""
        self._definitions[name] = version

    def add_places(self, paths: Iterable[str]) -> None:
        """Add existing znodes at the paths of definitions and streams; ignore other paths."""
        for path in paths:
            parent, _, name = path.rpartition("/")
            if parent == self._znodes.filters:
                self.add_definition(name, 0)
            elif parent == self._znodes.namespace:
                self.add_place(name)

    def forget_places(self, paths: Iterable[str]) -> None:
        """Remove znodes at the paths of definitions and streams, which no longer exist."""
        for path in paths:
            parent, _, name = path.rpartition("/")
            if parent == self._znodes.filters:
                self._definitions.pop(name, None)
            else:
                self._places.discard(name)

    def definition_names(self) -> frozenset[str]:
        """Return the names of all definitions that are known to exist."""
        return frozenset(self._definitions)

    def places_of(self, change: FilterChange) -> tuple[str, ...]:
        """Return the existing znodes that a change deletes; everything below them must be deleted first."""
        names = dict.fromkeys((*change.removed, *(filter_.name for filter_ in change.added)))
        streams = (self._znodes.stream(name) for name in names if name in self._places)
        definitions = (self._znodes.definition(name) for name in names if name in self._definitions)
        return (*streams, *definitions)

    def plan_publication(self, publication: Publication) -> Iterator[Multi]:
        """Yield the multis of a publication, to be carried out in this order."""
        units = [
            unit
            for name, content in (*publication.filters.items(), *publication.missed.items())
            for unit in self._filter_units(name, content)
        ]
        units += [
            self._record_unit(name, MatchedEvents(()), publication.txid)
            for name in tuple(self._modified)
            if self._streams[name].txid < publication.txid  # otherwise a later publication can announce it
        ]
        fence = self.fence
        *before, last = self._packed([*units, self._cache_unit(publication)], (fence,))
        for operations in before:
            yield (fence, *operations)
        yield last

    def plan_filters(self, change: FilterChange, stuck: Collection[str] = ()) -> Iterator[Multi]:
        """Yield the multis that change the set of filters; the set is valid after each of them.

        A removed filter is no longer in force even if its znodes are among the `stuck` ones, which stay. A change of
        owner or subscribers keeps the generation: a cache looks at globs and ids alone. An empty change increments it,
        and followers of the set read it again.
        """
        has = {filter_.name: self._filters[filter_.name].id for filter_ in change.modified}
        other_globs = [filter_ for filter_ in change.modified if filter_.id != has[filter_.name]]
        other_owners = [filter_ for filter_ in change.modified if filter_.id == has[filter_.name]]
        heads = 2 * [SetDataOp(self._cache.path, b"0" * 20)]  # of the largest possible size
        sets = self._packed(self._set_units(change, other_globs, stuck), heads)
        for operations in [[]] if change.is_empty else sets:
            self._generation += 1
            yield (
                SetDataOp(self._cache.path, encode_number(self._cache.txid), self._cache.version),
                SetDataOp(self._znodes.filters, encode_number(self._generation), self._filters_version),
                *operations,
            )
            self._cache.version += 1
            self._filters_version += 1
        fence = self.fence
        for operations in self._packed(self._update_units(change, other_owners), (fence,)):
            yield (fence, *operations)

    def _packed(self, units: Iterable[Sequence[ZnodeOp]], reserved: Sequence[ZnodeOp]) -> list[list[ZnodeOp]]:
        return pack(units, reserved=reserved, acl_bytes=self._acl_bytes)

    def _filter_units(
        self, name: str, content: MatchedEvents | DroppedTransactions
    ) -> Iterator[list[ZnodeOp]]:
        match content:
            case DroppedTransactions():
                yield self._record_unit(name, content, content.last_txid)
            case MatchedEvents(batches):
                for part in _parts(batches):
                    yield from self._events_units(name, part)
            case _:
                assert_never(content)

    def _events_units(self, name: str, batches: tuple[EventBatch, ...]) -> Iterator[list[ZnodeOp]]:
        """Yield the unit of one record or, while the record is too large, those of its two halves."""
        txid = batches[-1].txid
        content = MatchedEvents(batches)
        if fits(data := self._encoded(name, content, txid)):
            yield self._record_unit(name, content, txid, data)
        elif len(batches) > 1:
            half = len(batches) // 2
            yield from self._events_units(name, batches[:half])
            yield from self._events_units(name, batches[half:])
        else:
            self._counts.records_too_large += 1
            dropped = DroppedTransactions(
                txid, txid, f"the events of transaction {txid} are too many for one record"
            )
            yield self._record_unit(name, dropped, txid)

    def _encoded(self, name: str, content: MatchedEvents | DroppedTransactions, txid: int) -> bytes:
        """Return the filter's next record."""
        filter_, modified = self._filters[name], None
        if filter_.replaces is not None:
            after_txid = max(
                self._cache.txid, self._streams[name].txid
            )  # a publication may have been cut short
            modified = FilterModification(after_txid, filter_.replaces, filter_.terms)
        return encode_filter_record(FilterRecord(_link(self._streams[name], txid), content, modified))

    def _record_unit(
        self, name: str, content: MatchedEvents | DroppedTransactions, txid: int, data: bytes | None = None
    ) -> list[ZnodeOp]:
        """Return the operations that add a filter's next record and clear the modification that it announces."""
        unit = self._unit(self._streams[name], txid, data or self._encoded(name, content, txid))
        filter_ = self._filters[name]
        return unit if filter_.replaces is None else [self._redefine(replace(filter_, replaces=None)), *unit]

    def _redefine(self, filter_: PublishedFilter) -> SetDataOp:
        """Return the operation that replaces an existing definition."""
        path, version = self._znodes.definition(filter_.name), self._definitions[filter_.name]
        self._set_filter(filter_)
        self._definitions[filter_.name] += 1
        return SetDataOp(path, encode_published_filter(filter_), version)

    def _set_filter(self, filter_: PublishedFilter) -> None:
        self._filters[filter_.name] = filter_
        if filter_.replaces is None:
            self._modified.pop(filter_.name, None)
        else:
            self._modified[filter_.name] = None

    def _cache_unit(self, publication: Publication) -> list[ZnodeOp]:
        txid = publication.txid
        record = CacheRecord(_link(self._cache, txid), self._generation, publication.content)
        data = encode_cache_record(record)
        if not fits(data):
            self._counts.records_too_large += 1
            everything = StaleChanges(((txid, EverythingUnknown("too much has changed at once")),))
            data = encode_cache_record(CacheRecord(record.link, self._generation, everything))
        return self._unit(self._cache, txid, data)

    def _unit(self, stream: PlannedStream, txid: int, data: bytes) -> list[ZnodeOp]:
        """Return the operations that add a record; they must stay together."""
        excess = min(len(stream.records) + 1 - self._max_records, MAX_TRIMMED)
        oldest = [stream.records.popleft() for _ in range(excess)]
        unit: list[ZnodeOp] = [
            CreateOp(self._znodes.record(stream.path, txid), data),
            *(DeleteOp(self._znodes.record(stream.path, each)) for each in oldest),
            SetDataOp(stream.path, encode_number(txid), stream.version),
        ]
        stream.records.append(txid)
        stream.txid = txid
        stream.version += 1
        if stream is self._cache:
            self._counts.cache_records += 1
        else:
            self._counts.filter_records += 1
        return unit

    def _set_units(
        self, change: FilterChange, modified: Iterable[PublishedFilter], stuck: Collection[str]
    ) -> Iterator[list[ZnodeOp]]:
        added = {filter_.name: filter_ for filter_ in change.added}
        for name in dict.fromkeys((*change.removed, *added)):
            unit = [*self._delete(name, stuck)]
            if name in added:
                unit += self._create(added[name])
            yield unit
        yield from map(self._modify, modified)

    def _update_units(
        self, change: FilterChange, modified: Iterable[PublishedFilter]
    ) -> Iterator[list[ZnodeOp]]:
        for filter_ in change.updated:
            yield [self._redefine(filter_)]
        yield from map(self._modify, modified)

    def _modify(self, filter_: PublishedFilter) -> list[ZnodeOp]:
        """Return the operations that modify a filter, with the record that announces it if one is possible now."""
        name, txid = filter_.name, self._cache.txid
        if after_modification(filter_, self._streams[name].txid, txid) is None:
            return [self._redefine(filter_)]
        self._set_filter(filter_)
        return self._record_unit(name, MatchedEvents(()), txid)

    def _delete(self, name: str, stuck: Collection[str]) -> Iterator[ZnodeOp]:
        self._filters.pop(name, None)
        self._streams.pop(name, None)
        self._modified.pop(name, None)
        definition, stream = self._znodes.definition(name), self._znodes.stream(name)
        if definition not in stuck and self._definitions.pop(name, None) is not None:
            yield DeleteOp(definition)
        if stream not in stuck and name in self._places:
            self._places.remove(name)
            yield DeleteOp(stream)

    def _create(self, filter_: PublishedFilter) -> Iterator[ZnodeOp]:
        name = filter_.name
        stream = PlannedStream(self._znodes.stream(name), filter_.chain, filter_.since_txid)
        self.add_filter(filter_, stream)
        self.add_place(name)
        self.add_definition(name, 0)
        yield CreateOp(self._znodes.definition(name), encode_published_filter(filter_))
        yield CreateOp(stream.path, encode_number(stream.txid))


def tampered(
    before: Mapping[str, int], found: Iterable[Znode | None], after: Mapping[str, int]
) -> tuple[str, ...]:
    """Return the paths of znodes that another client has written or deleted.

    `found` are the znodes of `before`, in its order; `before` and `after` map paths to the versions around that read.
    """
    return tuple(
        path
        for (path, version), znode in zip(before.items(), found, strict=True)
        if version <= after.get(path, -1) and (znode is None or not version <= znode.version <= after[path])
    )


def _link(stream: PlannedStream, txid: int) -> RecordLink:
    return RecordLink(stream.chain, stream.txid, txid)


def _parts(batches: Sequence[EventBatch]) -> Iterator[tuple[EventBatch, ...]]:
    """Yield the batches in parts, each with a bounded number of events or a single batch."""
    part: list[EventBatch] = []
    events = 0
    for batch in batches:
        if part and events + len(batch.events) > MAX_EVENTS_PER_RECORD:
            yield tuple(part)
            part, events = [], 0
        part.append(batch)
        events += len(batch.events)
    yield tuple(part)
