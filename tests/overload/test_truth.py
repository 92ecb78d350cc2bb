"""An answer about the changing path is wrong only if no state within the bound explains it."""

import math

import pytest

from tests.overload.population import Flip, explains

FLIPS = [
    Flip(is_there=False, sent=0.0, acknowledged=1.0),
    Flip(is_there=True, sent=10.0, acknowledged=11.0),
    Flip(is_there=False, sent=20.0, acknowledged=21.0),
]


@pytest.mark.parametrize(
    ("saw_it", "asked", "is_right"),
    [
        (False, 9.0, True),
        (True, 8.0, False),  # from the future
        (True, 10.5, True),  # done, not yet acknowledged
        (False, 13.9, True),  # 2.9 s after the acknowledgement
        (False, 14.1, False),  # older than the bound
        (True, 23.9, True),
        (True, 24.1, False),
        (False, 19.0, False),
        (False, 30.0, True),
    ],
)
def test_an_answer_needs_a_moment_that_explains_it(saw_it: bool, asked: float, is_right: bool) -> None:
    """Its state must have existed between the bound before the request and the reply."""
    assert explains(FLIPS, saw_it, asked, asked + 0.1, bound_s=3.0) is is_right


def test_a_change_under_way_explains_both() -> None:
    """An unacknowledged change may or may not have happened."""
    flips = [*FLIPS, Flip(is_there=True, sent=40.0, acknowledged=math.inf)]
    assert explains(flips, True, 90.0, 90.1, bound_s=3.0)
    assert explains(flips, False, 90.0, 90.1, bound_s=3.0)


def test_a_slow_answer_may_be_true_at_its_end() -> None:
    """Its request precedes the change, and its reply follows it."""
    assert explains(FLIPS, True, 8.0, 10.2, bound_s=3.0)


def test_what_was_before_the_first_change_is_not_judged() -> None:
    """The state before the first change is unknown."""
    assert explains([], True, 1.0, 1.1)
    assert explains(FLIPS, True, 2.0, 2.1, bound_s=3.0)
