"""Numbers are rounded so that they say no more and no less than they should."""

import math
from collections.abc import Callable

import pytest

from nncache.bench.report.rounding import NONE, counted, duration, number, percent, ratio, saved


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (
            number,
            {0: "0", 1_234_567.8: "1,234,568", 999.6: "1,000", 99.96: "100", 11.2: "11.2", 9.996: "10.0"},
        ),
        (number, {0.0056: "0.00560", 1e-5: "1.00e-05", -5: "-5.00", math.nan: NONE, None: NONE}),
        (percent, {1: "100 %", 0.999999: ">99.99 %", 0.9944: "99.44 %", 0.00001: "<0.01 %", 0: "0 %"}),
        (percent, {-0.25: "-25.00 %", math.nan: NONE, None: NONE}),
        (
            saved,
            {0.9414: "94.14 % saved", 0: "0 % saved", -1.2125: "121.25 % more", math.nan: NONE, None: NONE},
        ),
        (
            duration,
            {0.0021: "2.10 ms", 0.9999: "1.00 s", 1: "1.00 s", 61: "61.0 s", math.nan: NONE, None: NONE},
        ),
    ],
)
def test_three_digits_count(form: Callable[[float | None], str], shown: dict[float | None, str]) -> None:
    """Greater numbers have all digits before the point; a share is never rounded to all or to nothing."""
    assert {value: form(value) for value in shown} == shown


def test_one_is_not_many_and_nothing_divides_by_nothing() -> None:
    """One thing has no plural; what can't be divided is no number, not an error."""
    assert [counted(count, "poll") for count in (0, 1, 2_000)] == ["0 polls", "1 poll", "2,000 polls"]
    assert ratio(3, 2) == 1.5
    assert math.isnan(ratio(3, 0))
    assert math.isnan(ratio(None, 2))
