"""The public API for applications: names, settings and stored positions. (tests/stories has real events.)"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import nncache
from nncache.client import subscribing
from nncache.errors import ConfigurationError
from nncache.invalidation.subscriber.subscription import Subscription
from tests.invalidation.channel.fake_cluster import FakeCluster, probed_fake_cluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


def test_what_is_offered_is_there() -> None:
    """Any other attribute is an AttributeError."""
    assert nncache.MissingEventsError in nncache.PublisherAwayError.__mro__
    assert nncache.MissingEventsError in nncache.ZooKeeperSilentError.__mro__
    assert callable(nncache.subscribe)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = nncache.nothing


@pytest.mark.parametrize(
    "position", [nncache.EventsPosition(7), nncache.EventsPosition(7, "c1"), nncache.EventsPosition(0, "a@b")]
)
def test_a_position_survives_its_storage(position: nncache.EventsPosition) -> None:
    """A position is stored as text, such as a line of a file."""
    assert nncache.EventsPosition.parse(str(position)) == position
    assert nncache.EventsPosition.parse(f"{position}\n") == position


@pytest.mark.parametrize("text", ["", "@c1", "-1", "x@c1", "1.5"])
def test_what_is_no_position_is_refused(text: str) -> None:
    """The error describes a valid position."""
    with pytest.raises(ValueError, match="a transaction id"):
        nncache.EventsPosition.parse(text)


def test_a_missing_setting_is_named() -> None:
    """The error comes before any server is contacted."""
    with pytest.raises(ConfigurationError, match="zookeeper"):
        nncache.subscribe("f", nameservice="ns1")
    with pytest.raises(ConfigurationError, match="nothing_of_ours"):
        nncache.subscribe("f", nameservice="ns1", zookeeper="127.0.0.1:1", nothing_of_ours=1)


def test_events_are_read_inside_of_a_block() -> None:
    """Otherwise nothing would close the session."""
    events = nncache.subscribe("f", nameservice="ns1", zookeeper="127.0.0.1:1")
    with pytest.raises(RuntimeError, match="inside of a block"):
        next(events)
    with pytest.raises(RuntimeError, match="inside of a block"):
        asyncio.run(anext(events))


@pytest.fixture
async def fake_cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeCluster]:
    """The state of a publisher in a fake ZooKeeper that subscriptions read."""
    async with probed_fake_cluster() as found:

        @asynccontextmanager
        async def subscribed(
            _: object, name: str, resume: nncache.EventsPosition | None
        ) -> AsyncIterator[Subscription]:
            txid, chain = (None, None) if resume is None else (resume.txid, resume.chain)
            yield Subscription(found.session, ZNODES, name, clock, txid, chain=chain, outage_s=6.0)

        monkeypatch.setattr(subscribing, "subscribed", subscribed)
        yield found


def events_of_joe(resume: nncache.EventsPosition | None = None) -> nncache.FilterEvents:
    """Return the events of the existing filter."""
    return nncache.subscribe("joe", resume=resume, nameservice="ns1", zookeeper="127.0.0.1:1")


async def test_the_position_is_not_behind_an_unreported_gap(fake_cluster: FakeCluster) -> None:
    """GapFlush: a program that stores the position on entry still gets the gap after a restart."""
    resume = nncache.EventsPosition(3)
    async with events_of_joe(resume) as events:
        assert events.position == resume
        with pytest.raises(nncache.MissingEventsError) as raised:
            await anext(events)
        assert (raised.value.first_txid, raised.value.last_txid) == (4, 10)
        assert events.position is not None
        assert events.position.txid == 10


async def test_a_block_that_is_entered_again_brings_no_event_twice(fake_cluster: FakeCluster) -> None:
    """It resumes after the last returned event."""
    events = events_of_joe()
    async with events:
        for path in ("/joe/a", "/joe/b"):
            fake_cluster.namenode.unlink(path)
        fake_cluster.unlink("/joe/c")
        first = await anext(events)
    async with events:
        rest = [await anext(events), await anext(events)]
        fake_cluster.unlink("/joe/d")
        rest.append(await anext(events))
    assert [each.txid for each in (first, *rest)] == [11, 12, 13, 14]
