"""The published filters become those of HDFS, and keep their chains where they can."""

from collections.abc import Iterator
from itertools import count

import pytest

from invalidation.channel.records import PublishedFilter
from invalidation.filters.definition import Filter
from invalidation.publisher.filter_plan import changed_positions, plan_filters
from invalidation.publisher.output_stream import FilterChange, FilterPosition
from tests.invalidation.publisher.samples import published
from tests.invalidation.publisher.stage import FakeStoredFilters


def stored(*filters: Filter, **broken: str) -> FakeStoredFilters:
    """Return what a reading of HDFS brought."""
    return FakeStoredFilters({each.name: each for each in filters}, broken)


def plan(
    has: dict[str, PublishedFilter],
    wants: FakeStoredFilters | None,
    damaged: dict[str, PublishedFilter | None] | None = None,
) -> FilterChange:
    """Return the change after transaction 7; new ids are new-1 and so on."""
    ids: Iterator[int] = count(1)
    return plan_filters(has, damaged or {}, wants, since_txid=7, new_id=lambda: f"new-{next(ids)}")


def new(name: str, glob: str, number: int, **facts: object) -> PublishedFilter:
    """Return a filter that begins now."""
    return published(name, glob, id=f"new-{number}", since_txid=7, **facts)


def test_nothing_changes_without_need() -> None:
    """Equal filters keep id and beginning."""
    assert plan({"f": published("f", "/f")}, stored(Filter("f", "/f", "joe"))).is_empty


def test_filters_come_and_go() -> None:
    """A new one begins where publications end; each gets an id of its own."""
    change = plan(
        {"old": published("old")}, stored(Filter("b", "/b", "joe", ("amy",)), Filter("a", "/a", "joe"))
    )
    assert change == FilterChange(
        removed=("old",), added=(new("a", "/a", 1), new("b", "/b", 2, allowed_subscribers=("amy",)))
    )


def test_another_glob_is_another_filter() -> None:
    """What its subscribers have is not what it would have told them: a new id, and a new beginning."""
    change = plan({"f": published("f", "/f")}, stored(Filter("f", "/g", "joe")))
    assert change == FilterChange(removed=("f",), added=(new("f", "/g", 1),))


@pytest.mark.parametrize("wanted", [Filter("f", "/f", "amy"), Filter("f", "/f", "joe", ("amy",))])
def test_other_subscribers_are_the_same_filter(wanted: Filter) -> None:
    """Owner and subscribers change in place."""
    has = published("f", "/f", since_txid=3)
    change = plan({"f": has}, stored(wanted))
    assert change == FilterChange(
        updated=(
            published(
                "f", "/f", since_txid=3, owner=wanted.owner, allowed_subscribers=wanted.allowed_subscribers
            ),
        )
    )


def test_a_broken_definition_keeps_what_is_published() -> None:
    """One bad definition costs nobody anything; one that never was good is not published."""
    assert plan({"f": published("f")}, stored(f="not JSON", g="not JSON")).is_empty


def test_what_is_published_stays_while_hdfs_cannot_be_read() -> None:
    """Safe mode, no DataNode."""
    assert plan({"f": published("f")}, None).is_empty


def test_damaged_filters_begin_anew() -> None:
    """As HDFS has them; as they are published, if HDFS can't tell; else not at all until it can."""
    has = published("f", "/f")
    anew = FilterChange(removed=("f",), added=(new("f", "/f", 1),))
    assert plan({}, stored(Filter("f", "/f", "joe")), {"f": None}) == anew
    assert plan({}, None, {"f": has}) == anew
    assert plan({}, stored(f="not JSON"), {"f": has}) == anew
    assert plan({}, None, {"f": None}) == FilterChange(removed=("f",))
    assert plan({}, stored(), {"f": has}) == FilterChange(removed=("f",))


def test_positions_follow_a_change() -> None:
    """New ones begin at their beginning, updated ones go on where they are."""
    has = {name: FilterPosition(published(name), 5) for name in ("f", "g", "h", "i")}
    updated = published("g", owner="amy")
    change = FilterChange(removed=("f", "h"), added=(new("h", "/h", 1),), updated=(updated,))
    assert changed_positions(has, change) == {
        "g": FilterPosition(updated, 5),
        "h": FilterPosition(new("h", "/h", 1), 7),
        "i": has["i"],
    }
