"""A subscriber's stream on the stage, and what it should yield."""

from collections.abc import AsyncIterator, Sequence

from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.subscriber.events import (
    FilterInotifyEventInputStream,
    ReceivedEvents,
    SubscriptionItem,
)
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


def follow(
    fake_cluster: FakeCluster, from_txid: int | None = None, *, name: str = "joe", chain: str | None = None
) -> FilterInotifyEventInputStream:
    """Return a stream under test."""
    return FilterInotifyEventInputStream(fake_cluster.session, ZNODES, name, clock, from_txid, chain=chain)


def received(txid: int, *paths: str) -> ReceivedEvents:
    """Return the item of a record in which each path was deleted by a transaction, the last by this one."""
    first = txid - len(paths) + 1
    return ReceivedEvents(
        tuple(EventBatch(first + place, (Unlink(path),)) for place, path in enumerate(paths)), txid
    )


async def take(stream: AsyncIterator[SubscriptionItem], count: int) -> list[SubscriptionItem]:
    """Return the next items."""
    return [await anext(stream) for _ in range(count)]


def paths(items: Sequence[SubscriptionItem]) -> list[str]:
    """Return the paths that were deleted."""
    return [
        event.path
        for item in items
        if isinstance(item, ReceivedEvents)
        for batch in item.batches
        for event in batch.events
        if isinstance(event, Unlink)
    ]
