"""A rate, with bursts of at most the size of the bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.net.token_bucket import TokenBucket

MAX_COST_S = 0.5


@given(
    share=st.floats(0.01, 1.0),
    burst_s=st.floats(0.1, 3.0),
    costs=st.lists(st.tuples(st.floats(0, MAX_COST_S), st.floats(0, 1)), max_size=200),
)
def test_the_share_is_kept(share: float, burst_s: float, costs: list[tuple[float, float]]) -> None:
    """B1: over any period, the charges are at most burst + share * time + one charge."""
    now = began_at = 100.0
    budget = TokenBucket(share, burst_s, now)
    charged = 0.0
    for cost_s, idle_s in costs:
        now = max(now, budget.ready_at()) + cost_s
        budget.charge(cost_s, now)
        charged += cost_s
        assert charged <= burst_s + share * (now - began_at) + MAX_COST_S + 1e-6
        now += idle_s


@given(st.lists(st.floats(0, 10), max_size=20))
def test_quiet_time_saves_up_no_more_than_the_burst(idles: list[float]) -> None:
    """The bucket never holds more than its size, however long it was idle."""
    now = 0.0
    budget = TokenBucket(0.05, 2.0, now)
    for idle_s in idles:
        now += idle_s
        budget.charge(0.0, now)
        assert budget.left(now) <= 2.0
    assert budget.ready_at() <= now


def test_a_clock_that_does_not_advance_earns_nothing() -> None:
    """A reply time before the last one neither earns nor costs time."""
    budget = TokenBucket(0.05, 2.0, 100.0)
    budget.charge(1.0, 100.0)
    budget.charge(0.0, 90.0)
    assert budget.left(100.0) == pytest.approx(1.0)


def test_it_says_when_so_much_is_left() -> None:
    """If enough is left, `ready_at` is now."""
    bucket = TokenBucket(2.0, 4.0, 100.0)
    assert bucket.ready_at(4.0) == 100.0
    bucket.charge(4.0, 100.0)
    assert bucket.ready_at() == 100.0
    assert bucket.ready_at(1.0) == 100.5
