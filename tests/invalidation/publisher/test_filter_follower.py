"""FilterFollower and FilterAdmission: changes of the filters in HDFS are seen soon, without needless reads."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from nncache.hadoop.errors import MalformedReplyError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.filters.trust import Distrust
from nncache.invalidation.publisher.filter_follower import MAX_LOGGED, FilterAdmission, FilterFollower
from nncache.invalidation.publisher.pacing import ALL, MAX_PAUSE_S, MAX_ROUND_S, RETRY_S
from tests.invalidation.fakes import FakeNameNode
from tests.invalidation.publisher.fake_cluster import (
    FakeCluster,
    FakeFilters,
    fake_cluster,
)
from tests.invalidation.publisher.fakes import published
from tests.invalidation.virtual_time import clock, until


@dataclass
class Fixture:
    """Filters in HDFS, and their follower."""

    filters: FakeFilters
    follower: FilterFollower
    changed_at: list[float] = field(default_factory=list)


@asynccontextmanager
async def following(*, broken: tuple[str, ...] = ()) -> AsyncIterator[Fixture]:
    """Yield a fixture; all filters are read again every 60 s."""
    filters = FakeFilters(FakeNameNode())
    filters.put("f", "/f")
    for name in broken:
        filters.damage(name)
    fixture = Fixture(filters, FilterFollower(filters, 60.0, clock))
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(fixture.follower.follow(lambda: fixture.changed_at.append(clock())))
        yield fixture
        task.cancel()


async def test_a_touch_has_them_read_soon() -> None:
    """Several changes in a row take few reads, and none is missed."""
    async with following() as on:
        await asyncio.sleep(10)
        for number in range(50):
            on.filters.put(f"f{number}", "/f")
            on.follower.invalidate([f"f{number}"])
            await asyncio.sleep(0.01)
        stale_since = clock()
        await asyncio.sleep(2)
        assert on.follower.stored is not None
        assert len(on.follower.stored.filters) == 51
        assert on.changed_at[-1] - stale_since < MAX_ROUND_S
        assert on.follower.reads <= 5
        assert None not in on.filters.read_names[1:]


async def test_while_they_cannot_be_read_those_known_stay(caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged once. Reads are retried as seldom as those of a filter that keeps changing."""
    with caplog.at_level(logging.INFO):
        async with following() as on:
            await asyncio.sleep(10)
            on.filters.fault = MalformedReplyError("no DataNode")
            on.filters.put("g", "/g")
            on.follower.invalidate(["g"])
            await asyncio.sleep(10 * RETRY_S)
            assert on.follower.stored is not None
            assert "g" not in on.follower.stored.filters
            assert 4 <= on.follower.reads_failed <= 8
            on.filters.fault = None
            await asyncio.sleep(MAX_PAUSE_S)
            assert "g" in on.follower.stored.filters
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


async def test_a_reading_that_was_cancelled_is_made_again() -> None:
    """The next run of the publisher does not treat it as done."""
    filters = FakeFilters(FakeNameNode())
    filters.takes_s = 5.0
    follower = FilterFollower(filters, 60.0, clock)
    for limit_s in (2.0, 6.0):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(follower.follow(lambda: None), limit_s)
    assert (filters.reads, follower.reads) == (2, 1)


async def test_a_broken_one_is_looked_at_again_soon(caplog: pytest.LogCaptureFixture) -> None:
    """It may be unreadable only briefly; one that stays broken is read less and less often."""
    with caplog.at_level(logging.WARNING):
        async with following(broken=("g",)) as on:
            await asyncio.sleep(1 + RETRY_S)
            assert on.filters.read_names == [None, ("g",)]
            await asyncio.sleep(600)
            assert on.filters.read_names.count(("g",)) == 4, "after 2, 6, 14 and 30 seconds"
            assert on.filters.read_names.count(None) == 11
            on.filters.broken.clear()
            await asyncio.sleep(60)
            reads = on.follower.reads
            await asyncio.sleep(300)
            assert on.follower.reads - reads == 5
    assert [record.message for record in caplog.records] == [
        "filter g in /apps/nncache/filters can't be used, what is published of it stays: not JSON"
    ]


async def test_a_change_of_one_filter_costs_the_reading_of_that_filter() -> None:
    """The other known filters stay, and removed ones are dropped."""
    async with following() as on:
        on.filters.put("g", "/g")
        on.filters.put("h", "/h")
        await asyncio.sleep(10)
        on.filters.put("g", "/other", allowed=("ann",))
        on.filters.remove("h")
        on.follower.invalidate(["g", "h", "never"])
        await asyncio.sleep(1)
        assert on.follower.stored is not None
        globs = {name: each.path_glob for name, each in on.follower.stored.filters.items()}
        assert globs == {"f": "/f", "g": "/other"}
        assert on.filters.read_names[0] is None
        assert [set(names or ()) for names in on.filters.read_names[1:]] == [{"g", "h", "never"}]
        assert on.follower.filters_read == 3 + 1


async def test_an_owner_who_changes_a_filter_often_delays_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The rate of reads is bounded. Others' changes are seen immediately, and its own last change eventually."""
    with caplog.at_level(logging.WARNING):
        async with following() as on:
            await asyncio.sleep(10)
            for number in range(4 * 300):
                on.filters.put("f", "/f", allowed=("ann",) if number % 2 else ())
                on.follower.invalidate(["f"])
                await asyncio.sleep(0.25)
            assert 8 <= on.filters.read_names.count(("f",)) <= 18
            on.filters.put("g", "/g")
            on.follower.invalidate(["g"])
            await asyncio.sleep(0.1)
            assert on.follower.stored is not None
            assert "g" in on.follower.stored.filters
            await asyncio.sleep(MAX_PAUSE_S)
            assert on.follower.stored.filters["f"].allowed_subscribers == ("ann",)
    (warning,) = caplog.records
    assert warning.message == (
        f"filter f in {FakeFilters.path} keeps changing: it is read every 30 s from now on; "
        "find out who changes its definition or subscribers"
    )


async def test_after_a_gap_no_filter_is_read_before_all_are() -> None:
    """GapFlush: a set with a single known filter would remove all others."""
    async with following() as on:
        await asyncio.sleep(10)
        on.follower.forget()
        on.follower.invalidate(["f"])
        await asyncio.sleep(1)
        on.follower.invalidate([ALL])
        await asyncio.sleep(1)
        assert on.filters.read_names == [None, None, None]


def test_each_refusal_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged again for another reason. Of very many filters only some are named."""
    admission = FilterAdmission(FilterSettings())
    stored = StoredFilters(
        filters={"f": Filter("f", "/*", "joe"), "g": Filter("g", "/g", "joe")}, broken={"bad": "why"}
    )
    admission.admit(stored, {})
    admitted = admission.admit(stored, {})
    assert admitted.filters.keys() == {"g"}
    assert admitted.broken.keys() == {"bad", "f"}
    assert [record.getMessage() for record in caplog.records] == [
        f"filter f is refused, it is not published: {admission.refused['f']}"
    ]
    admission.admit(StoredFilters(filters={"f": Filter("f", "/*/x", "joe")}), {"f": published("f", "/f")})
    assert "what is published of it stays" in caplog.records[-1].getMessage()
    caplog.clear()
    many = {f"m{number:02}": Filter(f"m{number:02}", "/*", "joe") for number in range(MAX_LOGGED + 3)}
    admission.admit(StoredFilters(filters=many), {})
    assert caplog.records[-1].getMessage() == "3 more filters are refused; the status page names them"
    assert len(caplog.records) == MAX_LOGGED + 1


def test_a_filter_that_is_broken_now_keeps_its_room() -> None:
    """Its published definition is still matched; a filter deleted from HDFS makes room."""
    admission = FilterAdmission(FilterSettings(max_filters=1))
    stored = StoredFilters(filters={"g": Filter("g", "/g", "joe")}, broken={"f": "why"})
    assert admission.admit(stored, {"f": published("f", "/f")}).broken.keys() == {"f", "g"}
    stored = StoredFilters(filters=stored.filters)
    assert admission.admit(stored, {"f": published("f", "/f")}).filters.keys() == {"g"}


async def test_a_publisher_leaves_refused_filters_out() -> None:
    """It takes one in when there is room; its status names the refused filters with the reason."""
    on = fake_cluster(admission=FilterSettings(max_filters=2))
    for number in range(3):
        on.filters.put(f"f{number}", f"/f{number}/*")
    async with on.publisher() as process:
        publisher = process.publisher
        await until(lambda: publisher.stats().filters == 2)
        assert on.published_filters().keys() == {"f0", "f1"}
        assert publisher.stats().filters_refused == 1
        assert publisher.broken_filters == {"f2": "refused: there are 2 filters already (max_filters)"}
        on.filters.remove("f0")
        await until(lambda: on.published_filters().keys() == {"f1", "f2"})
        assert publisher.stats().filters_refused == 0


async def test_a_filter_that_others_may_write_is_out_of_force(on: FakeCluster) -> None:
    """It is removed with its records, and returns once the permissions are corrected."""
    on.filters.put("f", "/f/*")
    on.filters.put("g", "/g/*")
    async with on.publisher() as process:
        publisher = process.publisher
        await until(lambda: publisher.stats().filters == 2)
        on.filters.distrust("f", Distrust("/f may be written", "hdfs dfs -chmod go-w /f"))
        await until(lambda: on.published_filters().keys() == {"g"})
        assert publisher.stats().filters_refused == 1
        assert publisher.broken_filters == {
            "f": "refused: /f may be written: hdfs dfs -chmod go-w /f",
        }
        on.filters.distrust("f", None)
        await until(lambda: on.published_filters().keys() == {"f", "g"})
        assert publisher.stats().filters_refused == 0


def test_an_untrusted_definition_that_is_broken_is_removed(caplog: pytest.LogCaptureFixture) -> None:
    """The same user may have written the published definition. It takes no other filter's room either."""
    admission = FilterAdmission(FilterSettings(max_filters=1))
    why = Distrust("/ may be written", "hdfs dfs -chmod go-w /")
    stored = StoredFilters(filters={"g": Filter("g", "/g", "joe")}, broken={"f": "why"}, untrusted={"f": why})
    admitted = admission.admit(stored, {"f": published("f", "/f")})
    assert admitted.filters.keys() == {"g"}
    assert not admitted.broken
    assert admission.refused == {"f": str(why)}
    assert caplog.records[-1].getMessage() == (
        f"filter f is refused, what is published of it is removed: {why}"
    )
