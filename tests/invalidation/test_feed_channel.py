"""The channel that follows the feed of a namespace in ZooKeeper, alone and through random histories."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nncache.coordination.zookeeper import Delete, SetData
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
from nncache.invalidation.stream import Covered, Filters, StreamItem, Transactions
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.fake_feed import ROOT, FakeFeed
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.simulation import Simulation
from tests.invalidation.virtual_time import clock


@dataclass
class Stage:
    """A NameNode, its feed in ZooKeeper, and the channel."""

    feed: FakeFeed
    namenode: FakeNameNode
    pool: FakePool
    stream: FeedInotifyEventInputStream

    async def next_of(self, kind: type[StreamItem]) -> Any:
        """Return the next item of a kind, and drop others."""
        async with asyncio.timeout(30):
            while not isinstance(item := await anext(self.stream), kind):
                pass
        return item

    async def covered_after(self, moment: float) -> Covered:
        """Return the first coverage of a later moment."""
        while (covered := await self.next_of(Covered)).as_of <= moment:
            pass
        assert isinstance(covered, Covered)
        return covered

    async def next_path(self) -> str:
        """Return what was deleted next."""
        (event,) = (await self.next_of(Transactions)).batch.events
        assert isinstance(event, Unlink)
        return event.path

    async def gap(self) -> MissingEventsError:
        """Return what ends the run."""
        with pytest.raises(MissingEventsError) as raised:
            await self.next_of(Filters)  # which this channel does not yield
        return raised.value


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    """Set the stage: ten transactions have happened."""
    feed = FakeFeed(FakeZooKeeper(clock))
    namenode = FakeNameNode(log=feed.log)
    for number in range(9):
        namenode.unlink(f"/before/{number}")
    pool = FakePool(clock, namenode)
    stage = Stage(feed, namenode, pool, feed.stream(pool))
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(pool.run())
        yield stage
        await stage.stream.shut_down()
        probing.cancel()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """One whose channel is open, and has covered once."""
    async with staged() as made, made.stream:
        await made.next_of(Covered)
        yield made


async def test_changes_come_by_watches_and_then_their_coverage() -> None:
    """Within milliseconds, by no poll of the NameNode; coverage by its word of how far the log has come."""
    async with staged() as stage, stage.stream:
        assert (await stage.next_of(Covered)).txid == 10
        assert stage.stream.term == 1
        for path in ("/a", "/b"):
            changed_at = clock()
            txid = stage.namenode.unlink(path)
            assert await stage.next_of(Transactions) == Transactions(EventBatch(txid, (Unlink(path),)))
            assert clock() - changed_at < 0.01
        asked_at = clock()
        stage.stream.request_probe()
        covered = await stage.next_of(Covered)
        assert (covered.txid, covered.as_of >= asked_at, covered.seen_as_of) == (12, True, covered.as_of)
        assert stage.namenode.asked == []
        assert stage.stream.stats().polls == 0
        assert stage.stream.stats().records.records_read == 2


async def test_no_coverage_without_the_edits_that_it_needs(stage: Stage) -> None:
    """While ZooKeeper is away the NameNode's log goes on: what is not read is not covered."""
    stage.feed.zookeeper.disconnect()
    changed_at = clock()
    stage.namenode.unlink("/a")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stage.covered_after(changed_at), 5)
    stage.feed.zookeeper.connect()
    assert await stage.next_path() == "/a"
    assert (await stage.next_of(Covered)).as_of > changed_at


@pytest.mark.parametrize("is_expired", [False, True])
async def test_a_run_outlives_connection_and_session(stage: Stage, *, is_expired: bool) -> None:
    """What was changed meanwhile follows."""
    stage.feed.zookeeper.disconnect()
    stage.namenode.unlink("/a")
    await asyncio.sleep(20 if is_expired else 1)
    stage.feed.zookeeper.connect()
    stage.namenode.unlink("/b")
    assert [await stage.next_path(), await stage.next_path()] == ["/a", "/b"]
    assert stage.stream.stats().records.resumes == 1


async def test_a_watch_that_does_not_fire_proves_nothing(stage: Stage) -> None:
    """The feed is read again every so often."""

    def lose_watches_and_change() -> None:
        for session in stage.feed.zookeeper._sessions:  # noqa: SLF001 - as a server that loses them
            stage.feed.zookeeper.forget_watches(session)
        stage.namenode.unlink("/a")

    changed_at = clock() + 0.1
    asyncio.get_running_loop().call_at(changed_at, lose_watches_and_change)
    assert await stage.next_path() == "/a"
    assert 0.1 < clock() - changed_at < IDLE_REREAD_S + 0.1


async def test_segments_end_and_many_edits_come_in_order(stage: Stage) -> None:
    """However many there are at once, over however many segments, some of them empty."""
    paths = [f"/{number}" for number in range(3 * MANY)]
    for number, path in enumerate(paths):
        stage.namenode.unlink(path)
        if number % 50 == 0:
            stage.feed.end_segment()
        if number % 100 == 0:
            stage.feed.end_segment()
    assert [await stage.next_path() for _ in paths] == paths
    changed_at = clock()
    stage.namenode.unlink("/last")
    assert await stage.next_path() == "/last"
    assert clock() - changed_at < 0.01


async def test_one_who_fell_behind_has_a_gap(stage: Stage) -> None:
    """It is named; one who has read all that is dropped has none."""
    stage.namenode.unlink("/a")
    assert await stage.next_path() == "/a"
    stage.feed.end_segment()
    while (await stage.next_of(Covered)).txid < 12:  # the end of the segment
        pass
    stage.feed.purge()
    stage.namenode.unlink("/b")
    assert await stage.next_path() == "/b"
    stage.feed.zookeeper.disconnect()
    stage.namenode.unlink("/c")
    stage.feed.end_segment()
    stage.feed.purge()
    stage.namenode.unlink("/d")
    stage.feed.zookeeper.connect()
    gap = await stage.gap()
    assert (gap.kind, gap.first_txid, gap.last_txid) == (GapKind.PURGED, 14, 15)


async def test_a_feed_that_was_put_back_is_another_one(stage: Stage) -> None:
    """Also where it has meanwhile as many edits as before."""
    saved = stage.feed.saved()
    stage.namenode.unlink("/a")
    assert await stage.next_path() == "/a"
    stage.feed.put_back(saved)
    stage.namenode.unlink("/b")
    stage.namenode.unlink("/c")
    assert (await stage.gap()).kind is GapKind.WENT_BACK


async def test_an_edit_that_is_gone_or_corrupt_is_a_gap() -> None:
    """Never a silent omission."""
    for operation in ("delete", "corrupt"):
        async with staged() as stage, stage.stream:
            await stage.next_of(Covered)
            stage.feed.zookeeper.disconnect()
            path = ROOT + feed_znodes.edit(1, stage.namenode.unlink("/a") - 1)
            stage.feed.commit(Delete(path) if operation == "delete" else SetData(path, b"[{"))
            stage.feed.end_segment()
            stage.feed.zookeeper.connect()
            assert (await stage.gap()).first_txid == 11


async def test_another_active_namenode_ends_the_run(stage: Stage) -> None:
    """What was learnt from the one before is forgotten."""
    stage.namenode.restart()
    assert "term" in str(await stage.gap())


async def test_it_does_not_begin_on_what_is_not_this_namespace() -> None:
    """Nor where there is no feed."""
    async with staged() as stage:
        other = Namespace("CID-2", "BP-2-127.0.0.1-2")
        version = ROOT + feed_znodes.VERSION
        stage.feed.commit(SetData(version, feed_znodes.encode_namespace(other)))
        with pytest.raises(WrongNamespaceError, match="BP-2"):
            await stage.stream.open()
        stage.feed.commit(Delete(version))
        with pytest.raises(ChannelUnavailableError, match="feed_root"):
            await stage.stream.open()


class FeedSimulation(Simulation):
    """The same over one feed, and what can happen to that."""

    def __init__(self) -> None:
        self.feed = FakeFeed(FakeZooKeeper(clock))
        super().__init__(self.feed.log)
        self.stream = self.channel = self.feed.stream(self.pool)
        self.saved = self.feed.saved()

    def put_back(self) -> None:
        """Put ZooKeeper back: no session of a NameNode outlives that, so another term begins."""
        self.feed.put_back(self.saved)
        for namenode in self.namenodes:
            namenode.started_ms += 1_000
        self.pool.probe()

    @property
    def session(self) -> FakeSession:
        """The stream's."""
        return self.feed.zookeeper._sessions[-1]  # noqa: SLF001 - it is the last that was begun

    def expire(self) -> None:
        """Let ZooKeeper end the stream's session."""
        if self.session.is_connected:
            self.feed.zookeeper.expire(self.session)

    def save(self) -> None:
        """Take a copy that may be put back."""
        self.saved = self.feed.saved()

    def act(self, act: str, number: int) -> None:
        """Let one thing happen."""
        ACTS[act](self, number)

    def heal(self) -> None:
        """End all troubles."""
        super().heal()
        self.feed.zookeeper.connect()

    async def tell(self, history: list[tuple[str, int, float]]) -> None:
        """Let it happen; no NameNode is polled for that."""
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
"""What can happen, by name; the number says how much."""

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
    """Bounded and GapFlush: through lost connections, sessions, watches and segments, failovers, old backups."""

    async def story() -> None:
        await FeedSimulation().tell(history)

    virtual_time.run(story())
