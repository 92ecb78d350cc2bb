"""A few of many are looked at, and stand for all of them."""

import pytest

from nncache.proxy.sampling import MAX_EVERY, Sampler


def _look(sampler: Sampler, times: int, apart_s: float, began_at: float = 1.0) -> tuple[int, int]:
    """Return how many of so many were looked at, and for how many they stand."""
    looked, stood_for, following = 0, 0, 1
    for number in range(1, times + 1):
        if number >= following:
            looked += 1
            stood_for += sampler.every
            following = sampler.next(number, began_at + number * apart_s)
    return looked, stood_for


def test_at_a_low_rate_all_are_looked_at() -> None:
    """Each stands for itself."""
    assert _look(Sampler(), 100, 0.1) == (100, 100)


def test_at_a_high_rate_about_a_hundred_a_second_are() -> None:
    """Together they stand for all."""
    looked, stood_for = _look(Sampler(), 200_000, 0.00002)
    assert 50 < looked < 1_000
    assert stood_for == pytest.approx(200_000, rel=0.25)


def test_the_sample_is_bounded_unless_all_is_asked_for() -> None:
    """However high the rate is."""
    sampler = Sampler()
    _look(sampler, 100_000, 0.0)
    assert sampler.every == MAX_EVERY
    assert _look(Sampler(max_every=1), 500, 0.0) == (500, 500)
