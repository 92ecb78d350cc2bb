"""FilterSetReader, in a run: the filters in force are known before the records that they matched."""

import asyncio

import pytest

from nncache.coordination.zookeeper import DeleteOp, SetDataOp
from nncache.invalidation.errors import MissingEventsError, NotPermittedError
from nncache.invalidation.stream import CoveredThrough, FiltersInForce
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


async def test_a_new_filter_comes_on_an_idle_cluster_too(followed: FakeCluster) -> None:
    """The filter set has a watch of its own, so no record is needed."""
    await asyncio.sleep(1)
    changed_at = clock()
    followed.press.change_filters({"ann": "/ann/*"})
    assert await followed.next_filters() == {"/ann/*"}
    assert clock() - changed_at < 0.02
    records = followed.stream.stats().records
    assert records.filters == 1
    assert list(records.filter_names.values()) == ["ann"], "for people, who know no id"


async def test_filters_newer_than_a_record_are_no_harm(followed: FakeCluster) -> None:
    """Definitions read ahead of the records come into force early; earlier records follow nevertheless."""
    followed.server.disconnect()
    older = followed.unlink("/joe/a")
    followed.press.change_filters({"joe": "/joe/*", "ann": "/ann/*"})
    newer = followed.unlink("/ann/a")
    followed.server.connect()
    assert await followed.next_changes() == (("/joe/a",), older)
    assert await followed.next_changes() == (("/ann/a",), newer)


async def test_a_corrupt_definition_costs_its_filter_only(fake_cluster: FakeCluster) -> None:
    """The other filters stay in force; this one returns when it is written again."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.press.put(ZNODES.definition("joe"), b"{")
        fake_cluster.press.put(ZNODES.definition("-odd"), b"{}")
        fake_cluster.press.change_filters({"joe": "/joe/*", "ann": "/ann/*"})
        assert await fake_cluster.next_filters() == {"/ann/*"}
    assert fake_cluster.stream.stats().records.corrupt_znodes == 1
    assert fake_cluster.stream.stats().records.foreign_znodes == 1


async def test_a_definition_that_an_acl_hides_costs_its_filter_only(fake_cluster: FakeCluster) -> None:
    """Any client that may create a znode may hide it."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.press.put(ZNODES.definition("hidden"), b"?")
        fake_cluster.server.tree.forbidden.add(ZNODES.definition("hidden"))
        fake_cluster.press.change_filters({"joe": "/joe/*", "ann": "/ann/*"})
        assert await fake_cluster.next_filters() == {"/joe/*", "/ann/*"}
        await fake_cluster.next_covered(clock())
    assert fake_cluster.stream.stats().records.corrupt_znodes == 1


async def test_that_all_definitions_are_hidden_is_for_an_administrator(fake_cluster: FakeCluster) -> None:
    """The stream ends, because the fault is not that of a single filter."""
    fake_cluster.server.tree.forbidden.add(ZNODES.definition("joe"))
    with pytest.raises(NotPermittedError, match="joe"):
        await fake_cluster.stream.open()


@pytest.mark.parametrize("data", [b"", b"1", b"two"])
async def test_a_generation_that_goes_back_or_is_none_ends_the_life(
    followed: FakeCluster, data: bytes
) -> None:
    """GapFlush: the filters in force are unknown."""
    followed.press.put(ZNODES.filters, data)
    with pytest.raises(MissingEventsError, match="generation"):
        await followed.next_changes()


async def test_a_record_of_filters_that_are_not_there_ends_the_life(followed: FakeCluster) -> None:
    """GapFlush: the filters that matched the record are unknown."""
    followed.press.generation = 9
    followed.unlink("/joe/a")
    with pytest.raises(MissingEventsError, match="of generation 9, there are only those of 2"):
        await followed.next_changes()


async def test_without_filters_nothing_is_followed(fake_cluster: FakeCluster) -> None:
    """If the filter set itself is missing, the matched paths are unknown."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.press.commit(DeleteOp(ZNODES.definition("joe")), DeleteOp(ZNODES.filters))
        with pytest.raises(MissingEventsError, match="no filters are published"):
            await fake_cluster.next_changes()
    with pytest.raises(MissingEventsError, match="no filters are published"):
        await fake_cluster.stream.open()


async def test_an_empty_set_of_filters_is_one(fake_cluster: FakeCluster) -> None:
    """Without filters nothing is cached, but coverage continues."""
    fake_cluster.press.change_filters({})
    async with fake_cluster.stream as stream:
        assert await anext(stream) == FiltersInForce({})
        assert isinstance(await anext(stream), CoveredThrough)
        fake_cluster.press.commit(SetDataOp(ZNODES.filters, b"9"))
        fake_cluster.unlink("/joe/a")
        assert await fake_cluster.next_changes() == ((), 11)
