"""The space-saving counters against an exact count, with and without decay."""

from collections import defaultdict
from math import exp2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.tenants.space_saving import Frequent, SpaceSaving

HALF_LIFE_S = 60.0
SLACK = 1e-6
"""The relative tolerance: both sides add floats."""

adds = st.lists(
    st.tuples(
        st.sampled_from("abcdef"),
        st.sampled_from([1, 1, 1, 64]),
        st.sampled_from([0.0, 0.0, 0.5, 30.0, 61.0, 5_000.0]),
    ),
    min_size=10,
    max_size=60,
)


@given(adds=adds, capacity=st.integers(1, 4), pause_s=st.sampled_from([0.0, 10.0, 600.0]))
def test_the_true_weight_is_within_the_reported_error(
    adds: list[tuple[str, int, float]], capacity: int, pause_s: float
) -> None:
    """S2, S3: never too low, too high by at most `error`, which is at most total / capacity; also with decay."""
    counted = SpaceSaving(capacity, half_life_s=HALF_LIFE_S, now=1_000.0)
    exact: dict[str, float] = defaultdict(float)
    now = 1_000.0
    for name, weight, after_s in adds:
        now += after_s
        for each in exact:
            exact[each] *= exp2(-after_s / HALF_LIFE_S)
        exact[name] += weight
        counted.add(name, weight, now)
        counted.check()
    now += pause_s
    exact = {name: weight * exp2(-pause_s / HALF_LIFE_S) for name, weight in exact.items()}
    total = sum(exact.values())
    assert counted.total(now) == pytest.approx(total, rel=SLACK)
    top = counted.top(capacity, now)
    for entry in top:
        true = exact[entry.name]
        assert entry.weight >= true * (1 - SLACK)
        assert entry.weight - entry.error <= true * (1 + SLACK) + SLACK * total
        assert entry.error <= total / capacity * (1 + SLACK)
    missing = exact.keys() - {entry.name for entry in top}
    assert all(exact[name] <= total / capacity * (1 + SLACK) for name in missing)
    assert [entry.weight for entry in top] == sorted((entry.weight for entry in top), reverse=True)


def test_what_was_frequent_gives_way_to_what_is() -> None:
    """The counters show current traffic: after ten half-lives, one request weighs as much as a thousand did."""
    counted = SpaceSaving(4, half_life_s=HALF_LIFE_S, now=0.0)
    counted.add("then", 1_000, 0.0)
    counted.add("now", 1, 10 * HALF_LIFE_S)
    assert [each.name for each in counted.top(2, 10 * HALF_LIFE_S)] == ["now", "then"]


def test_the_least_of_those_that_grew_gives_way() -> None:
    """The smallest current weight is replaced, not the smallest at its arrival."""
    counted = SpaceSaving(2, half_life_s=HALF_LIFE_S, now=0.0)
    for name in ("grew", "grew", "grew", "small", "new"):
        counted.add(name, 1, 0.0)
    assert counted.top(2, 0.0) == (Frequent("grew", 3.0, 0.0), Frequent("new", 2.0, 1.0))


def test_errors_decay_like_weights() -> None:
    """This holds after the counters have been rescaled to a later reference time."""
    counted = SpaceSaving(1, half_life_s=1.0, now=0.0)
    counted.add("old", 2.0**80, 0.0)
    counted.add("new", 1, 0.0)
    counted.add("new", 1, 80.0)
    counted.check()
    (new,) = counted.top(1, 80.0)
    assert new.weight == pytest.approx(2.0)
    assert new.error == pytest.approx(1.0)
    assert counted.total(81.0) == pytest.approx(1.0)


def test_only_as_many_as_asked_for() -> None:
    """They are the largest ones."""
    counted = SpaceSaving(4, half_life_s=HALF_LIFE_S, now=0.0)
    for weight, name in enumerate("abc", 1):
        counted.add(name, weight, 0.0)
    assert [(each.name, each.weight, each.error) for each in counted.top(2, 0.0)] == [
        ("c", 3.0, 0.0),
        ("b", 2.0, 0.0),
    ]
