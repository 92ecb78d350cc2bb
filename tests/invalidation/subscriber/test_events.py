"""The subscribers' stream: every event of one filter, once and in order; missing events are reported."""

import asyncio
from dataclasses import replace

import pytest

from nncache.coordination.zookeeper import DeleteOp
from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.channel.published_filters import FilterTerms
from nncache.invalidation.channel.records import DroppedTransactions, FilterModification, MatchedEvents
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    PublisherAwayError,
    UnknownFilterError,
    ZooKeeperSilentError,
)
from nncache.invalidation.subscriber.events import (
    FilterInotifyEventInputStream,
    FilterModified,
    ReceivedEvents,
    SubscriptionItem,
    SubscriptionStart,
)
from nncache.invalidation.subscriber.outages import HIDDEN_LOOK_S, PUBLISHER_GRACE_S
from tests.invalidation.channel.fake_cluster import FakeCluster, follow, paths, received, take
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


@pytest.fixture
async def stream(fake_cluster: FakeCluster) -> FilterInotifyEventInputStream:
    """A stream that has yielded its starting position."""
    made = follow(fake_cluster)
    await anext(made)
    return made


async def test_events_come_from_now_on(fake_cluster: FakeCluster) -> None:
    """Other filters' events are not in the stream."""
    fake_cluster.unlink("/joe/before")
    stream = follow(fake_cluster)
    assert await anext(stream) == SubscriptionStart(11)
    fake_cluster.unlink("/ann/a", "/joe/b", "/joe/c")
    assert await anext(stream) == received(14, "/joe/b", "/joe/c")
    assert stream.position == 14


async def test_events_come_from_behind_a_transaction_on(fake_cluster: FakeCluster) -> None:
    """If the position is within a record, only the rest of it is yielded."""
    fake_cluster.unlink("/joe/a", "/joe/b", "/joe/c")
    fake_cluster.unlink("/joe/d")
    stream = follow(fake_cluster, 12)
    assert await take(stream, 3) == [SubscriptionStart(12), received(13, "/joe/c"), received(14, "/joe/d")]


async def test_a_position_that_nothing_followed_yet_is_good(fake_cluster: FakeCluster) -> None:
    """The filter's last record is older, but everything up to the position is published."""
    fake_cluster.unlink("/joe/a")
    fake_cluster.unlink("/ann/a")
    stream = follow(fake_cluster, 12)
    assert await anext(stream) == SubscriptionStart(12)
    fake_cluster.unlink("/joe/b")
    assert await anext(stream) == received(13, "/joe/b")
    with pytest.raises(MissingEventsError, match="14 is yet to be published") as caught:
        await anext(follow(fake_cluster, 14))
    assert caught.value.kind is GapKind.WENT_BACK
    fake_cluster.press.put(ZNODES.cache, b"0")
    with pytest.raises(MissingEventsError, match="yet to be published"):
        await anext(follow(fake_cluster, 14))
    fake_cluster.server.tree.forbidden.add(ZNODES.cache)
    with pytest.raises(MissingEventsError, match="yet to be published"):
        await anext(follow(fake_cluster, 14))


async def test_a_modified_filter_is_reported_before_its_next_events(fake_cluster: FakeCluster) -> None:
    """The notice has the last transaction of the old glob; from a later position it is not repeated."""
    before, after = FilterTerms("/joe/*", "joe"), FilterTerms("/ann/*", "ann")
    reported = FilterModified(11, "/joe/*", "joe", "/ann/*", "ann")
    assert (reported.txid, reported.events) == (11, ())
    fake_cluster.unlink("/ann/a")
    fake_cluster.unlink("/joe/a")
    stream = follow(fake_cluster, 11)
    assert await take(stream, 2) == [SubscriptionStart(11), received(12, "/joe/a")]
    batches = tuple(EventBatch(txid, (Unlink("/ann/b", 0),)) for txid in (13, 14))
    modified = FilterModification(12, before, after)
    fake_cluster.press.commit(*fake_cluster.press.filter_record("joe", MatchedEvents(batches), 14, modified))
    reported = replace(reported, through_txid=12)
    assert await take(stream, 2) == [reported, ReceivedEvents(batches, 14)]
    assert await take(follow(fake_cluster, 12), 3) == [
        SubscriptionStart(12),
        reported,
        ReceivedEvents(batches, 14),
    ]
    assert await take(follow(fake_cluster, 13), 2) == [SubscriptionStart(13), ReceivedEvents(batches[1:], 14)]
    modified = FilterModification(15, after, before)
    fake_cluster.press.commit(*fake_cluster.press.filter_record("joe", MatchedEvents(()), 15, modified))
    back = FilterModified(15, "/ann/*", "ann", "/joe/*", "joe")
    assert await take(stream, 2) == [back, ReceivedEvents((), 15)]
    dropped = DroppedTransactions(17, 17, "why")
    fake_cluster.press.commit(
        *fake_cluster.press.filter_record("joe", dropped, 17, FilterModification(16, before, after))
    )
    assert await anext(stream) == FilterModified(16, "/joe/*", "joe", "/ann/*", "ann")
    assert stream.position == 16
    with pytest.raises(MissingEventsError, match="17 to 17 were dropped"):
        await anext(stream)


async def test_trimmed_records_are_a_gap_with_a_name(fake_cluster: FakeCluster) -> None:
    """GapFlush: the error names the missing transactions; another stream continues after them."""
    for _ in range(fake_cluster.press.max_records + 3):
        fake_cluster.unlink("/joe/a")
    stream = follow(fake_cluster, 11)
    assert await anext(stream) == SubscriptionStart(11)
    with pytest.raises(MissingEventsError, match="12 to 13 are missing") as caught:
        await anext(stream)
    assert (caught.value.first_txid, caught.value.last_txid) == (12, 13)
    assert (stream.position, stream.chain) == (13, "joe-2")
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    assert len(paths(await take(again, 1 + fake_cluster.press.max_records))) == fake_cluster.press.max_records


async def test_a_slow_subscriber_learns_what_it_has_missed(fake_cluster: FakeCluster) -> None:
    """GapFlush: this also holds if records are trimmed while it reads."""

    async def flow() -> None:
        for number in range(3000):
            fake_cluster.unlink(f"/joe/{number}")
            await asyncio.sleep(0.001)

    fake_cluster.press.max_records = 30
    gaps: list[tuple[int | None, int | None, int | None]] = []
    seen: set[int] = set()

    async def subscribe() -> None:
        while True:
            stream = follow(fake_cluster)  # from now on: directly after a gap the next one would be certain
            try:
                async for item in stream:
                    seen.update({item.through_txid} if isinstance(item, ReceivedEvents) else ())
                    await asyncio.sleep(0.05 if len(seen) % 70 == 0 else 0)
            except MissingEventsError as exc:
                gaps.append((exc.first_txid, exc.last_txid, stream.position))

    async with asyncio.TaskGroup() as tasks:
        subscribing = tasks.create_task(subscribe())
        await flow()
        subscribing.cancel()
    for first, last, position in gaps:
        assert first is not None
        assert last is not None
        assert position == last
        assert not seen & set(range(first, last + 1))
    assert len(seen) > 1000
    assert len(gaps) > 10


async def test_what_was_dropped_is_a_gap_behind_what_came_before(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """GapFlush: the gap keeps its place; another stream continues after it."""
    fake_cluster.server.disconnect()
    fake_cluster.unlink("/joe/a")
    fake_cluster.namenode.unlink("/joe/b")
    fake_cluster.press.drop(12, 12)
    fake_cluster.unlink("/joe/c")
    fake_cluster.server.connect()
    assert await anext(stream) == received(11, "/joe/a")
    assert stream.position == 11
    for _ in range(2):
        with pytest.raises(MissingEventsError, match="12 to 12 were dropped"):
            await anext(stream)
        assert stream.position == 12
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    assert await take(again, 2) == [SubscriptionStart(12), received(13, "/joe/c")]


async def test_a_corrupt_record_is_a_gap(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """GapFlush: the stream continues after it."""
    fake_cluster.unlink("/joe/a")
    fake_cluster.press.put(f"{ZNODES.stream('joe')}/11", b"{}")
    with pytest.raises(MissingEventsError) as caught:
        await anext(stream)
    assert (caught.value.first_txid, caught.value.last_txid, stream.position) == (11, 11, 11)
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    fake_cluster.unlink("/joe/b")
    assert await take(again, 2) == [SubscriptionStart(11), received(12, "/joe/b")]


async def test_a_filter_removed_is_a_gap_and_then_unknown(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """A subscriber gets a gap first, and then UnknownFilterError."""
    fake_cluster.press.change_filters({"ann": "/ann/*"})
    with pytest.raises(MissingEventsError, match="gone"):
        await anext(stream)
    with pytest.raises(UnknownFilterError, match="no filter 'joe'; there are: ann") as caught:
        await anext(follow(fake_cluster, stream.position, chain=stream.chain))
    assert caught.value.names == ("ann",)


async def test_a_filter_made_anew_is_a_gap(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """GapFlush: name and glob are the same, but events in between were not matched."""
    fake_cluster.server.disconnect()
    fake_cluster.press.change_filters({})
    fake_cluster.unlink("/joe/a")
    fake_cluster.press.change_filters({"joe": "/joe/*"})
    fake_cluster.unlink("/joe/b")
    fake_cluster.server.connect()
    with pytest.raises(MissingEventsError, match="restarted"):
        await anext(stream)
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    with pytest.raises(MissingEventsError, match="matched from transaction 12 on only") as caught:
        await anext(again)
    assert (caught.value.first_txid, caught.value.last_txid) == (11, 11)
    assert (again.position, again.chain) == (11, "joe-3")
    last = follow(fake_cluster, again.position, chain=again.chain)
    assert await take(last, 2) == [SubscriptionStart(11), received(12, "/joe/b")]


async def test_a_log_that_went_back_is_a_gap(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """GapFlush: later transactions reuse the ids of lost ones."""
    fake_cluster.unlink("/joe/a", "/joe/b")
    assert await anext(stream) == received(12, "/joe/a", "/joe/b")
    fake_cluster.namenode.restart(lost=4)
    fake_cluster.press.begin_anew()
    with pytest.raises(MissingEventsError, match="went back"):
        await anext(stream)
    fake_cluster.unlink("/joe/c", "/joe/d", "/joe/e", "/joe/f")
    again = follow(fake_cluster, stream.position, chain=stream.chain)
    with pytest.raises(MissingEventsError, match="the log went back") as caught:
        await anext(again)
    assert (caught.value.kind, again.position) == (GapKind.WENT_BACK, 9)
    last = follow(fake_cluster, again.position, chain=again.chain)
    assert paths(await take(last, 2)) == ["/joe/c", "/joe/d", "/joe/e", "/joe/f"]


async def test_lost_connections_are_survived(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """All events published in between arrive once and in order."""
    for step in range(60):
        names = [f"/joe/n{step}x{number}" for number in range(1 + step % 5)]
        for name in names:
            fake_cluster.unlink(name)
        await asyncio.sleep(0.0002 * step)
        fake_cluster.server.disconnect(fake_cluster.session)
        await asyncio.sleep(0.01 * step)
        fake_cluster.server.connect()
        assert paths(await take(stream, len(names))) == names


async def test_a_cancelled_wait_has_lost_nothing(fake_cluster: FakeCluster) -> None:
    """S3: however often the reader cancels a read and repeats it."""
    fake_cluster.press.max_records = 100
    stream = follow(fake_cluster)
    seen: list[SubscriptionItem] = []
    written: list[str] = []
    for number in range(400):
        if len(seen) > 0 and len(written) < 40:
            written.append(f"/joe/{number}")
            fake_cluster.unlink(written[-1])
        try:
            async with asyncio.timeout(0.001 * (number % 20)):
                seen.append(await anext(stream))
        except TimeoutError:
            continue
    assert seen[0] == SubscriptionStart(10)
    assert paths(seen) == written


async def test_what_is_away_is_named(fake_cluster: FakeCluster) -> None:
    """The filter, all publications, the right to read or a readable definition may be missing."""
    for name in ("ann", "a/b", "..", ".cache", ""):
        with pytest.raises(UnknownFilterError, match=r"there are: joe$"):
            await anext(follow(fake_cluster, name=name))
    fake_cluster.server.tree.forbidden.add(ZNODES.stream("joe"))
    with pytest.raises(NotPermittedError, match="ACL"):
        await anext(follow(fake_cluster))
    fake_cluster.server.tree.forbidden.clear()
    fake_cluster.press.put(ZNODES.stream("joe"), b"x")
    with pytest.raises(ChannelUnavailableError, match="not a transaction id"):
        await anext(follow(fake_cluster))
    fake_cluster.press.commit(DeleteOp(ZNODES.stream("joe")))
    with pytest.raises(ChannelUnavailableError, match="no such znode"):
        await anext(follow(fake_cluster))
    fake_cluster.press.put(ZNODES.definition("joe"), b"{}")
    with pytest.raises(ChannelUnavailableError, match=r"/\.filters/joe: "):
        await anext(follow(fake_cluster))
    fake_cluster.server.wipe()
    with pytest.raises(ChannelUnavailableError, match="nothing was published yet"):
        await anext(follow(fake_cluster))


async def test_an_event_takes_two_round_trips_after_its_watch(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """One reads the value, the other the record that it names."""
    for _ in range(3):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 0.3)
        published_at = clock()
        fake_cluster.unlink("/joe/a")
        await anext(stream)
        assert clock() - published_at == pytest.approx(2.5 * fake_cluster.server.latency_s, abs=1e-4)


async def test_a_record_of_nothing_moves_the_position(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """A reader that resumes need not read it again."""
    fake_cluster.namenode.unlink("/x")
    fake_cluster.press.commit(*fake_cluster.press.filter_record("joe", MatchedEvents(()), 11))
    assert await anext(stream) == ReceivedEvents((), 11)
    fake_cluster.press.cache.txid = 11
    fake_cluster.unlink("/joe/a")
    assert await anext(stream) == received(12, "/joe/a")


async def test_a_silent_zookeeper_is_an_outage_and_no_gap(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """It is raised after a timeout on our own clock; later the stream continues."""
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
    assert await take(last, 2) == [SubscriptionStart(10), received(11, "/joe/a")]


async def test_a_publisher_away_for_long_is_an_outage(
    stream: FilterInotifyEventInputStream, fake_cluster: FakeCluster
) -> None:
    """Subscribers would miss new events; a short absence does not count."""
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
    assert await take(again, 2) == [SubscriptionStart(10), received(11, "/joe/a")]
    with pytest.raises(PublisherAwayError, match="no publisher"):
        await anext(again)


async def test_a_publisher_whose_presence_is_hidden_is_there(fake_cluster: FakeCluster) -> None:
    """An ACL can only refuse an existing znode. It is read rarely, since no watch can be set."""
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
