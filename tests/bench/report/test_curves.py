"""Curves through distributions, and labels that keep clear of each other."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.bench.report.curves import curve_of, nines, spread, value_at
from tests.bench import example_figures as example


def test_values_lie_straight_between_points() -> None:
    """Half of the way from one point to the next is half of the difference."""
    curve = ((1.0, 0.0), (2.0, 0.5), (4.0, 0.5), (8.0, 1.0))
    assert [value_at(curve, share) for share in (0.0, 0.25, 0.75, 1.0)] == [1.0, 1.5, 6.0, 8.0]


def test_outside_of_the_points_the_last_one_holds() -> None:
    """A distribution that begins with many equal values has its least value below them."""
    assert value_at(((0.0, 0.6), (5.0, 0.9)), 0.3) == 0.0
    assert value_at(((0.0, 0.6), (5.0, 0.9)), 0.95) == 5.0


def test_nothing_has_no_curve() -> None:
    """An empty distribution has none; one whose curve was not kept has its quantiles."""
    assert curve_of(example.NOTHING) == ()
    assert value_at(curve_of(example.quantiles_only(4.0)), 0.5) == 2.0


def test_nines_are_counted() -> None:
    """90 % is one nine, 99.9 % three."""
    assert [nines(share) for share in (0.0, 0.9, 0.999)] == pytest.approx([0, 1, 3])


@given(st.lists(st.floats(-0.5, 1.5), max_size=6), st.floats(0.01, 0.5))
def test_labels_keep_apart_and_in_order(places: list[float], apart: float) -> None:
    """No two labels are closer than asked, unless there is no room; none changes places; none leaves the chart."""
    moved = spread(places, apart)
    room = min(apart, 1 / max(1, len(places) - 1))
    ranked = sorted(zip(places, moved, strict=True), key=lambda pair: pair[0])
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)
    assert all(upper - lower >= room - 1e-9 for (_, lower), (_, upper) in itertools.pairwise(ranked))


def test_labels_with_room_stay_where_they_are() -> None:
    """What is far enough apart is not moved."""
    assert spread([0.9, 0.1], 0.3) == [0.9, 0.1]
    assert math.isclose(sum(spread([0.5, 0.5], 0.2)), 1.0)
