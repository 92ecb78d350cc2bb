"""Filters' events and readers, read from a publisher's znodes, in virtual time."""

import asyncio
import logging

import pytest

from nncache.coordination.acl import Acl, ZnodeAclEntry, ZnodePerms
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import Znode
from nncache.events import source as items
from nncache.events.feed import FilterFeed
from nncache.events.source import (
    AfterTxid,
    EventsGap,
    EventsOutage,
    FilterGone,
    NextEvents,
    SourceUnavailableError,
    StreamBegun,
)
from nncache.events.stream import MAX_CATCHING_UP, EventStream, StreamEnd
from nncache.events.zookeeper import REMEMBERED_S, ZooKeeperEvents
from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.channel.published_filters import FilterTerms
from nncache.invalidation.channel.records import FilterModification, MatchedEvents
from nncache.net.shares import Shares
from tests.coordination.fake_zookeeper import FakeSession
from tests.events.doubles import FakeSink
from tests.invalidation.channel.fake_cluster import FakeCluster, play
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock, until

SETTINGS = ZooKeeperSettings(zookeeper_root=ZNODES.root)


def source_of(fake_cluster: FakeCluster) -> ZooKeeperEvents:
    """Return a source with a session of its own."""
    return ZooKeeperEvents(SETTINGS, ZNODES.nameservice, clock, connect=fake_cluster.server.session)


def test_items() -> None:
    """The items are a start, events, a gap with the position after it, and an outage of the publisher."""

    async def story(fake_cluster: FakeCluster) -> None:
        following = source_of(fake_cluster).follow("joe", None)
        begun = await anext(following)
        chain = fake_cluster.press.filters["joe"].id
        assert begun == StreamBegun(AfterTxid(10, chain))
        fake_cluster.unlink("/joe/a")
        news = await anext(following)
        assert isinstance(news, NextEvents)
        assert news.through == AfterTxid(11, chain)
        assert [batch.txid for batch in news.batches] == [11]
        assert isinstance(news.batches[0].events[0], Unlink)
        fake_cluster.namenode.unlink("/joe/b")
        fake_cluster.press.drop(12, 12)
        gap = await anext(following)
        assert isinstance(gap, EventsGap)
        assert (gap.first_txid, gap.last_txid, gap.after) == (12, 12, AfterTxid(12, chain))
        assert await anext(following) == StreamBegun(AfterTxid(12, chain))
        fake_cluster.press.vanish()
        away = await anext(following)
        assert away == EventsOutage("no publisher has been there for 10 s")
        fake_cluster.press.appear()
        assert await anext(following) == StreamBegun(AfterTxid(12, chain))
        behind = source_of(fake_cluster).follow("joe", AfterTxid(11, chain))
        assert await anext(behind) == StreamBegun(AfterTxid(11, chain))
        assert isinstance(await anext(behind), EventsGap)
        assert await anext(source_of(fake_cluster).follow("ann", None)) == FilterGone()

    play(story)


def test_a_modified_filter() -> None:
    """The item has its old and new terms."""

    async def story(fake_cluster: FakeCluster) -> None:
        following = source_of(fake_cluster).follow("joe", None)
        await anext(following)
        before = fake_cluster.press.filters["joe"]
        fake_cluster.namenode.unlink("/joe/a")
        batch = EventBatch(11, fake_cluster.namenode.log.transactions[10])
        terms = FilterTerms("/joe/*", "joe"), FilterTerms("/*/*", "ann")
        changed = FilterModification(10, *terms)
        fake_cluster.press.commit(
            *fake_cluster.press.filter_record("joe", MatchedEvents((batch,)), 11, changed)
        )
        reported = await anext(following)
        assert reported == items.FilterRedefined(AfterTxid(10, before.chain), "/joe/*", "joe", "/*/*", "ann")
        assert isinstance(await anext(following), NextEvents)

    play(story)


def test_a_filter_that_was_made_again_is_a_gap() -> None:
    """This concerns positions in the earlier filter: with its chain, or older than the new filter."""

    async def story(fake_cluster: FakeCluster) -> None:
        chain = fake_cluster.press.filters["joe"].id
        fake_cluster.unlink("/joe/a")
        fake_cluster.press.change_filters({"joe": "/joe/*"}, anew=frozenset({"joe"}))
        fake_cluster.unlink("/joe/b")
        for after in (AfterTxid(10), AfterTxid(12, chain)):
            assert isinstance(await anext(source_of(fake_cluster).follow("joe", after)), EventsGap)

    play(story)


def test_readers() -> None:
    """The readers are owner and subscribers of the current definition; a change is noticed."""

    async def story(fake_cluster: FakeCluster) -> None:
        readers = source_of(fake_cluster).readers("joe")
        assert await readers.read() == {"joe"}
        assert fake_cluster.server.watches == 0, "a stranger asks as well"
        assert await readers.changed(1.0)
        assert await readers.read() == {"joe"}
        assert not await readers.changed(1.0)
        fake_cluster.press.subscribers("joe", "ann", "bob")
        assert await readers.changed(1.0)
        assert await readers.read() == {"joe", "ann", "bob"}
        fake_cluster.press.change_filters({})
        assert await readers.changed(1.0)
        assert await readers.read() is None

    play(story)


@pytest.mark.parametrize("name", ["", "../joe", ".publisher", "joe/1", "a\0b", "zookeeper"])
def test_no_filter_could_be_called_so(name: str) -> None:
    """Such a path is never read: it may be another znode."""

    async def story(fake_cluster: FakeCluster) -> None:
        assert await source_of(fake_cluster).readers("ann").read() is None, (
            "this one could be, and is not there"
        )

        def connect() -> FakeSession:
            raise AssertionError("ZooKeeper is asked")

        source = ZooKeeperEvents(SETTINGS, ZNODES.nameservice, clock, connect=connect)
        assert await source.readers(name).read() is None

    play(story)


def test_what_cannot_be_read_is_as_if_it_were_not_there(caplog: pytest.LogCaptureFixture) -> None:
    """A stranger must not be able to tell them apart; the log does."""

    async def story(fake_cluster: FakeCluster) -> None:
        fake_cluster.press.put(ZNODES.definition("joe"), b"{")
        with caplog.at_level(logging.WARNING):
            assert await source_of(fake_cluster).readers("joe").read() is None
        assert "filter joe: its events cannot be served" in caplog.text
        closed: Acl = (ZnodeAclEntry("sasl", "other", ZnodePerms.READ),)
        session = fake_cluster.server.session()
        await session.set_acl(ZNODES.definition("joe"), closed, 0)
        source = source_of(fake_cluster)
        assert await source.readers("joe").read() is None
        assert isinstance(await anext(source.follow("joe", None)), EventsOutage)

    play(story)


def test_a_zookeeper_that_is_silent() -> None:
    """The source retries for the length of the session timeout, then raises an error."""

    async def story(fake_cluster: FakeCluster) -> None:
        source = source_of(fake_cluster)
        readers = source.readers("joe")
        await readers.read()
        await asyncio.sleep(REMEMBERED_S)
        fake_cluster.server.disconnect()
        began = clock()
        with pytest.raises(SourceUnavailableError):
            await readers.read()
        assert clock() - began >= SETTINGS.zookeeper_session_timeout_s
        fake_cluster.server.connect()
        assert await readers.read() == {"joe"}

    play(story)


def test_who_may_read_is_remembered_for_a_moment() -> None:
    """Existing or not: for each name, strangers cost ZooKeeper one read per second."""

    async def story(fake_cluster: FakeCluster) -> None:
        asked = 0

        def connect() -> FakeSession:
            session = fake_cluster.server.session()
            get = session.get

            async def counted(path: str) -> Znode:
                nonlocal asked
                asked += 1
                return await get(path)

            session.get = counted  # type: ignore[method-assign]  # it counts
            return session

        source = ZooKeeperEvents(SETTINGS, ZNODES.nameservice, clock, connect=connect)
        for _ in range(5):
            assert await source.readers("joe").read() == {"joe"}
            assert await source.readers("ann").read() is None
        assert asked == 2
        fake_cluster.press.subscribers("joe", "ann")
        await asyncio.sleep(REMEMBERED_S)
        assert await source.readers("joe").read() == {"joe", "ann"}

    play(story)


def test_closing_ends_its_session() -> None:
    """The next read opens a new session."""

    async def story(fake_cluster: FakeCluster) -> None:
        sessions: list[FakeSession] = []

        def connect() -> FakeSession:
            sessions.append(fake_cluster.server.session())
            return sessions[-1]

        source = ZooKeeperEvents(SETTINGS, ZNODES.nameservice, clock, connect=connect)
        await source.close()
        for _ in range(2):
            assert await source.readers("joe").read() == {"joe"}
            assert await source.readers("ann").read() is None
            await source.close()
        assert [session.session_id for session in sessions] == [0, 0]

    play(story)


def test_a_stream_over_it_goes_on_after_an_outage() -> None:
    """ZooKeeper is unavailable for a minute and the session expires: no event is lost or repeated."""

    async def follow(fake_cluster: FakeCluster, tasks: asyncio.TaskGroup) -> None:
        source, sink = source_of(fake_cluster), FakeSink()
        feed = FilterFeed("joe", source, {"joe"})
        running = tasks.create_task(feed.run())
        stream = EventStream(sink, feed, source, "joe", None, Shares(MAX_CATCHING_UP), "peer")
        streaming = tasks.create_task(stream.run())
        await until(lambda: sink.words() == ["start"])
        fake_cluster.unlink("/joe/a")
        await until(lambda: sink.txids() == [11])
        fake_cluster.server.disconnect()
        fake_cluster.unlink("/joe/b")
        await until(lambda: sink.words()[-1] == "outage", within_s=60)
        await asyncio.sleep(60)
        fake_cluster.server.connect()
        await until(lambda: sink.txids() == [11, 12])
        assert sink.words() == ["start", "UNLINK", "outage", "start", "UNLINK"]
        fake_cluster.press.change_filters({})
        assert await streaming is StreamEnd.NOT_PERMITTED
        running.cancel()

    async def story(fake_cluster: FakeCluster) -> None:
        async with asyncio.TaskGroup() as tasks:
            await follow(fake_cluster, tasks)

    play(story)
