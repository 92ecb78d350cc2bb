"""Checks every transaction of publishers in the fake ZooKeeper, and records what is wrong with it.

It knows the changes of HDFS but nothing of how publishers work: it matches each path with each glob naively.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.events import Event, EventBatch, Rename
from nncache.hadoop.globs import GlobSet
from nncache.invalidation.channel.published_filters import PublishedFilter, parse_published_filter
from nncache.invalidation.channel.records import (
    DroppedTransactions,
    FilterModification,
    MatchedEvents,
    StaleChanges,
    parse_cache_record,
    parse_filter_record,
)
from nncache.invalidation.channel.znodes import ZnodePaths, parse_txid
from nncache.invalidation.publisher.relevance import concerns
from tests.coordination.fake_tree import SUPERUSER, FakeTree, Identities
from tests.hadoop.footprints import stale


@dataclass
class History:
    """The changes of HDFS, and which of them may be dropped."""

    transactions: list[tuple[Event, ...]]
    droppable: Callable[[int, int], bool] = lambda _, __: False  # (txid published, txid dropped)


@dataclass
class Followed:
    """A stream as its readers know it."""

    chain: str
    txid: int
    history: History
    records: list[int] = field(default_factory=list)
    globs: list[tuple[int, str]] = field(
        default_factory=list
    )  # of a filter: each matches after its transaction
    due: FilterModification | None = None  # the notice that its next record must have


class AuditedTree(FakeTree):
    """A tree that shows each transaction to an auditor, except those of `tamper`."""

    def __init__(self, audit: Callable[["AuditedTree", Sequence[ZnodeOp]], None]) -> None:
        super().__init__()
        self._audit = audit

    def commit(
        self, operations: Sequence[ZnodeOp], session: int, who: Identities = SUPERUSER
    ) -> tuple[str, ...]:
        """Carry out all operations or none."""
        fired = super().commit(operations, session, who)
        self._audit(self, operations)
        return fired

    def tamper(self, operations: Sequence[ZnodeOp]) -> tuple[str, ...]:
        """Carry out operations that no publisher makes."""
        return super().commit(operations, 0)


class Auditor:
    """Follows all streams. It records faults, because a publisher would survive an exception."""

    def __init__(self, znodes: ZnodePaths, history: History, max_records: int) -> None:
        self.history = history  # the present one; replaced when the log goes back
        self.wrongs: list[str] = []
        self.dropped = 0  # number of records with dropped transactions
        self.chains = 0  # number of chains of `.cache`
        self.replaced = 0  # number of restarted filters
        self.modified = 0  # number of records with a notice of a modified filter
        self._znodes = znodes
        self._max_records = max_records
        self._cache: Followed | None = None
        self._filters: dict[str, PublishedFilter] = {}  # in force
        self._streams: dict[str, Followed] = {}  # of the filters in force
        self._generations: dict[int, dict[str, PublishedFilter]] = {}  # all filters since start, by id
        self._used_ids: set[str] = set()

    def audit(self, tree: AuditedTree, operations: Sequence[ZnodeOp]) -> None:
        """Check a transaction that was carried out."""
        try:
            self._audit(tree, operations)
        except Exception as exc:  # noqa: BLE001 - any exception is a fault
            self.wrongs.append(f"{type(exc).__name__}: {exc} in {operations}")

    @property
    def streams(self) -> tuple[Followed, ...]:
        """All existing streams."""
        return (*self._streams.values(), *(() if self._cache is None else (self._cache,)))

    def wiped(self) -> None:
        """Record that all streams are gone."""
        self._cache = None
        self._filters, self._streams, self._generations = {}, {}, {}

    def _audit(self, tree: AuditedTree, operations: Sequence[ZnodeOp]) -> None:
        znodes = self._znodes
        is_new_set = False
        written: dict[str, Followed] = {}  # streams with a new record, by path
        self._forget_deleted(tree, {operation.path for operation in operations})
        for operation in operations:
            above, _, name = operation.path.rpartition("/")
            match operation:
                case CreateOp(path, data) if above == znodes.cache:
                    written[above] = self._cache_record(tree, path, data)
                case SetDataOp(path, b"") if path == znodes.cache:
                    self._cache = None
                case CreateOp(path, data) | SetDataOp(path, data) if above == znodes.filters:
                    self._definition(tree, parse_published_filter(path, data))
                    is_new_set = True
                case DeleteOp(path) if above == znodes.filters:
                    self._filters.pop(name, None)
                    is_new_set = True
                case CreateOp(path) if above == znodes.namespace and not name.startswith("."):
                    filter_ = self._filters[name]
                    self._streams[name] = Followed(
                        filter_.chain,
                        int(tree.read(path).data),
                        self.history,
                        globs=[(filter_.since_txid, filter_.path_glob)],
                    )
                case DeleteOp(path) if above == znodes.namespace:
                    self._streams.pop(name, None)
                case CreateOp(path, data) if above in self._places():
                    written[above] = self._filter_record(above.rpartition("/")[2], path, data)
                case _:
                    pass
        for path, stream in written.items():
            self._see_record(tree, path, stream)
        if self._cache is None:
            return
        self._note_generation(tree, is_new_set=is_new_set)
        self._see_coverage()

    def _places(self) -> set[str]:
        return {self._znodes.stream(name) for name in self._streams}

    def _forget_deleted(self, tree: AuditedTree, written: set[str]) -> None:
        """Stop following filters whose definition a stranger has deleted."""
        for name in [*self._filters]:
            path = self._znodes.definition(name)
            if path not in written and not tree.exists(path):
                del self._filters[name]
                self._streams.pop(name, None)

    def _definition(self, tree: AuditedTree, filter_: PublishedFilter) -> None:
        known = self._filters.get(filter_.name)
        if known is not None and known.chain == filter_.chain:
            self._redefinition(known, filter_)
        else:
            assert filter_.id == filter_.chain, f"{filter_} begins with the chain of another"
            assert filter_.id not in self._used_ids, f"the id of {filter_} was used before"
            self._used_ids.add(filter_.id)
            self.replaced += known is not None
            assert self._cache is not None, "filters without a chain"
            assert filter_.since_txid == self._cache.txid, f"{filter_} does not begin at {self._cache.txid}"
        self._filters[filter_.name] = filter_

    def _redefinition(self, known: PublishedFilter, filter_: PublishedFilter) -> None:
        """Check that the stream continues: another glob has another id, and a notice must precede its first event."""
        assert known.since_txid == filter_.since_txid, f"{filter_} begins elsewhere than {known}"
        assert (known.id == filter_.id) == (known.path_glob == filter_.path_glob), "same id, other filter"
        if known.id != filter_.id:
            assert filter_.id not in self._used_ids, f"the id of {filter_} was used before"
            self._used_ids.add(filter_.id)
        if known.terms == filter_.terms:
            return
        assert self._cache is not None, "filters without a chain"
        stream = self._streams[filter_.name]
        stream.globs.append((self._cache.txid, filter_.path_glob))
        reported = known.terms if stream.due is None else stream.due.before
        stream.due = (
            None
            if reported == filter_.terms
            else FilterModification(self._cache.txid, reported, filter_.terms)
        )

    def _cache_record(self, tree: AuditedTree, path: str, data: bytes) -> Followed:
        record = parse_cache_record(path, data)
        link = record.link
        if self._cache is None:
            assert link.chain not in self._used_ids, "a new chain with an old id"
            self._used_ids.add(link.chain)
            self.chains += 1
            self._generations = {}
            self._cache = Followed(link.chain, link.previous, self.history)
            self._see_end(link.txid)
        stream = self._cache
        assert (link.chain, link.previous) == (stream.chain, stream.txid), f"{link} does not follow {stream}"
        generation = parse_txid(tree.read(self._znodes.filters).data)
        if generation is not None:  # otherwise a stranger has changed it
            assert record.generation == generation, f"{record} in generation {generation}"
        known = self._generations.get(record.generation, {})
        globs = GlobSet({id_: each.path_glob for id_, each in known.items()})
        match record.content:
            case DroppedTransactions(first, last):
                assert (first, last) == (link.previous + 1, link.txid), f"{record} drops something else"
                self._see_droppable(stream, first, last)
            case StaleChanges(changes):
                announced = stale(change for _, change in changes)
                for txid in range(link.previous + 1, link.txid + 1):
                    for event in stream.history.transactions[txid - 1]:
                        for change in changes_of_event(event):
                            if concerns(change, globs) and not announced.covers(stale([change])):
                                raise AssertionError(f"{link} does not tell of {change} in {txid}")
        stream.txid = link.txid
        stream.records.append(link.txid)
        return stream

    def _filter_record(self, name: str, path: str, data: bytes) -> Followed:
        record = parse_filter_record(path, data)
        link, stream, filter_ = record.link, self._streams[name], self._filters[name]
        assert (link.chain, link.previous) == (stream.chain, stream.txid), f"{link} does not follow {stream}"
        assert record.modified == stream.due, f"{record} should say {stream.due}"
        self.modified += record.modified is not None
        stream.due = None
        match record.content:
            case DroppedTransactions(first, last):
                assert link.previous < first <= last == link.txid, f"{record} drops something else"
                self._see_none_between(stream, filter_, link.previous, first - 1)
                self._see_droppable(stream, first, last)
                self.dropped += 1
            case MatchedEvents(batches):
                expected = _matching(stream, link.previous, link.txid)
                assert list(batches) == expected, f"{record} of {filter_} should be {expected}"
                is_notice = record.modified is not None and not batches
                assert is_notice or batches[-1].txid == link.txid, f"{record} claims more than it tells"
        stream.txid = link.txid
        stream.records.append(link.txid)
        return stream

    def _see_record(self, tree: AuditedTree, path: str, stream: Followed) -> None:
        """Check that the value is the newest record, and that the last records are kept, and not too many."""
        found = sorted(txid for txid in map(parse_txid, tree.children(path)) if txid is not None)
        assert tree.read(path).data == b"%d" % found[-1], f"{path} is not at its newest record"
        assert len(found) <= self._max_records, f"{path} has {len(found)} records"
        assert found == stream.records[-len(found) :], f"{path} has {found}, made were {stream.records}"

    def _note_generation(self, tree: AuditedTree, *, is_new_set: bool) -> None:
        """Check that each set of filters has a generation of its own."""
        generation = parse_txid(tree.read(self._znodes.filters).data)
        if generation is None:  # a stranger has changed it
            return
        assert not is_new_set or generation not in self._generations, f"generation {generation} has two sets"
        known = self._generations.setdefault(generation, {})
        known |= {filter_.id: filter_ for filter_ in self._filters.values()}

    def _see_coverage(self) -> None:
        """Check that every filter's records have all events up to the coverage of `.cache`."""
        assert self._cache is not None
        for name, stream in self._streams.items():
            is_late = stream.due is not None and stream.due.after_txid < self._cache.txid
            assert not is_late, f"nothing says {stream.due}, covered through {self._cache.txid}"
            self._see_none_between(stream, self._filters[name], stream.txid, self._cache.txid)

    def _see_none_between(self, stream: Followed, filter_: PublishedFilter, after: int, through: int) -> None:
        missing = _matching(stream, after, through)
        assert not missing, f"{filter_.name} lacks {missing}, covered through {through}"

    def _see_droppable(self, stream: Followed, first: int, last: int) -> None:
        assert self._cache is not None, "nothing can be dropped before the beginning"
        after = self._cache.txid
        for txid in range(first, last + 1):
            assert stream.history.droppable(after, txid), f"{txid} was dropped without need"

    def _see_end(self, txid: int) -> None:
        assert txid <= len(self.history.transactions), f"a chain begins at {txid}, which has not happened"


def _matching(stream: Followed, after: int, through: int) -> list[EventBatch]:
    found = []
    for txid in range(after + 1, through + 1):
        path_glob = next(each for since, each in reversed(stream.globs) if since < txid)
        glob = GlobSet({"": path_glob})
        events = tuple(event for event in stream.history.transactions[txid - 1] if _matches(glob, event))
        if events:
            found.append(EventBatch(txid, events))
    return found


def _matches(glob: GlobSet, event: Event) -> bool:
    if isinstance(event, Rename):
        return glob.matches(event.source) or glob.matches(event.destination)
    return glob.matches(event.path)
