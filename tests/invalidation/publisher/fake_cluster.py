"""A NameNode, ZooKeeper, filters in HDFS, and publishers on them, in virtual time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from nncache.coordination.settings import ZooKeeperSettings
from nncache.invalidation.channel.published_filters import PublishedFilter, parse_published_filter
from nncache.invalidation.channel.records import (
    CacheRecord,
    FilterRecord,
    MatchedEvents,
    parse_cache_record,
    parse_filter_record,
)
from nncache.invalidation.channel.znodes import ZnodePaths, parse_txid
from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.errors import CorruptZnodeError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.filters.trust import Distrust
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import OutputSetup
from nncache.invalidation.publisher.publisher import Publisher
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.zookeeper_output import ZooKeeperInotifyEventOutputStream
from nncache.invalidation.settings import PollingSettings
from tests.coordination.fake_tree import ANYONE, SUPERUSER, Identities
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.virtual_time import clock

ZNODES = ZnodePaths("/HDFSInotifyRoot", "ns1")


class FakeFilters:
    """The filters in HDFS; each change of them is a transaction below their directory."""

    path = "/apps/nncache/filters"

    def __init__(self, namenode: FakeNameNode) -> None:
        self.namenode = namenode  # the NameNode that takes writes
        self.filters: dict[str, Filter] = {}
        self.broken: dict[str, str] = {}
        self.untrusted: dict[str, Distrust] = {}
        self._made = 0  # number of filters created so far
        self._file_ids: dict[str, int] = {}  # of the existing filters, by name
        self.fault: Exception | None = None  # raised by reads
        self.takes_s = 0.01
        self.reads = 0
        self.read_names: list[tuple[str, ...] | None] = []  # by each read; None: all

    def put(self, name: str, glob: str, *, owner: str = "joe", allowed: tuple[str, ...] = ()) -> None:
        """Add or change a filter. A filter of a removed name is a new one."""
        if name not in self._file_ids:
            self._made += 1
            self._file_ids[name] = self._made
        self.filters[name] = Filter(name, glob, owner, allowed, self._file_ids[name])
        self.broken.pop(name, None)
        self.namenode.unlink(f"{self.path}/{name}")

    def damage(self, name: str) -> None:
        """Make its definition unusable."""
        self.filters.pop(name, None)
        self.broken[name] = "not JSON"
        self.namenode.unlink(f"{self.path}/{name}/definition.json")

    def distrust(self, name: str, why: Distrust | None) -> None:
        """Record why a filter is not trusted; None: it is trusted again."""
        self.untrusted.pop(name, None)
        if why is not None:
            self.untrusted[name] = why
        self.namenode.unlink(f"{self.path}/{name}/subscribers/changed")

    def remove(self, name: str) -> None:
        """Remove a filter."""
        self.filters.pop(name, None)
        self.broken.pop(name, None)
        self._file_ids.pop(name, None)
        self.namenode.unlink(f"{self.path}/{name}")

    async def read_all(self) -> StoredFilters:
        """Return all filters as of the call."""
        self.read_names.append(None)
        return await self._found({*self.filters, *self.broken})

    async def read(self, names: Collection[str]) -> StoredFilters:
        """Return the filters with these names."""
        self.read_names.append(tuple(names))
        return await self._found(names)

    async def _found(self, names: Collection[str]) -> StoredFilters:
        self.reads += 1
        found = StoredFilters(
            filters={name: each for name, each in self.filters.items() if name in names},
            broken={name: why for name, why in self.broken.items() if name in names},
            untrusted={name: why for name, why in self.untrusted.items() if name in names},
        )
        await asyncio.sleep(self.takes_s)
        if self.fault is not None:
            raise self.fault
        return found


ACL: dict[str, Any] = {"zookeeper_acl": ("sasl:proxy@R:r",), "zookeeper_subscriber_id": "sasl:{user}@R"}
"""Settings of a publisher that protects its znodes."""

PROTECTED = ZooKeeperSettings(zookeeper_sasl="digest", zookeeper_password_file="/password")
"""Settings of a publisher with an identity at ZooKeeper; the fake's sessions have the identity that they claim."""

OURS: Identities = frozenset({("sasl", "publisher@R")})
PROXY = ("sasl", "proxy@R")


class FakeProcess:
    """A publisher's process, which can be killed and started again under the same name."""

    def __init__(
        self, fake_cluster: "FakeCluster", name: str, session: FakeSession, settings: PublisherSettings
    ) -> None:
        zookeeper = ZooKeeperSettings() if fake_cluster.who == ANYONE else PROTECTED
        setup = OutputSetup(nameservice="ns1", publisher=settings, zookeeper=zookeeper, clock=clock)
        self.session = session
        self.source = fake_cluster.new_source()
        self.output = ZooKeeperInotifyEventOutputStream(setup, session)
        self.publisher = Publisher(
            source=self.source,
            namenodes=fake_cluster.pool,
            filters=fake_cluster.filters,
            output=self.output,
            settings=settings,
            identity=PublisherIdentity(id="1", host=name, pid=1, admin="127.0.0.1:9873"),
            clock=clock,
            admission=fake_cluster.admission,
            chance=lambda: 0.5,
        )

    async def run(self) -> None:
        """Publish until cancelled, then shut down in order."""
        try:
            await self.publisher.run()
        finally:
            await self.publisher.shut_down()


@dataclass
class FakeCluster:
    """The servers of a story; the log has 10 transactions."""

    settings: PublisherSettings
    polling: PollingSettings
    namenodes: tuple[FakeNameNode, ...]
    pool: FakePool
    zookeeper: FakeZooKeeper
    filters: FakeFilters
    outsider: FakeSession  # reads and damages the tree
    who: Identities = ANYONE  # the identities of publishers at ZooKeeper
    admission: FilterSettings = field(default_factory=FilterSettings)
    other_source: Callable[[], EditsSource] | None = None  # replaces the NameNode as publishers' source
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def namenode(self) -> FakeNameNode:
        """The NameNode that takes writes."""
        return self.filters.namenode

    def new_source(self) -> EditsSource:
        """Return a publisher's source of edits."""
        if self.other_source is not None:
            return self.other_source()
        return PolledEdits(self.pool, self.polling, clock, chance=lambda: 0.5)

    @asynccontextmanager
    async def publisher(self, name: str = "a") -> AsyncIterator[FakeProcess]:
        """Run a publisher's process, and shut it down in order."""
        process = FakeProcess(self, name, self.zookeeper.session(self.who), self.settings)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(process.run())
            try:
                yield process
            finally:
                running.cancel()

    @asynccontextmanager
    async def publishing(self) -> AsyncIterator[FakeProcess]:
        """Run a publisher, with filter f on /f in force."""
        async with self.publisher() as process:
            await self.with_filter()
            yield process

    async def with_filter(self, name: str = "f", glob: str = "/f") -> None:
        """Add a filter, and wait until it is in force."""
        self.filters.put(name, glob)
        await virtual_time.until(lambda: self.covered() >= 0 and name in self.published_filters())
        await self.published()

    def reported(self, name: str) -> list[int]:
        """Return the transactions whose events a filter's subscribers can read."""
        return [
            batch.txid
            for record in self.records(name)
            if isinstance(record.content, MatchedEvents)
            for batch in record.content.batches
        ]

    async def published(self, txid: int | None = None) -> None:
        """Wait until everything up to this transaction, or to the present end, is published."""
        wanted = self.namenode.log.end if txid is None else txid
        await virtual_time.until(lambda: self.covered() >= wanted)

    def covered(self) -> int:
        """Return the value of `.cache`; -1: there is none."""
        path, tree = ZNODES.cache, self.zookeeper.tree
        txid = parse_txid(tree.read(path).data) if tree.exists(path) else None
        return -1 if txid is None else txid

    def published_filters(self) -> dict[str, PublishedFilter]:
        """Return the readable filters in force, by name."""
        tree, found = self.zookeeper.tree, dict[str, PublishedFilter]()
        for name in tree.children(ZNODES.filters):
            with contextlib.suppress(CorruptZnodeError):
                path = ZNODES.definition(name)
                found[name] = parse_published_filter(path, tree.read(path).data)
        return found

    def generation(self) -> int:
        """Return the generation of the filters."""
        return int(self.zookeeper.tree.read(ZNODES.filters).data)

    def is_sound(self, name: str) -> bool:
        """Return whether a filter's value is its newest record."""
        path, tree = ZNODES.stream(name), self.zookeeper.tree
        value = parse_txid(tree.read(path).data) if tree.exists(path) else None
        found = [record.link.txid for record in self.records(name)] if value is not None else []
        return value is not None and value == max(found, default=value)

    def records(self, name: str) -> list[FilterRecord]:
        """Return a filter's records, the oldest first."""
        return [parse_filter_record(path, data) for path, data in self._children(ZNODES.stream(name))]

    def cache_records(self) -> list[CacheRecord]:
        """Return the records for caches, the oldest first."""
        return [parse_cache_record(path, data) for path, data in self._children(ZNODES.cache)]

    def _children(self, path: str) -> list[tuple[str, bytes]]:
        tree = self.zookeeper.tree
        names = sorted((name for name in tree.children(path) if name.isdecimal()), key=int)
        return [(f"{path}/{name}", tree.read(f"{path}/{name}").data) for name in names]


def fake_cluster(
    *peers: FakeNameNode,
    who: Identities = ANYONE,
    admission: FilterSettings | None = None,
    **settings: object,
) -> FakeCluster:
    """Return a cluster; `settings` are those of the publishers."""
    namenode = FakeNameNode()
    for number in range(10):
        namenode.unlink(f"/before/{number}")
    zookeeper = FakeZooKeeper(clock)
    return FakeCluster(
        settings=PublisherSettings(**settings),  # type: ignore[arg-type]  # of the right types
        polling=PollingSettings(),
        namenodes=(namenode, *peers),
        pool=FakePool(clock, namenode, *peers),
        zookeeper=zookeeper,
        filters=FakeFilters(namenode),
        outsider=zookeeper.session(SUPERUSER),
        who=who,
        admission=admission or FilterSettings(),
    )


def protected_cluster() -> FakeCluster:
    """Return a cluster whose publishers log in at ZooKeeper, and so protect their znodes."""
    return fake_cluster(who=OURS, **ACL)
