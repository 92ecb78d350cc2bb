"""A directory gets another name."""

from tests.demo.told import Told

TITLE = "Old name 404, new name 200"


def test_both_names_are_seen_to_change_each_time(told: Told) -> None:
    """Six times, two readers of two names."""
    assert told.came_true(TITLE)
    assert f"{TITLE}: 24 of 24, p50 " in told.out


def test_it_needs_invalidation(told_by_the_deaf: Told) -> None:
    """A negative and a positive answer stay."""
    assert not told_by_the_deaf.came_true(TITLE)
