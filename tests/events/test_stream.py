"""One client's stream: each transaction once and in order, or a message that some are missing."""

import asyncio
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from nncache.events.messages import JOINED_BYTES
from nncache.events.source import AfterTxid, FilterRedefined, Item
from nncache.events.stream import HEARTBEAT_S, MAX_CATCHING_UP, RETRY_MS, StreamEnd
from tests.events.doubles import FakeCluster, FakeSink, Streamed
from tests.invalidation.virtual_time import VirtualLoop, until

LOOP = VirtualLoop


@asynccontextmanager
async def followed() -> AsyncIterator[FakeCluster]:
    """Follow a filter's log, for streams of it."""
    async with asyncio.TaskGroup() as tasks:
        fake_cluster = FakeCluster(tasks)
        yield fake_cluster
        fake_cluster.running.cancel()


async def test_from_now_on() -> None:
    """The stream reports its start, then later events; each message has the position."""
    async with followed() as fake_cluster:
        fake_cluster.log.publish(11)
        client = fake_cluster.stream()
        await until(lambda: client.sink.words() == ["start"])
        fake_cluster.log.publish(14, events=2)
        fake_cluster.log.publish(15)
        await until(lambda: client.sink.txids() == [14, 14, 15])
        assert [last_id for _, _, last_id in client.sink.messages()] == ["11", "11", "14", "15"]
        assert client.sink.messages()[0][1] == {"filter": "f", "after": 11, "chain": "c1"}
        assert client.stream.sent == 3
        assert fake_cluster.log.followings == [None], "the feed's alone"
        client.stream.end(StreamEnd.STOPPED)
        assert await client.task is StreamEnd.STOPPED


async def test_from_a_position() -> None:
    """Earlier events follow once and in order, whether the feed still has them or not; then new ones."""
    async with followed() as fake_cluster:
        for txid in range(11, 31):
            fake_cluster.log.publish(txid)
        first = fake_cluster.stream(after=15)
        await until(lambda: first.sink.txids() == list(range(16, 31)))
        assert fake_cluster.log.followings == [None, AfterTxid(15)]
        fake_cluster.log.publish(31)
        await until(lambda: first.sink.txids() == list(range(16, 32)))
        second = fake_cluster.stream(after=30)
        await until(lambda: second.sink.txids() == [31])
        assert len(fake_cluster.log.followings) == 2, "the feed has it"
        ahead = fake_cluster.stream(after=40)  # not published yet: it is checked that it can be
        await until(lambda: len(fake_cluster.log.followings) == 3)
        for txid in (35, 41):
            fake_cluster.log.publish(txid)
        await until(lambda: ahead.sink.txids() == [41])
        assert not fake_cluster.slots.in_use
        for each in (first, second, ahead):
            each.stream.end(StreamEnd.STOPPED)


async def test_a_gap_is_reported_and_ends_the_stream() -> None:
    """This holds for a resumed position and for an open stream; a client that reconnects resumes after the gap."""
    async with followed() as fake_cluster:
        live = fake_cluster.stream()
        await until(lambda: live.sink.words() == ["start"])
        fake_cluster.log.publish(20)
        await until(lambda: live.sink.txids() == [20])
        fake_cluster.log.lose(25)
        assert await live.task is StreamEnd.MISSING
        event, data, last_id = live.sink.messages()[-1]
        assert (event, data["firstTxid"], data["lastTxid"], last_id) == ("missing", 21, 25, "25")
        assert "read the present state" in data["next"]
        resumed = fake_cluster.stream(after=12)
        assert await resumed.task is StreamEnd.MISSING
        fake_cluster.log.publish(30)
        again = fake_cluster.stream(after=int(resumed.sink.messages()[-1][2]))
        await until(lambda: again.sink.txids() == [30])
        again.stream.end(StreamEnd.STOPPED)
        other_chain = fake_cluster.stream(after=AfterTxid(30, "c0"))
        assert await other_chain.task is StreamEnd.MISSING


async def test_behind_a_gap_a_client_that_comes_back_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds while records keep coming and going, also during the reconnect: a gap ends at the current position."""
    monkeypatch.setattr("nncache.events.feed.KEPT_BYTES", 400)  # as for a feed that has just begun
    async with followed() as fake_cluster:

        async def publish() -> None:
            for txid in range(11, 1_000):
                fake_cluster.log.publish(txid)
                fake_cluster.log.lose(txid - 40)
                await asyncio.sleep(0.1)

        async with asyncio.TaskGroup() as tasks:
            publishing = tasks.create_task(publish())
            await asyncio.sleep(10)
            client = fake_cluster.stream(after=10)
            assert await client.task is StreamEnd.MISSING
            event, data, last_id = client.sink.messages()[-1]
            assert (event, data["firstTxid"]) == ("missing", 11)
            assert data["lastTxid"] == data["after"] == int(last_id) == fake_cluster.log.end
            assert (
                data["gap"]
                == f"gone; transactions up to {last_id} are left out: some may be gone before you are back"
            )
            await asyncio.sleep(RETRY_MS / 1_000)
            again = fake_cluster.stream(after=int(last_id))
            await until(lambda: again.sink.txids() == list(range(int(last_id) + 1, int(last_id) + 31)))
            publishing.cancel()
        again.stream.end(StreamEnd.STOPPED)


async def test_a_gap_is_not_extended_into_another_run_of_the_filter() -> None:
    """The feed's position then says nothing about the transactions after the gap."""
    async with followed() as fake_cluster:
        for txid in range(11, 31):
            fake_cluster.log.publish(txid)
        await until(lambda: fake_cluster.feed.end == AfterTxid(30, "c1"))
        fake_cluster.log.lose(15)
        fake_cluster.log.chain = "c2"
        client = fake_cluster.stream(after=10)
        assert await client.task is StreamEnd.MISSING
        assert client.sink.messages()[-1][1]["lastTxid"] == 15


async def test_a_modified_filter_is_reported_where_it_was_modified() -> None:
    """The message follows the events of the old glob, once per open stream, and also while a stream catches up."""
    async with followed() as fake_cluster:
        live = fake_cluster.stream()
        await until(lambda: live.sink.words() == ["start"])
        fake_cluster.log.publish(12)
        await until(lambda: live.sink.txids() == [12])
        fake_cluster.log.modified_after = 12
        fake_cluster.log.tell()
        await until(lambda: live.sink.words()[-1] == "modified")
        fake_cluster.log.publish(14)
        await until(lambda: live.sink.txids() == [12, 14])
        assert live.sink.words() == ["start", "UNLINK", "modified", "UNLINK"]
        late = fake_cluster.stream(after=12)
        await until(lambda: late.sink.txids() == [14])
        assert late.sink.words() == ["start", "modified", "UNLINK"]
        behind = fake_cluster.stream(after=13)
        catching_up = fake_cluster.stream(after=AfterTxid(10, "c1"))
        fake_cluster.feed._kept.clear()  # noqa: SLF001 - as if it were followed only now
        fake_cluster.feed._start = 14  # noqa: SLF001 - the same
        await until(lambda: behind.sink.txids() == [14] and catching_up.sink.txids() == [12, 14])
        assert behind.sink.words() == ["start", "UNLINK"]
        assert catching_up.sink.words() == ["start", "UNLINK", "modified", "UNLINK"]
        assert AfterTxid(10, "c1") in fake_cluster.log.followings
        for each in (live, late, behind, catching_up):
            each.stream.end(StreamEnd.STOPPED)


async def test_a_right_that_is_lost_ends_it() -> None:
    """The stream ends before anything else is written; the removal of the filter has the same effect."""
    async with followed() as fake_cluster:
        fake_cluster.log.subscribers = {"alice", "bob"}
        fake_cluster.log.tell()
        await until(lambda: fake_cluster.feed.readers == {"alice", "bob"})
        live, other = fake_cluster.stream(), fake_cluster.stream(user="bob")
        await until(lambda: live.sink.words() == other.sink.words() == ["start"])
        fake_cluster.log.subscribers = {"bob"}
        fake_cluster.log.publish(11)
        assert await live.task is StreamEnd.NOT_PERMITTED
        await until(lambda: other.sink.txids() == [11])
        fake_cluster.log.subscribers = None
        fake_cluster.log.tell()
        assert await other.task is StreamEnd.NOT_PERMITTED
        assert await fake_cluster.stream(after=3).task is StreamEnd.NOT_PERMITTED


async def test_a_right_that_is_lost_while_it_catches_up() -> None:
    """No further transaction is sent, even if it was already read."""
    async with followed() as fake_cluster:
        for txid in range(11, 21):
            fake_cluster.log.publish(txid, events=500)  # too large to be written with the next one

        def revoke(data: bytes) -> None:
            if b"UNLINK" in data:
                fake_cluster.feed.readers = set()

        client = fake_cluster.stream(after=10, sink=FakeSink(on_write=revoke))
        assert await client.task is StreamEnd.NOT_PERMITTED
        assert set(client.sink.txids()) == {11}


async def test_a_right_that_is_lost_while_an_outage_is_reported() -> None:
    """A client may be slow to read that the outage is over."""
    async with followed() as fake_cluster:
        client = fake_cluster.stream()
        await until(lambda: client.sink.words() == ["start"])
        fake_cluster.log.away = "ZooKeeper is away"
        fake_cluster.log.tell()
        await until(lambda: client.sink.words() == ["start", "outage"])
        client.sink.stall()
        fake_cluster.log.away = ""
        fake_cluster.log.publish(11)
        await until(lambda: fake_cluster.feed.end == AfterTxid(11, "c1"))
        fake_cluster.log.subscribers = set()
        fake_cluster.log.tell()
        await until(lambda: not fake_cluster.feed.readers)
        client.sink.take()
        assert await client.task is StreamEnd.NOT_PERMITTED
        assert client.sink.words() == ["start", "outage", "start"]


async def test_a_right_that_is_lost_as_the_filter_is_modified() -> None:
    """A user who no longer subscribes gets neither the new glob nor its events."""
    async with followed() as fake_cluster:
        fake_cluster.log.publish(12)
        await until(lambda: fake_cluster.feed.end == AfterTxid(12, "c1"))
        fake_cluster.log.modified_after = 11
        client = fake_cluster.stream(after=11)
        fake_cluster.feed._start = 12  # noqa: SLF001 - as if it were followed only now
        take = client.stream._take  # noqa: SLF001 - what has been read so far

        async def revoked(item: Item) -> StreamEnd | None:
            if isinstance(item, FilterRedefined):
                fake_cluster.feed.readers = set()
            return await take(item)

        client.stream._take = revoked  # type: ignore[method-assign]  # noqa: SLF001 - the same
        assert await client.task is StreamEnd.NOT_PERMITTED
        assert client.sink.words() == ["start"]


@pytest.mark.parametrize("after", [None, 10], ids=["live", "resumed"])
async def test_a_burst_is_written_together(after: int | None) -> None:
    """One write for each of 1,000 transactions and 50 clients blocked the event loop for half a second."""
    writes = list[bytes]()
    async with followed() as fake_cluster:
        client = fake_cluster.stream(sink=FakeSink(on_write=writes.append))
        await until(lambda: client.sink.words() == ["start"])
        for txid in range(11, 1_011):
            fake_cluster.log.kept[txid] = 1
        fake_cluster.log.end = 1_010
        if after is not None:
            client.stream.end(StreamEnd.STOPPED)
            writes.clear()
            client = fake_cluster.stream(after, sink=FakeSink(on_write=writes.append))
        fake_cluster.log.tell()
        await until(lambda: client.stream.sent == 1_000)
        assert client.sink.txids() == list(range(11, 1_011))
        assert max(map(len, writes)) <= JOINED_BYTES
        assert len(writes) < 500
        client.stream.end(StreamEnd.STOPPED)


async def test_an_outage_is_reported_once_and_goes_over() -> None:
    """No event is missing: the stream continues, and reports that."""
    async with followed() as fake_cluster:
        client = fake_cluster.stream()
        await until(lambda: client.sink.words() == ["start"])
        fake_cluster.log.away = "ZooKeeper is away"
        fake_cluster.log.tell()
        resumed = fake_cluster.stream(after=9)
        await until(lambda: "outage" in client.sink.words() and "outage" in resumed.sink.words())
        fake_cluster.log.publish(11)
        await asyncio.sleep(100)
        fake_cluster.log.away = ""
        fake_cluster.log.tell()
        assert await resumed.task is StreamEnd.MISSING
        await until(lambda: client.sink.txids() == [11])
        assert client.sink.words() == ["start", "outage", "start", "UNLINK"]
        assert client.sink.messages()[1][1] == {"filter": "f", "outage": "ZooKeeper is away"}
        client.stream.end(StreamEnd.STOPPED)


async def test_a_heartbeat_goes_through_a_quiet_stream() -> None:
    """It is sent after 15 seconds without a message, also while the stream waits to catch up, or for ZooKeeper."""
    async with followed() as fake_cluster:
        waiting = [fake_cluster.slots.take("peer") for _ in range(MAX_CATCHING_UP)]
        fake_cluster.log.publish(11)
        quiet, queued = fake_cluster.stream(), fake_cluster.stream(after=10)
        await asyncio.sleep(4 * HEARTBEAT_S + 1)
        for client in (quiet, queued):
            assert client.sink.sent.count(b":\n\n") == 4
            client.sink.is_gone = True
        assert queued.sink.txids() == []
        assert {await quiet.task, await queued.task} == {StreamEnd.LEFT}
        assert fake_cluster.slots.in_use == sum(waiting), "each place was given back"
        fake_cluster.slots = type(fake_cluster.slots)(MAX_CATCHING_UP)
        reading = fake_cluster.stream(after=10)
        fake_cluster.log.away = "away"
        await asyncio.sleep(2 * HEARTBEAT_S + 2)
        assert reading.sink.sent.count(b":\n\n") >= 1
        reading.stream.end(StreamEnd.LEFT)
        assert await reading.task is StreamEnd.LEFT


async def test_a_client_that_takes_nothing_holds_nothing() -> None:
    """It is cut, and its place to catch up is freed; the reply's own timeout has the same effect."""
    async with followed() as fake_cluster:
        for txid in range(11, 20):
            fake_cluster.log.publish(txid)
        slow = fake_cluster.stream(after=10)
        await until(lambda: slow.sink.words() == ["start"])
        slow.sink.stall()
        assert await slow.task is StreamEnd.SLOW
        assert slow.sink.is_cut
        assert not fake_cluster.slots.in_use
        impatient = fake_cluster.stream()
        await until(lambda: impatient.sink.words() == ["start"])
        impatient.sink.gives_up = True
        fake_cluster.log.publish(20)
        assert await impatient.task is StreamEnd.SLOW


async def test_a_slow_client_reads_for_itself_what_is_no_longer_kept() -> None:
    """Other clients do not wait for it, and it misses no event."""
    async with followed() as fake_cluster:
        slow, fast = fake_cluster.stream(), fake_cluster.stream()
        await until(lambda: slow.sink.words() == fast.sink.words() == ["start"])
        slow.sink.stall()
        for txid in range(11, 41):
            fake_cluster.log.publish(txid, events=2_000)
            await until(partial(_has_sent, fast, 2_000 * (txid - 10)))
        assert slow.stream.sent == 0
        assert not fake_cluster.feed.covers(AfterTxid(11, "c1"))
        slow.sink.take()
        await until(lambda: slow.stream.sent == fast.stream.sent)
        assert sorted(set(slow.sink.txids())) == list(range(11, 41))
        assert slow.sink.txids() == fast.sink.txids()
        for each in (slow, fast):
            each.stream.end(StreamEnd.STOPPED)


async def test_an_internal_error_ends_the_streams() -> None:
    """The streams of this filter end; `test_feed.py` checks the log."""
    async with followed() as fake_cluster:
        client = fake_cluster.stream()
        await until(lambda: client.sink.words() == ["start"])
        fake_cluster.log.has_bug = True
        fake_cluster.log.tell()
        assert await client.task is StreamEnd.FAILED


class ReturningClient:
    """A client that reconnects with the last id that it received."""

    def __init__(self, fake_cluster: FakeCluster) -> None:
        self._cluster = fake_cluster
        self._streamed = fake_cluster.stream()
        self.sink: FakeSink = self._streamed.sink
        self._sinks: list[FakeSink] = []

    @property
    def _last_id(self) -> str:
        for sink in reversed((*self._sinks, self.sink)):
            if found := re.findall(rb"\nid: (\d+)\n", bytes(sink.sent)):
                return str(found[-1], "ascii")
        return ""

    def come(self) -> None:
        """Connect, unless connected."""
        if self._streamed.task.done():
            self._sinks.append(self.sink)
            last_id = self._last_id
            self._streamed = self._cluster.stream(int(last_id) if last_id else None)
            self.sink = self._streamed.sink

    def leave(self) -> None:
        """Disconnect."""
        self._streamed.stream.end(StreamEnd.LEFT)
        self.sink.take()

    def stall(self) -> None:
        """Stop reading for a while."""
        self.sink.stall()
        asyncio.get_running_loop().call_later(5, self.sink.take)

    async def catch_up(self, txid: int) -> None:
        """Reconnect until everything has arrived."""

        def is_done() -> bool:
            self.come()
            return int(self._last_id or -1) >= txid

        await until(is_done, within_s=600)

    def check(self, published: list[int], floor: int) -> None:
        """Compare with the published transactions, of which all after `floor` are still available."""
        reported = [message for sink in (*self._sinks, self.sink) for message in sink.messages()]
        begun = next(data["after"] for event, data, _ in reported if event == "start")
        at, seen, holes = begun, list[int](), set[int]()
        for event, data, _ in reported:
            if event == "UNLINK":
                assert data["txid"] >= at, "in order"
                at = data["txid"]
                if not seen or seen[-1] != at:
                    seen.append(at)
            elif event == "start":
                assert data["after"] >= at or data["after"] in (at, begun)
            elif event == "missing":
                assert data["firstTxid"] <= floor, "nothing is missing there"
                assert data["lastTxid"] == data["after"], "it goes on right behind what is missing"
                assert data["lastTxid"] <= (published or [begun])[-1], "what is missing was published"
                holes |= set(range(data["firstTxid"], data["lastTxid"] + 1))
                at = max(at, data["after"])
        expected = [txid for txid in published if txid > begun]
        assert not set(seen) & holes
        assert sorted((*seen, *(holes & set(expected)))) == expected


@pytest.mark.parametrize("seed", range(30))
async def test_every_history_is_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients connect, disconnect, stall and resume; each sees every transaction once and in order, or a gap."""
    monkeypatch.setattr("nncache.events.feed.KEPT_BYTES", 400)
    async with followed() as fake_cluster:
        chance = random.Random(seed)
        clients = [ReturningClient(fake_cluster) for _ in range(4)]
        for client in clients:
            client.come()
        published, txid = [], 10
        for _ in range(120):
            match chance.randrange(10):
                case 0 | 1 | 2 | 3:
                    txid += chance.randint(1, 3)
                    published.append(txid)
                    fake_cluster.log.publish(txid, chance.choice((1, 1, 3)))
                case 4:
                    chance.choice(clients).leave()
                case 5 | 6:
                    chance.choice(clients).come()
                case 7:
                    chance.choice(clients).stall()
                case 8:
                    fake_cluster.log.away = chance.choice(("", "", "away"))
                    fake_cluster.log.tell()
                case _ if not chance.randrange(4):
                    keep = chance.randint(0, 4)
                    through = published[-keep - 1] if len(published) > keep else 0
                    fake_cluster.log.lose(through)
            await asyncio.sleep(chance.choice((0, 0.001, 0.02, 2)))
        fake_cluster.log.away = ""
        fake_cluster.log.tell()
        for client in clients:
            client.sink.take()
            await client.catch_up(txid)
            client.check(published, fake_cluster.log.floor)
            client.leave()


def _has_sent(client: Streamed, events: int) -> bool:
    return client.stream.sent == events
