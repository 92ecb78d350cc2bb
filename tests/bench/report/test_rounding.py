"""Numbers are rounded so that they say no more and no less than they should."""

import math

import pytest

from nncache.bench.report.rounding import (
    NONE,
    counted,
    duration,
    mebibytes,
    number,
    percent,
    ratio,
    seconds_of,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (1_234_567.8, "1,234,568"),
        (1_000, "1,000"),
        (999.6, "1,000"),
        (99.96, "100"),
        (11.2, "11.2"),
        (9.996, "10.0"),
        (1.12, "1.12"),
        (0.0056, "0.00560"),
        (0.00099, "<0.001"),
        (1e-12, "<0.001"),
        (-5, "-5.00"),
        (-1e-12, ">-0.001"),
        (math.nan, NONE),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
    ],
)
def test_three_digits_count(value: float, shown: str) -> None:
    """Numbers have three significant digits; greater ones all that stand before the point."""
    assert number(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (1, "100 %"),
        (0.999999, ">99.99 %"),
        (0.9944, "99.44 %"),
        (0.00001, "<0.01 %"),
        (0, "0 %"),
        (-0.25, "-25.00 %"),
        (math.nan, NONE),
    ],
)
def test_only_all_is_all(share: float, shown: str) -> None:
    """A share is never rounded to all or to nothing."""
    assert percent(share) == shown


def test_times_have_a_unit_that_fits() -> None:
    """Times below a second are in milliseconds."""
    assert [duration(value) for value in (0.0021, 0.9999, 1, 61, math.nan)] == [
        "2.10 ms",
        "1.00 s",
        "1.00 s",
        "61.0 s",
        NONE,
    ]
    assert [seconds_of(value) for value in (5.0, 0.5, 1_800)] == ["5 s", "0.5 s", "1,800 s"]


def test_sizes_are_mebibytes() -> None:
    """1.5 MiB are 1,572,864 bytes."""
    assert mebibytes(1_572_864) == "1.50"


def test_one_is_not_many() -> None:
    """One thing has no plural, and nothing has one."""
    assert [counted(count, "poll") for count in (0, 1, 2_000)] == ["0 polls", "1 poll", "2,000 polls"]


def test_nothing_divides_by_nothing() -> None:
    """What can't be divided is no number, not an error."""
    assert math.isnan(ratio(3, 0))
    assert ratio(3, 2) == 1.5
