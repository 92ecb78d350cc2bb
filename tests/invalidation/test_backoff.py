"""Backoff: the first retry is immediate, later ones are delayed."""

from hypothesis import given
from hypothesis import strategies as st

from nncache.invalidation.backoff import Backoff


def test_the_first_failure_is_followed_by_a_try_at_once() -> None:
    """The retry after a single lost connection does not wait."""
    backoff = Backoff()
    assert backoff.failed(1.0) == 0.0
    assert backoff.failures == 1


def test_success_begins_anew() -> None:
    """After a success the next failure counts as the first."""
    backoff = Backoff()
    for _ in range(5):
        backoff.failed(1.0)
    backoff.succeeded()
    assert backoff.failures == 0
    assert backoff.failed(1.0) == 0.0


@given(st.lists(st.floats(0, 1), min_size=2, max_size=80))
def test_it_is_bounded_and_grows(chances: list[float]) -> None:
    """The n-th wait lies between half and all of first * 2^(n-2), and never exceeds the limit."""
    backoff = Backoff(0.05, 1.0)
    waits = [backoff.failed(chance) for chance in chances]
    for number, wait_s in enumerate(waits[1:]):
        full = min(1.0, 0.05 * 2**number)
        assert full / 2 <= wait_s <= full
