"""Figures as they are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.demo.figures import counted, percentile, spoken, spread


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.0004, "0.4 ms"),
        (0.00994, "9.9 ms"),
        (0.0123, "12 ms"),
        (0.9994, "999 ms"),
        (2.96, "3.0 s"),
    ],
)
def test_a_time_has_the_unit_that_suits_it(seconds: float, text: str) -> None:
    """Two figures are enough for a reader."""
    assert spoken(seconds) == text


@given(st.lists(st.floats(0, 10), min_size=1), st.floats(0, 1))
def test_a_percentile_is_a_value_that_was_measured(values: list[float], share: float) -> None:
    """Nearest rank: at least that share of the values is not above it, and no smaller value has that property."""
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values)
    smaller = [value for value in values if value < found]
    assert not smaller or sum(value <= max(smaller) for value in values) < share * len(values)


def test_there_is_no_percentile_of_nothing() -> None:
    """It would be made up."""
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_a_spread_names_the_middle_and_the_worst() -> None:
    """p50 and max."""
    assert spread([0.020, 0.010, 0.0305]) == "p50 20 ms, max 30 ms"


def test_a_noun_follows_its_number() -> None:
    """One read, two reads."""
    assert [counted(number, "read") for number in (0, 1, 1200)] == ["0 reads", "1 read", "1,200 reads"]
