"""The ZooKeeper channel in virtual time, with ZooKeeper broken in every way."""

import asyncio
import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.invalidation.consumer import Consumer
from nncache.invalidation.errors import ChannelUnavailableError, NotPermittedError
from nncache.invalidation.follower.filter_set import FilterSet
from nncache.invalidation.follower.follower import Follower
from nncache.invalidation.stream import CoveredThrough, FiltersInForce
from tests.invalidation import virtual_time
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.channel.simulation import ACTS, Simulation, Step
from tests.invalidation.fakes import RecordingSink
from tests.invalidation.virtual_time import clock, until


async def test_the_filters_come_first(fake_cluster: FakeCluster) -> None:
    """Nothing may be cached or covered before the filters are known."""
    async with fake_cluster.stream as stream:
        assert stream.term == 1
        assert await anext(stream) == FiltersInForce({"joe-2": "/joe/*"})
        assert isinstance(await anext(stream), CoveredThrough)
    assert fake_cluster.stream.term == 0


async def test_another_namespace_is_refused(fake_cluster: FakeCluster) -> None:
    """A ZooKeeper root of another cluster must not be followed; the error names both namespaces."""
    fake_cluster.press.put(ZNODES.namespace, b"BP-2-elsewhere")
    with pytest.raises(ChannelUnavailableError, match=r"'BP-2-elsewhere', but nn:9870 serves 'BP-1-127"):
        await fake_cluster.stream.open()


async def test_what_is_away_is_named(fake_cluster: FakeCluster) -> None:
    """ZooKeeper, the active NameNode, the filters or the right to read may be missing: each error names the cause."""
    fake_cluster.server.disconnect()
    with pytest.raises(ChannelUnavailableError, match="no connection"):
        await fake_cluster.stream.open()
    fake_cluster.server.connect()
    fake_cluster.server.tree.forbidden.add(ZNODES.cache)
    with pytest.raises(NotPermittedError, match="ACL"):
        await fake_cluster.stream.open()
    fake_cluster.server.tree.forbidden.clear()
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.server.tree.forbidden.add(ZNODES.cache)
        with pytest.raises(NotPermittedError, match="ACL"):
            await fake_cluster.next_changes()
    fake_cluster.server.tree.forbidden.clear()
    fake_cluster.press.put(ZNODES.cache, b"x")
    with pytest.raises(ChannelUnavailableError, match="not a transaction id"):
        await fake_cluster.stream.open()
    fake_cluster.namenode.answers_jmx = False
    for _ in range(2):
        fake_cluster.pool.probe()
    with pytest.raises(ChannelUnavailableError, match="no active NameNode: nn:9870 is standby"):
        await fake_cluster.stream.open()


async def test_two_watches_are_all_it_holds(fake_cluster: FakeCluster) -> None:
    """The service's original design warns of sessions with many watches."""
    async with fake_cluster.stream:
        for number in range(5):
            fake_cluster.unlink("/joe/a")
            fake_cluster.press.change_filters({"joe": "/joe/*", "more": f"/more/{number}"})
            await asyncio.sleep(0.1)
            assert fake_cluster.server.watches == 2


async def test_an_idle_life_asks_little(followed: FakeCluster) -> None:
    """With up to 10,000 readers, each may read only value and generation every two seconds."""
    before = followed.session.stats().calls
    await asyncio.sleep(60)
    assert followed.session.stats().calls - before <= 62


async def test_of_a_run_that_has_ended_nothing_is_kept(fake_cluster: FakeCluster) -> None:
    """A run has read all filters, and daemons do not collect the reference cycles of errors and frames."""

    def runs() -> int:
        return sum(isinstance(each, Follower | FilterSet) for each in gc.get_objects())

    consumer = Consumer(RecordingSink(), fake_cluster.stream, clock)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(consumer.run())
        await until(lambda: consumer.stats().is_open)
        gc.collect()
        gc.disable()
        try:
            for number in range(1, 4):
                txid = fake_cluster.namenode.unlink("/joe/a")
                fake_cluster.press.drop(txid, txid)
                await until(lambda number=number: consumer.stats().streams_opened == number + 1)  # type: ignore[misc]  # a lambda with a default
            assert runs() == 2, "those of the present run"
        finally:
            gc.enable()
        running.cancel()


async def test_it_may_be_closed_at_any_time_and_opened_again(fake_cluster: FakeCluster) -> None:
    """The next run yields no unread item of an earlier one; the session stays until it is shut down."""
    with pytest.raises(ChannelUnavailableError, match="not open"):
        await anext(fake_cluster.stream)
    fake_cluster.stream.request_probe()
    await fake_cluster.stream.close()
    assert not fake_cluster.stream.stats().session.is_connected
    async with fake_cluster.stream:
        fake_cluster.unlink("/joe/a")
        await asyncio.sleep(1)
    async with fake_cluster.stream:
        txid = fake_cluster.unlink("/joe/b")
        assert await fake_cluster.next_changes() == (("/joe/b",), txid)
        assert fake_cluster.session.stats().sessions == 1
        await fake_cluster.stream.shut_down()
    await fake_cluster.stream.shut_down()
    assert not fake_cluster.session.is_connected


ACTIONS = st.sampled_from(["write", "write", "publish", "publish", *ACTS])
PAUSES = st.sampled_from([0.0, 0.0, 0.0005, 0.003, 0.003, 0.01, 0.02, 0.02, 0.1, 0.3, 2.5])
STEPS = st.tuples(ACTIONS, st.integers(1, 6), PAUSES, st.booleans())
HISTORIES = st.lists(STEPS, max_size=8) | st.lists(STEPS, min_size=20, max_size=50)


@settings(max_examples=60)
@given(HISTORIES, st.sampled_from([None, 0.003, 0.01, 0.1]))
def test_covered_is_true_whatever_happens(history: list[Step], pace_s: float | None) -> None:
    """Bounded and GapFlush hold whatever happens to ZooKeeper, publisher, NameNode and reader."""

    async def story() -> None:
        await Simulation().tell(history, pace_s)

    virtual_time.run(story())
