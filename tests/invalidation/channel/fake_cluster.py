"""A NameNode, its pool, a hand-operated publisher and a reader's session on a ZooKeeper, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.follower.stream import ZooKeeperInotifyEventInputStream
from nncache.invalidation.stream import ChangeBatch, CoveredThrough, FiltersInForce, StreamItem
from nncache.invalidation.subscriber.events import (
    FilterInotifyEventInputStream,
    ReceivedEvents,
    SubscriptionItem,
)
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.channel.press import ZNODES, Press
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.virtual_time import clock
from tests.setup import channel_setup

JOE = {"joe": "/joe/*"}
"""The filter that exists at the beginning of a story."""


@dataclass
class FakeCluster:
    """The servers, the publisher, and the stream under test."""

    namenode: FakeNameNode
    pool: FakePool
    server: FakeZooKeeper
    session: FakeSession  # the stream's session
    press: Press
    stream: ZooKeeperInotifyEventInputStream

    def unlink(self, *paths: str) -> int:
        """Delete these paths and publish the deletions in one record; return its transaction."""
        for path in paths:
            self.namenode.unlink(path)
        return self.press.publish()

    async def next_of(self, *kinds: type[StreamItem]) -> StreamItem:
        """Return the next item of these kinds, and drop the others."""
        while True:
            item = await anext(self.stream)
            if isinstance(item, kinds):
                return item

    async def next_changes(self) -> tuple[tuple[str, ...], int]:
        """Return the paths of the next changes, and the transaction that they reach."""
        item = await self.next_of(ChangeBatch)
        assert isinstance(item, ChangeBatch)
        return tuple(getattr(change, "path", "") for _, change in item.changes), item.through_txid

    async def next_covered(self, since: float) -> CoveredThrough:
        """Return the first coverage as of `since` or later."""
        while True:
            item = await self.next_of(CoveredThrough)
            if isinstance(item, CoveredThrough) and item.as_of >= since:
                return item

    async def next_filters(self) -> set[str]:
        """Return the globs of the next set of filters."""
        item = await self.next_of(FiltersInForce)
        assert isinstance(item, FiltersInForce)
        return set(item.globs.values())


def fake_cluster(**filters: str) -> FakeCluster:
    """Return a cluster with 10 transactions and these published filters."""
    namenode = FakeNameNode()
    for number in range(10):
        namenode.unlink(f"/before/{number}")
    pool = FakePool(clock, namenode)
    server = FakeZooKeeper(clock)
    press = Press(server, namenode)
    press.begin()
    press.change_filters(filters or JOE)
    session = server.session()
    stream = ZooKeeperInotifyEventInputStream(
        channel_setup(pool, clock), connect=lambda settings, clock: session
    )
    return FakeCluster(namenode, pool, server, session, press, stream)


@asynccontextmanager
async def probed_fake_cluster(**filters: str) -> AsyncIterator[FakeCluster]:
    """Yield a cluster whose NameNodes are probed every second."""
    fixture = fake_cluster(**filters)
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(fixture.pool.run())
        yield fixture
        probing.cancel()


def play(story: Callable[[FakeCluster], Awaitable[None]], **filters: str) -> None:
    """Play a story in virtual time, for a test without an event loop."""

    async def run() -> None:
        async with probed_fake_cluster(**filters) as fixture:
            await story(fixture)

    virtual_time.run(run())


def follow(
    fake_cluster: FakeCluster, from_txid: int | None = None, *, name: str = "joe", chain: str | None = None
) -> FilterInotifyEventInputStream:
    """Return a filter's stream under test."""
    return FilterInotifyEventInputStream(fake_cluster.session, ZNODES, name, clock, from_txid, chain=chain)


def received(txid: int, *paths: str) -> ReceivedEvents:
    """Return the item of a record: each path is deleted by a transaction of its own, the last by `txid`."""
    first = txid - len(paths) + 1
    return ReceivedEvents(
        tuple(EventBatch(first + place, (Unlink(path),)) for place, path in enumerate(paths)), txid
    )


async def take(stream: AsyncIterator[SubscriptionItem], count: int) -> list[SubscriptionItem]:
    """Return the next items."""
    return [await anext(stream) for _ in range(count)]


def paths(items: Sequence[SubscriptionItem]) -> list[str]:
    """Return the paths that these items delete."""
    return [
        event.path
        for item in items
        if isinstance(item, ReceivedEvents)
        for batch in item.batches
        for event in batch.events
        if isinstance(event, Unlink)
    ]
