"""Which filters are refused, and for what reason."""

from dataclasses import replace

from nncache.invalidation.filters.admission import (
    no_room,
    over_quota,
    refusals,
    refused_changes,
    too_general,
)
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.settings import FilterSettings

ANY = FilterSettings(min_wildcard_level=1, max_filters=0)


def made(*filters: Filter) -> dict[str, Filter]:
    """Return filters created in this order."""
    return {each.name: replace(each, file_id=number) for number, each in enumerate(filters, start=1)}


def of(owner: str, *names: str) -> tuple[Filter, ...]:
    """Return filters of one owner."""
    return tuple(Filter(name, f"/user/{owner}/{name}", owner) for name in names)


def refused(filters: dict[str, Filter], limits: FilterSettings, *in_force: str) -> dict[str, str]:
    """Return the refusals, given that some filters are in force."""
    globs = {name: filters[name].path_glob for name in in_force}
    return refusals(filters, limits, globs=globs, placed=in_force, owned=in_force)


def test_a_wildcard_above_the_level_is_too_general() -> None:
    """The reason has the glob, both levels and the setting."""
    limits = FilterSettings(min_wildcard_level=3)
    assert too_general("/user/*/x", limits) == (
        "/user/*/x has a wildcard in level 2 of the path: the first may be in level 3 (min_wildcard_level); name a "
        "directory above it, or give a glob for each"
    )
    assert too_general("/user/joe/*", limits) == ""
    assert too_general("/x", limits) == ""
    assert too_general("/*", ANY) == ""


def test_a_glob_that_is_in_force_is_not_too_general() -> None:
    """Another glob of the same filter can be too general."""
    limits = FilterSettings(min_wildcard_level=2)
    filters = made(Filter("a", "/*/a", "joe"), Filter("b", "/*/b", "joe"))
    assert refused(filters, limits, "a").keys() == {"b"}
    assert refusals(filters, limits, globs={"a": "/user/a"}, placed="a", owned="a").keys() == {"a", "b"}


def test_the_first_ones_made_have_the_room() -> None:
    """Time counts, not the name. Filters in force come before all others, and filters not yet in HDFS come last."""
    limits = FilterSettings(max_filters=2)
    filters = made(*of("joe", "z", "y", "x"))
    assert refused(filters, limits) == {"x": "there are 2 filters already (max_filters)"}
    assert refused(filters, limits, "x").keys() == {"y"}
    assert refused({**filters, "a": Filter("a", "/user/a", "joe")}, limits).keys() == {"x", "a"}
    assert refused(filters, ANY) == {}


def test_what_is_in_force_stays_when_a_limit_is_lowered() -> None:
    """Filters in force stay, but leave no room for others."""
    filters = made(*of("joe", "a", "b", "c", "d"))
    for limits in (FilterSettings(max_filters=1), FilterSettings(max_filters_per_owner=1)):
        assert refused(filters, limits, "b", "c", "d").keys() == {"a"}


def test_a_user_owns_so_many_at_most() -> None:
    """The limit is per user, and a filter refused for another reason takes no room."""
    limits = FilterSettings(max_filters_per_owner=1)
    filters = made(Filter("w", "/*", "joe"), *of("joe", "a", "b"), *of("ann", "c"))
    found = refused(filters, limits)
    assert found.keys() == {"w", "b"}
    assert found["b"] == "joe owns 1 filters already (max_filters_per_owner)"


def test_what_a_change_adds_is_held_against_the_limits() -> None:
    """A new owner needs room in that owner's limit, and none in the limit for all."""
    before = made(*of("joe", "a", "b"), *of("ann", "c"))
    given_away = {**before, "c": replace(before["c"], owner="joe")}
    assert refused_changes(before, given_away, FilterSettings(max_filters=1)) == {}
    assert refused_changes(before, given_away, FilterSettings(max_filters_per_owner=2)).keys() == {"c"}
    added = {**before, "d": Filter("d", "/d", "joe")}
    assert refused_changes(before, added, FilterSettings(max_filters=3)).keys() == {"d"}
    del added["a"]
    assert refused_changes(before, added, FilterSettings(max_filters=3)) == {}


def test_single_limits_say_why() -> None:
    """Commands check each limit before they write."""
    assert no_room(1, FilterSettings(max_filters=2)) == over_quota("joe", 9, ANY) == no_room(9, ANY) == ""
    assert no_room(2, FilterSettings(max_filters=2)) == "there are 2 filters already (max_filters)"
    limits = FilterSettings(max_filters_per_owner=2)
    assert over_quota("joe", 1, limits) == ""
    assert over_quota("joe", 2, limits) == "joe owns 2 filters already (max_filters_per_owner)"
