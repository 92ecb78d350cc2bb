"""A hand-operated publisher: it writes to ZooKeeper immediately, completely, and whatever a test wants."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop.changes import changes_of_event
from nncache.hadoop.events import EventBatch
from nncache.hadoop.globs import GlobSet
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
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.publisher.relevance import matched, narrow
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.fakes import FakeNameNode

ZNODES = ZnodePaths("/HDFSInotifyRoot", "ns1")


@dataclass
class Written:
    """The state of a stream in ZooKeeper."""

    path: str
    chain: str
    txid: int
    records: deque[int] = field(default_factory=deque)


PressState: TypeAlias = tuple[Written, dict[str, PublishedFilter], dict[str, Written], int]
"""The stream for caches, the filters, their streams, and the generation."""


class Press:
    """Publishes the log of a NameNode on demand.

    Commits reach the server without delay, so the test decides what readers see between them.
    """

    def __init__(self, server: FakeZooKeeper, namenode: FakeNameNode, *, max_records: int = 8) -> None:
        self.namenode = namenode  # whose log is published
        self.max_records = max_records
        self.filters: dict[str, PublishedFilter] = {}
        self.generation = 0
        self.cache = Written(ZNODES.cache, "", 0)
        self._server = server
        self._session = FakeSession(server)  # tests cannot cut it
        self._session.session_id = 7
        self._streams: dict[str, Written] = {}  # of the filters, by name
        self._ids = 0  # counts: all ids are unique

    def begin(self) -> None:
        """Create the tree in an empty ZooKeeper: new chains, from the present end of the log on."""
        globs = {name: published.path_glob for name, published in self.filters.items()}
        self.generation = 1
        self.cache = Written(ZNODES.cache, self._new_id("cache"), self.namenode.synced)
        self.filters, self._streams = {}, {}
        self.commit(
            CreateOp(ZNODES.root, b""),
            CreateOp(ZNODES.namespace, self.namenode.namespace.block_pool.encode()),
            CreateOp(ZNODES.filters, b"1"),
            CreateOp(ZNODES.cache, self.present),
        )
        self.appear()
        if globs:
            self.change_filters(globs)

    def appear(self) -> None:
        """Create the znode of a running publisher."""
        self.commit(CreateOp(ZNODES.publisher, b"{}", ephemeral=True))

    def vanish(self) -> None:
        """Delete the znode of the running publisher."""
        self.commit(DeleteOp(ZNODES.publisher))

    @property
    def state(self) -> PressState:
        """The state that a new publisher finds in ZooKeeper."""
        return self.cache, self.filters, self._streams, self.generation

    @state.setter
    def state(self, state: PressState) -> None:
        self.cache, self.filters, self._streams, self.generation = state

    @property
    def present(self) -> bytes:
        """The present value of `.cache`."""
        return b"%d" % self.cache.txid

    def publish(self, through: int | None = None) -> int:
        """Publish the log up to this transaction, or to its end; return the transaction."""
        txid = self.namenode.synced if through is None else through
        if txid <= self.cache.txid:
            return self.cache.txid
        globs = GlobSet({name: published.path_glob for name, published in self.filters.items()})
        batches = [
            EventBatch(at, self.namenode.log.transactions[at - 1])
            for at in range(self.cache.txid + 1, txid + 1)
        ]
        found: dict[str, list[EventBatch]] = {}
        for batch in batches:
            for name, part in matched(batch, globs).items():
                found.setdefault(name, []).append(part)
        changes = [
            (batch.txid, change)
            for batch in batches
            for event in batch.events
            for change in changes_of_event(event)
        ]
        operations: list[ZnodeOp] = []
        for name, parts in found.items():
            operations += self.filter_record(name, MatchedEvents(tuple(parts)), parts[-1].txid)
        operations += self.cache_record(StaleChanges(tuple(narrow(changes, globs))), txid)
        self.commit(*operations)
        return txid

    def drop(self, first: int, last: int) -> None:
        """Publish to all streams that the edits of these transactions are lost."""
        dropped = DroppedTransactions(first, last, "purged")
        operations: list[ZnodeOp] = []
        for name in self.filters:
            operations += self.filter_record(name, dropped, last)
        self.commit(*operations, *self.cache_record(dropped, last))

    def cache_record(self, content: StaleChanges | DroppedTransactions, txid: int) -> list[ZnodeOp]:
        """Return the operations that append a record to the stream for caches."""
        link = RecordLink(self.cache.chain, self.cache.txid, txid)
        return self._append(
            self.cache, encode_cache_record(CacheRecord(link, self.generation, content)), txid
        )

    def filter_record(
        self,
        name: str,
        content: MatchedEvents | DroppedTransactions,
        txid: int,
        modified: FilterModification | None = None,
    ) -> list[ZnodeOp]:
        """Return the operations that append a record to a filter's stream."""
        written = self._streams[name]
        link = RecordLink(written.chain, written.txid, txid)
        return self._append(written, encode_filter_record(FilterRecord(link, content, modified)), txid)

    def change_filters(
        self, globs: dict[str, str], *, anew: frozenset[str] = frozenset(), has_read: bool = True
    ) -> None:
        """Set the filters in force. Existing ones are kept, except those in `anew`, which are removed and added again.

        Edits that the publisher `has_read` so far are matched by the former filters.
        """
        if has_read:
            self.publish()
        operations: list[ZnodeOp] = []
        for name in [*self.filters]:
            if name not in globs or name in anew:
                written = self._streams.pop(name)
                operations += [DeleteOp(f"{written.path}/{txid}") for txid in written.records]
                operations += [DeleteOp(written.path), DeleteOp(ZNODES.definition(name))]
                del self.filters[name]
        for name, glob in globs.items():
            if name in self.filters:
                continue
            published = PublishedFilter(
                name=name,
                id=self._new_id(name),
                path_glob=glob,
                since_txid=self.cache.txid,
                owner="joe",
                allowed_subscribers=(),
            )
            self.filters[name] = published
            self._streams[name] = Written(ZNODES.stream(name), published.id, self.cache.txid)
            operations += [
                CreateOp(ZNODES.definition(name), encode_published_filter(published)),
                CreateOp(ZNODES.stream(name), self.present),
            ]
        self.generation += 1
        self.commit(*operations, SetDataOp(ZNODES.filters, b"%d" % self.generation))

    def subscribers(self, name: str, *users: str) -> None:
        """Let these users subscribe to a filter, in addition to its owner; the generation stays."""
        published = self.filters[name] = replace(self.filters[name], allowed_subscribers=users)
        self.commit(SetDataOp(ZNODES.definition(name), encode_published_filter(published)))

    def begin_anew(self) -> None:
        """Restart all chains, as after a log that went back: new ids, from the present end on."""
        operations: list[ZnodeOp] = [DeleteOp(f"{ZNODES.cache}/{txid}") for txid in self.cache.records]
        self.cache = Written(ZNODES.cache, self._new_id("cache"), self.namenode.synced)
        self.commit(*operations, SetDataOp(ZNODES.cache, self.present))
        globs = {name: published.path_glob for name, published in self.filters.items()}
        self.change_filters(globs, anew=frozenset(globs))

    def put(self, path: str, data: bytes) -> None:
        """Write any data to any path, like a client outside the service."""
        self.commit(SetDataOp(path, data) if path in self._server.tree.paths else CreateOp(path, data))

    def delete(self, path: str) -> None:
        """Delete any path, like a client outside the service."""
        self.commit(DeleteOp(path))

    def commit(self, *operations: ZnodeOp) -> None:
        """Commit a transaction."""
        self._server.commit(self._session, operations)

    def _append(self, written: Written, data: bytes, txid: int) -> list[ZnodeOp]:
        operations: list[ZnodeOp] = [CreateOp(f"{written.path}/{txid}", data)]
        while len(written.records) >= self.max_records:
            operations.append(DeleteOp(f"{written.path}/{written.records.popleft()}"))
        written.records.append(txid)
        written.txid = txid
        operations.append(SetDataOp(written.path, b"%d" % txid))
        return operations

    def _new_id(self, what: str) -> str:
        self._ids += 1
        return f"{what}-{self._ids}"


PUBLISHED = PublishedFilter(
    name="joe",
    id="c0ffee",
    path_glob="/user/joe/*/_SUCCESS",
    since_txid=17,
    owner="joe",
    allowed_subscribers=("ann", "bob"),
)
PUBLISHED_JSON = (
    b'{"version":1,"id":"c0ffee","pathGlob":"/user/joe/*/_SUCCESS","since":17,"owner":"joe",'
    b'"allowedSubscribers":["ann","bob"]}'
)
