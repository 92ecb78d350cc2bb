"""A subscription continues after the end of a stream, whose reason it raises once. (As lines: tests/commands.)"""

import asyncio
import copy

import pytest

from nncache.hadoop.events import Unlink
from nncache.invalidation.errors import MissingEventsError, PublisherAwayError, UnknownFilterError
from nncache.invalidation.subscriber.events import REREAD_S, ReceivedEvents, SubscriptionStart
from nncache.invalidation.subscriber.subscription import Subscription
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


def subscription(fake_cluster: FakeCluster, name: str = "joe", from_txid: int | None = None) -> Subscription:
    """Return a subscription to a filter."""
    return Subscription(fake_cluster.session, ZNODES, name, clock, from_txid, outage_s=6.0)


async def paths(following: Subscription) -> list[str]:
    """Return the paths of the next events."""
    item = await anext(following)
    assert isinstance(item, ReceivedEvents)
    events = [event for batch in item.batches for event in batch.events]
    return [event.path for event in events if isinstance(event, Unlink)]


async def test_it_goes_on_behind_a_gap(fake_cluster: FakeCluster) -> None:
    """The error has the transactions of the gap; position and chain are those to continue from."""
    following = subscription(fake_cluster)
    assert await anext(following) == SubscriptionStart(10)
    fake_cluster.namenode.unlink("/joe/a")
    fake_cluster.press.drop(11, 11)
    fake_cluster.unlink("/joe/b")
    with pytest.raises(MissingEventsError) as raised:
        await anext(following)
    assert (raised.value.first_txid, raised.value.last_txid) == (11, 11)
    assert (following.position, following.chain is not None) == (11, True)
    assert await anext(following) == SubscriptionStart(11)
    assert await paths(following) == ["/joe/b"]


async def test_a_wait_may_be_cancelled(fake_cluster: FakeCluster) -> None:
    """Nothing is skipped, even while the publisher is missing."""
    following = subscription(fake_cluster)
    await anext(following)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3):
            await anext(following)
    fake_cluster.unlink("/joe/a")
    assert await paths(following) == ["/joe/a"]
    fake_cluster.press.vanish()
    with pytest.raises(PublisherAwayError):
        await anext(following)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(30):
            await anext(following)
    fake_cluster.press.appear()
    fake_cluster.unlink("/joe/b")
    assert isinstance(await anext(following), SubscriptionStart)
    assert await paths(following) == ["/joe/b"]


async def test_what_is_unknown_is_asked_for_again_after_a_pause(fake_cluster: FakeCluster) -> None:
    """A filter may be added while a subscription to it retries."""
    following = subscription(fake_cluster, "ann")
    for _ in range(2):
        with pytest.raises(UnknownFilterError):
            await anext(following)
    fake_cluster.press.change_filters({"joe": "/joe/*", "ann": "/ann/*"})
    began_at = clock()
    assert isinstance(await anext(following), SubscriptionStart)
    assert 0 < clock() - began_at < 2


async def test_it_goes_on_over_a_server_that_is_behind(
    fake_cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A position read from another server does not mean another log."""
    server, following = fake_cluster.server, subscription(fake_cluster)
    await anext(following)
    behind, ahead = copy.deepcopy(server.tree), server.tree
    txid = fake_cluster.unlink("/joe/a")
    assert await paths(following) == ["/joe/a"]

    async def catch_up(_path: str) -> None:
        """Let the server catch up with earlier commits."""
        server.tree = ahead

    monkeypatch.setattr(fake_cluster.session, "sync", catch_up)
    server.tree = behind
    assert await anext(subscription(fake_cluster, from_txid=txid)) == SubscriptionStart(txid)
    server.tree = behind
    server.expire(fake_cluster.session)  # the next session begins at the server that is behind
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(paths(following))
        await asyncio.sleep(REREAD_S)
        fake_cluster.unlink("/joe/b")
    assert reading.result() == ["/joe/b"]
