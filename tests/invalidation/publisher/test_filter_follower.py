"""The filters of HDFS are known soon after they change, and not asked for without need."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from hadoop.errors import MalformedReplyError
from invalidation.publisher.filter_follower import MIN_PAUSE_S, RETRY_S, FilterFollower
from tests.invalidation import virtual_time
from tests.invalidation.fakes import FakeNameNode
from tests.invalidation.publisher.stage import FakeFilters
from tests.invalidation.virtual_time import clock


@dataclass
class Scene:
    """Filters in HDFS, and who follows them."""

    filters: FakeFilters
    follower: FilterFollower
    changed_at: list[float] = field(default_factory=list)


def play(story: Callable[[Scene], Awaitable[None]], *, broken: tuple[str, ...] = ()) -> None:
    """Play a story in virtual time; filters are read again every 60 s."""

    async def on_scene() -> None:
        filters = FakeFilters(FakeNameNode())
        filters.put("f", "/f")
        for name in broken:
            filters.damage(name)
        scene = Scene(filters, FilterFollower(filters, 60.0, clock))
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(scene.follower.follow(lambda: scene.changed_at.append(clock())))
            await story(scene)
            following.cancel()

    virtual_time.run(on_scene())


def test_they_are_read_at_once_and_then_seldom() -> None:
    """What changes them is seen in the edits; the rest is a safety net."""

    async def story(on: Scene) -> None:
        assert (on.follower.stored, on.follower.path) == (None, on.filters.path)
        began_at = clock()
        await asyncio.sleep(300)
        assert on.follower.stored is not None
        assert list(on.follower.stored.filters) == ["f"]
        assert on.follower.reads == 5
        assert on.changed_at[0] - began_at < 0.02
        assert on.changed_at[1] - began_at == pytest.approx(60, abs=0.1)

    play(story)


def test_a_touch_has_them_read_soon() -> None:
    """Several touches in a row cost few readings, and none is missed."""

    async def story(on: Scene) -> None:
        await asyncio.sleep(10)
        for number in range(50):
            on.filters.put(f"f{number}", "/f")
            on.follower.touch()
            await asyncio.sleep(0.01)
        touched_at = clock()
        await asyncio.sleep(1)
        assert on.follower.stored is not None
        assert len(on.follower.stored.filters) == 51
        assert on.changed_at[-1] - touched_at < 2 * MIN_PAUSE_S
        assert on.follower.reads <= 5

    play(story)


def test_a_touch_during_a_reading_counts() -> None:
    """What was read may be from before it."""

    async def story(on: Scene) -> None:
        await asyncio.sleep(10)
        on.filters.takes_s = 2.0
        on.follower.touch()
        await asyncio.sleep(1)
        on.filters.put("g", "/g")
        on.follower.touch()
        await asyncio.sleep(4)
        assert on.follower.stored is not None
        assert "g" in on.follower.stored.filters

    play(story)


def test_while_they_cannot_be_read_those_known_stay(caplog: pytest.LogCaptureFixture) -> None:
    """Said once, tried again until it works."""

    async def story(on: Scene) -> None:
        await asyncio.sleep(10)
        on.filters.fault = MalformedReplyError("no DataNode")
        on.filters.put("g", "/g")
        on.follower.touch()
        await asyncio.sleep(10 * RETRY_S)
        assert on.follower.stored is not None
        assert "g" not in on.follower.stored.filters
        assert on.follower.reads_failed == pytest.approx(10, abs=1)
        on.filters.fault = None
        await asyncio.sleep(RETRY_S + 0.1)
        assert "g" in on.follower.stored.filters

    with caplog.at_level(logging.INFO):
        play(story)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_a_reading_that_was_cancelled_is_made_again() -> None:
    """The next life of the publisher does not take it for done."""

    async def story() -> None:
        filters = FakeFilters(FakeNameNode())
        filters.takes_s = 5.0
        follower = FilterFollower(filters, 60.0, clock)
        for limit_s in (2.0, 6.0):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(follower.follow(lambda: None), limit_s)
        assert (filters.reads, follower.reads) == (2, 1)

    virtual_time.run(story())


def test_a_broken_one_is_looked_at_again_soon(caplog: pytest.LogCaptureFixture) -> None:
    """It may be unreadable for a moment only; one that stays broken is asked for less and less often."""

    async def story(on: Scene) -> None:
        await asyncio.sleep(1 + RETRY_S)
        assert on.follower.reads == 2
        await asyncio.sleep(600)
        assert on.follower.reads == pytest.approx(15, abs=1)
        on.filters.broken.clear()
        await asyncio.sleep(60)
        reads = on.follower.reads
        await asyncio.sleep(300)
        assert on.follower.reads - reads == 5

    with caplog.at_level(logging.WARNING):
        play(story, broken=("g",))
    assert [record.message for record in caplog.records] == [
        "filter g in /apps/nncache/filters can't be used, what is published of it stays: not JSON"
    ]
