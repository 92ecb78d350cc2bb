"""The channel that follows the feed of a namespace in ZooKeeper, alone and through random histories."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nncache.coordination.zookeeper import DeleteOp, SetDataOp
from nncache.hadoop import feed_znodes
from nncache.hadoop.events import EventBatch, Unlink
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    WrongNamespaceError,
)
from nncache.invalidation.feed.reader import MANY
from nncache.invalidation.feed.source import IDLE_REREAD_S
from nncache.invalidation.feed.stream import FeedInotifyEventInputStream
from nncache.invalidation.stream import CoveredThrough, FiltersInForce, StreamItem, TransactionEvents
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.fake_feed import ROOT, FakeFeed
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.simulation import Simulation
from tests.invalidation.virtual_time import clock


@dataclass
class Fixture:
    """A NameNode, its feed in ZooKeeper, and the channel."""

    feed: FakeFeed
    namenode: FakeNameNode
    pool: FakePool
    stream: FeedInotifyEventInputStream

    async def next_of(self, kind: type[StreamItem]) -> Any:
        """Return the next item of a kind, and drop the others."""
        async with asyncio.timeout(30):
            while not isinstance(item := await anext(self.stream), kind):
                pass
        return item

    async def covered_after(self, moment: float) -> CoveredThrough:
        """Return the first coverage as of a later time."""
        while (covered := await self.next_of(CoveredThrough)).as_of <= moment:
            pass
        assert isinstance(covered, CoveredThrough)
        return covered

    async def next_path(self) -> str:
        """Return the path of the next deletion."""
        (event,) = (await self.next_of(TransactionEvents)).batch.events
        assert isinstance(event, Unlink)
        return event.path

    async def gap(self) -> MissingEventsError:
        """Return the error that ends the run."""
        with pytest.raises(MissingEventsError) as raised:
            await self.next_of(FiltersInForce)  # a kind that this channel does not yield
        return raised.value


@asynccontextmanager
async def new_fixture() -> AsyncIterator[Fixture]:
    """Yield a fixture whose log has ten transactions."""
    feed = FakeFeed(FakeZooKeeper(clock))
    namenode = FakeNameNode(log=feed.log)
    for number in range(9):
        namenode.unlink(f"/before/{number}")
    pool = FakePool(clock, namenode)
    fixture = Fixture(feed, namenode, pool, feed.stream(pool))
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(pool.run())
        yield fixture
        await fixture.stream.shut_down()
        probing.cancel()


@pytest.fixture
async def fixture() -> AsyncIterator[Fixture]:
    """A fixture whose channel is open, and has covered once."""
    async with new_fixture() as made, made.stream:
        await made.next_of(CoveredThrough)
        yield made


async def test_changes_come_by_watches_and_then_their_coverage() -> None:
    """Watches deliver changes within milliseconds, without a poll; coverage follows the NameNode's log position."""
    async with new_fixture() as fixture, fixture.stream:
        assert (await fixture.next_of(CoveredThrough)).txid == 10
        assert fixture.stream.term == 1
        for path in ("/a", "/b"):
            changed_at = clock()
            txid = fixture.namenode.unlink(path)
            assert await fixture.next_of(TransactionEvents) == TransactionEvents(
                EventBatch(txid, (Unlink(path),))
            )
            assert clock() - changed_at < 0.01
        asked_at = clock()
        fixture.stream.request_probe()
        covered = await fixture.next_of(CoveredThrough)
        assert (covered.txid, covered.as_of >= asked_at, covered.seen_as_of) == (12, True, covered.as_of)
        assert fixture.namenode.asked == []
        assert fixture.stream.stats().polls == 0
        assert fixture.stream.stats().records.records_read == 2


async def test_no_coverage_without_the_edits_that_it_needs(fixture: Fixture) -> None:
    """While ZooKeeper is unavailable the NameNode's log grows: unread edits are not covered."""
    fixture.feed.zookeeper.disconnect()
    changed_at = clock()
    fixture.namenode.unlink("/a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(fixture.covered_after(changed_at), 5)
    fixture.feed.zookeeper.connect()
    assert await fixture.next_path() == "/a"
    assert (await fixture.next_of(CoveredThrough)).as_of > changed_at


@pytest.mark.parametrize("is_expired", [False, True])
async def test_a_run_outlives_connection_and_session(fixture: Fixture, *, is_expired: bool) -> None:
    """Changes made during the outage follow in order."""
    fixture.feed.zookeeper.disconnect()
    fixture.namenode.unlink("/a")
    await asyncio.sleep(20 if is_expired else 1)
    fixture.feed.zookeeper.connect()
    fixture.namenode.unlink("/b")
    assert [await fixture.next_path(), await fixture.next_path()] == ["/a", "/b"]
    assert fixture.stream.stats().records.resumes == 1


async def test_a_watch_that_does_not_fire_proves_nothing(fixture: Fixture) -> None:
    """The feed is read again periodically."""

    def lose_watches_and_change() -> None:
        for session in fixture.feed.zookeeper._sessions:  # noqa: SLF001 - as a server that loses them
            fixture.feed.zookeeper.forget_watches(session)
        fixture.namenode.unlink("/a")

    changed_at = clock() + 0.1
    asyncio.get_running_loop().call_at(changed_at, lose_watches_and_change)
    assert await fixture.next_path() == "/a"
    assert 0.1 < clock() - changed_at < IDLE_REREAD_S + 0.1


async def test_segments_end_and_many_edits_come_in_order(fixture: Fixture) -> None:
    """Order holds for any number of edits, in any number of segments, some of them empty."""
    paths = [f"/{number}" for number in range(3 * MANY)]
    for number, path in enumerate(paths):
        fixture.namenode.unlink(path)
        if number % 50 == 0:
            fixture.feed.end_segment()
        if number % 100 == 0:
            fixture.feed.end_segment()
    assert [await fixture.next_path() for _ in paths] == paths
    changed_at = clock()
    fixture.namenode.unlink("/last")
    assert await fixture.next_path() == "/last"
    assert clock() - changed_at < 0.01


async def test_one_who_fell_behind_has_a_gap(fixture: Fixture) -> None:
    """The gap names the transactions. A reader that has read everything that is purged has no gap."""
    fixture.namenode.unlink("/a")
    assert await fixture.next_path() == "/a"
    fixture.feed.end_segment()
    while (await fixture.next_of(CoveredThrough)).txid < 12:  # the end of the segment
        pass
    fixture.feed.purge()
    fixture.namenode.unlink("/b")
    assert await fixture.next_path() == "/b"
    fixture.feed.zookeeper.disconnect()
    fixture.namenode.unlink("/c")
    fixture.feed.end_segment()
    fixture.feed.purge()
    fixture.namenode.unlink("/d")
    fixture.feed.zookeeper.connect()
    gap = await fixture.gap()
    assert (gap.kind, gap.first_txid, gap.last_txid) == (GapKind.PURGED, 14, 15)


async def test_a_feed_that_was_put_back_is_another_one(fixture: Fixture) -> None:
    """This holds even if the feed has regrown to as many edits as before."""
    saved = fixture.feed.saved()
    fixture.namenode.unlink("/a")
    assert await fixture.next_path() == "/a"
    fixture.feed.put_back(saved)
    fixture.namenode.unlink("/b")
    fixture.namenode.unlink("/c")
    assert (await fixture.gap()).kind is GapKind.WENT_BACK


async def test_an_edit_that_is_gone_or_corrupt_is_a_gap() -> None:
    """An edit is never omitted silently."""
    for operation in ("delete", "corrupt"):
        async with new_fixture() as fixture, fixture.stream:
            await fixture.next_of(CoveredThrough)
            fixture.feed.zookeeper.disconnect()
            path = ROOT + feed_znodes.edit(1, fixture.namenode.unlink("/a") - 1)
            fixture.feed.commit(DeleteOp(path) if operation == "delete" else SetDataOp(path, b"[{"))
            fixture.feed.end_segment()
            fixture.feed.zookeeper.connect()
            assert (await fixture.gap()).first_txid == 11


async def test_another_active_namenode_ends_the_run(fixture: Fixture) -> None:
    """The cache forgets everything that it learned before."""
    fixture.namenode.restart()
    assert "term" in str(await fixture.gap())


async def test_it_does_not_begin_on_what_is_not_this_namespace() -> None:
    """Another namespace, or a missing feed, is refused."""
    async with new_fixture() as fixture:
        other = Namespace("CID-2", "BP-2-127.0.0.1-2")
        version = ROOT + feed_znodes.VERSION
        fixture.feed.commit(SetDataOp(version, feed_znodes.encode_namespace(other)))
        with pytest.raises(WrongNamespaceError, match="BP-2"):
            await fixture.stream.open()
        fixture.feed.commit(DeleteOp(version))
        with pytest.raises(ChannelUnavailableError, match="feed_root"):
            await fixture.stream.open()


class FeedSimulation(Simulation):
    """The simulation over a feed, with acts that change or break the feed."""

    def __init__(self) -> None:
        self.feed = FakeFeed(FakeZooKeeper(clock))
        super().__init__(self.feed.log)
        self.stream = self.channel = self.feed.stream(self.pool)
        self.saved = self.feed.saved()

    def put_back(self) -> None:
        """Restore ZooKeeper from a backup. No NameNode's session survives that, so another term begins."""
        self.feed.put_back(self.saved)
        for namenode in self.namenodes:
            namenode.started_ms += 1_000
        self.pool.probe()

    @property
    def session(self) -> FakeSession:
        """The stream's session."""
        return self.feed.zookeeper._sessions[-1]  # noqa: SLF001 - it is the last that was begun

    def expire(self) -> None:
        """Expire the stream's session."""
        if self.session.is_connected:
            self.feed.zookeeper.expire(self.session)

    def save(self) -> None:
        """Back up ZooKeeper."""
        self.saved = self.feed.saved()

    def act(self, act: str, number: int) -> None:
        """Carry out one act."""
        ACTS[act](self, number)

    def heal(self) -> None:
        """End all outages."""
        super().heal()
        self.feed.zookeeper.connect()

    async def tell(self, history: list[tuple[str, int, float]]) -> None:
        """Carry out a history; no NameNode may be polled for edits."""
        await super().tell(history)
        await self.channel.shut_down()
        assert all(not namenode.asked for namenode in self.namenodes)


ACTS: Mapping[str, Callable[[FeedSimulation, int], object]] = {
    "write": lambda simulation, number: simulation.write(number),
    "write many": lambda simulation, number: simulation.write(number * 40),
    "write without an event": lambda simulation, _: simulation.active.write(),
    "end a segment": lambda simulation, _: simulation.feed.end_segment(),
    "purge": lambda simulation, _: simulation.feed.purge(),
    "fail over": lambda simulation, _: simulation.fail_over(),
    "disconnect": lambda simulation, _: simulation.feed.zookeeper.disconnect(),
    "connect": lambda simulation, _: simulation.feed.zookeeper.connect(),
    "expire": lambda simulation, _: simulation.expire(),
    "lose watches": lambda simulation, _: simulation.feed.zookeeper.forget_watches(simulation.session),
    "save": lambda simulation, _: simulation.save(),
    "put back": lambda simulation, _: simulation.put_back(),
    "want": lambda simulation, _: simulation.stream.request_probe(),
    "probe": lambda simulation, _: simulation.pool.probe(),
}
"""All acts by name; the number is an amount."""

ACTIONS = st.sampled_from(["write", "write", "write", *ACTS])
PAUSES = st.sampled_from([0.0, 0.0003, 0.005, 0.02, 0.3, 1.5, 8.0])


@settings(max_examples=200)
@given(st.lists(st.tuples(ACTIONS, st.integers(1, 4), PAUSES), max_size=40))
@example([("write", 1, 0.3), ("save", 1, 0.0), ("write", 2, 0.3), ("put back", 1, 0.0), ("write", 3, 0.3)])
@example(
    [
        ("disconnect", 1, 0.0),
        ("write", 1, 0.0),
        ("end a segment", 1, 0.0),
        ("purge", 1, 0.3),
        ("connect", 1, 0.3),
    ]
)
def test_covered_is_true_whatever_happens(history: list[tuple[str, int, float]]) -> None:
    """Bounded and GapFlush hold through lost connections, sessions, watches and segments, failovers and old backups."""

    async def story() -> None:
        await FeedSimulation().tell(history)

    virtual_time.run(story())
