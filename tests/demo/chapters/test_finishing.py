"""A job writes the file that is waited for."""

from tests.demo.told import Told


def test_all_days_are_seen_by_all_three(told: Told) -> None:
    """Five days, three readers each."""
    assert told.came_true("The finished file is seen")
    assert "The finished file is seen: 15 of 15, p50 " in told.out


def test_who_is_not_told_of_it_goes_on_seeing_nothing(told_by_the_deaf: Told) -> None:
    """The old answer stays past the bound, and one day is enough to know."""
    assert not told_by_the_deaf.came_true("The finished file is seen")
    assert "alice still gets 404, bob still gets 404, carol still gets 404" in told_by_the_deaf.out
