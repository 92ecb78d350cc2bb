"""The direct channel, alone and with the consumer, through random histories of a pair of NameNodes."""

import asyncio

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.edits.direct import DirectInotifyEventInputStream
from nncache.invalidation.errors import MissingEventsError
from nncache.invalidation.stream import CoveredThrough, StreamItem, TransactionEvents
from tests.invalidation import virtual_time
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.simulation import ACTS, Simulation
from tests.invalidation.virtual_time import clock
from tests.setup import channel_setup


@pytest.fixture
def namenode() -> FakeNameNode:
    """A NameNode with 10 transactions."""
    made = FakeNameNode()
    for number in range(10):
        made.unlink(f"/before/{number}")
    return made


@pytest.fixture
async def channel(namenode: FakeNameNode) -> DirectInotifyEventInputStream:
    """A stream over the NameNode."""
    return DirectInotifyEventInputStream(channel_setup(FakePool(clock, namenode), clock))


async def test_transactions_come_first_and_then_their_coverage(
    namenode: FakeNameNode, channel: DirectInotifyEventInputStream
) -> None:
    """D1: the Covered of a read is its last item."""
    async with channel as stream:
        assert stream.term == 1
        assert isinstance(await anext(stream), CoveredThrough)
        sent_at = clock()
        for path in ("/a", "/b"):
            namenode.unlink(path)
        items: list[StreamItem] = [await anext(stream) for _ in range(3)]
        assert items[:2] == [
            TransactionEvents(EventBatch(11, (Unlink("/a"),))),
            TransactionEvents(EventBatch(12, (Unlink("/b"),))),
        ]
        match items[2]:
            case CoveredThrough(as_of, txid):
                assert (as_of >= sent_at, txid) == (True, 12)
            case other:
                pytest.fail(f"{other} is no coverage")


async def test_what_is_seen_before_it_is_durable_is_waited_for(
    namenode: FakeNameNode, channel: DirectInotifyEventInputStream
) -> None:
    """ProvenGrant: polls yield durable edits, and the time until which clients saw no others (decision 9)."""
    async with channel as stream:
        await anext(stream)
        namenode.unlink("/a")
        namenode.unsynced = 1
        asked_at = clock()
        stream.request_probe()
        for _ in range(5):
            covered = await anext(stream)
            assert isinstance(covered, CoveredThrough)
            assert covered.seen_as_of is not None
            assert covered.seen_as_of < asked_at
        namenode.unsynced = 0
        assert isinstance(await anext(stream), TransactionEvents)
        covered = await anext(stream)
        assert isinstance(covered, CoveredThrough)
        assert covered.seen_as_of is not None
        assert asked_at <= covered.seen_as_of <= covered.as_of


async def test_what_a_life_left_unread_is_not_in_the_next(
    namenode: FakeNameNode, channel: DirectInotifyEventInputStream
) -> None:
    """A new run begins at the present end; the items of the old run are dropped."""
    async with channel as stream:
        await anext(stream)
        for path in ("/a", "/b"):
            namenode.unlink(path)
        assert isinstance(await anext(stream), TransactionEvents)
    assert channel.term == 0
    async with channel as stream:
        match await anext(stream):
            case CoveredThrough(txid=txid):
                assert txid == 12
            case other:
                pytest.fail(f"{other} belongs to the run before")


async def test_the_same_coverage_is_reported_once() -> None:
    """While peers confirm nothing later, no coverage is yielded; a silent run has not ended."""
    pool = FakePool(clock, FakeNameNode(), FakeNameNode("nn2", active=False))
    pool.fakes[0].unlink("/before")
    async with DirectInotifyEventInputStream(channel_setup(pool, clock)) as stream:
        assert isinstance(await anext(stream), CoveredThrough)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream), 1.0)
        asyncio.get_running_loop().call_later(0.1, stream.request_probe)
        assert isinstance(await anext(stream), CoveredThrough)
    assert stream.stats().polls > 100


async def test_a_gap_ends_the_iteration_with_an_error(
    namenode: FakeNameNode, channel: DirectInotifyEventInputStream
) -> None:
    """The iteration never ends silently."""
    async with channel as stream:
        await anext(stream)
        namenode.unlink("/a")
        namenode.unlink("/b")
        namenode.log.first_kept = 12
        with pytest.raises(MissingEventsError, match="purged: asked for 11, got 12"):
            await anext(stream)


ACTIONS = st.sampled_from(["write", "write", "write", *ACTS])
PAUSES = st.sampled_from([0.0, 0.0003, 0.005, 0.02, 0.3, 1.5])
HISTORIES = st.lists(st.tuples(ACTIONS, st.integers(1, 4), PAUSES), max_size=40)


@settings(max_examples=200)
@given(HISTORIES)
@example([("small pages", 1, 0.0), ("write", 4, 0.02)])
@example([("slow", 2, 0.3), ("write under a call", 1, 0.0), ("write", 1, 0.3)])
@example([("split", 1, 0.02), ("write", 1, 0.02)])
@example([("purge", 1, 0.0), ("write", 3, 0.0), ("purge", 1, 0.3)])
def test_covered_is_true_whatever_happens(history: list[tuple[str, int, float]]) -> None:
    """Bounded and GapFlush hold through failovers, splits, restarts, cuts, purges and full pages."""

    async def story() -> None:
        await Simulation().tell(history)

    virtual_time.run(story())
