"""OutageDetector, under a subscriber's stream: told when it is too long, by our own clock, and no gap by itself."""

import asyncio

import pytest

from nncache.invalidation.errors import PublisherAwayError, ZooKeeperSilentError
from nncache.invalidation.subscriber.events import Position
from nncache.invalidation.subscriber.outages import HIDDEN_LOOK_S, PUBLISHER_GRACE_S
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.channel.subscription import follow, received, take
from tests.invalidation.virtual_time import clock


async def test_a_silent_zookeeper_is_an_outage_and_no_gap(fake_cluster: FakeCluster) -> None:
    """Told when it has been silent for too long by our own clock; when it is over the stream goes on."""
    stream = follow(fake_cluster)
    await anext(stream)
    fake_cluster.server.disconnect()
    silent_at = clock()
    fake_cluster.unlink("/joe/a")
    with pytest.raises(ZooKeeperSilentError, match="silent for 6 s"):
        await anext(stream)
    assert 6 <= clock() - silent_at < 7.1
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    with pytest.raises(ZooKeeperSilentError):
        await anext(again)
    last = follow(fake_cluster, again.position, chain=again.chain)
    asyncio.get_running_loop().call_later(3, fake_cluster.server.connect)
    assert await take(last, 2) == [Position(10), received(11, "/joe/a")]


async def test_a_publisher_away_for_long_is_an_outage(fake_cluster: FakeCluster) -> None:
    """Nobody would know of new events; a short absence is none."""
    stream = follow(fake_cluster)
    await anext(stream)
    fake_cluster.press.vanish()
    asyncio.get_running_loop().call_later(PUBLISHER_GRACE_S - 2, fake_cluster.press.appear)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(stream), 60)
    gone_at = clock()
    fake_cluster.press.vanish()
    with pytest.raises(PublisherAwayError, match="no publisher"):
        await anext(stream)
    assert PUBLISHER_GRACE_S <= clock() - gone_at < PUBLISHER_GRACE_S + 2.1
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    fake_cluster.unlink("/joe/a")
    assert await take(again, 2) == [Position(10), received(11, "/joe/a")]
    with pytest.raises(PublisherAwayError, match="no publisher"):
        await anext(again)


async def test_a_publisher_whose_presence_is_hidden_is_there(fake_cluster: FakeCluster) -> None:
    """An ACL refuses what is there, and nothing else; it is looked at seldom, since no watch can be set."""
    fake_cluster.server.tree.forbidden.add(ZNODES.publisher)
    stream = follow(fake_cluster)
    await anext(stream)
    calls = fake_cluster.session.stats().calls
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(stream), 30)
    assert fake_cluster.session.stats().calls - calls < 30 + 30 / HIDDEN_LOOK_S + 5
    fake_cluster.press.vanish()
    gone_at = clock()
    with pytest.raises(PublisherAwayError, match="no publisher"):
        await anext(stream)
    assert clock() - gone_at < PUBLISHER_GRACE_S + HIDDEN_LOOK_S + 2.1
