"""A directory is closed to all but its owner."""

from dataclasses import replace

import pytest

from nncache.demo.chapters.locking import stays_locked
from nncache.demo.sightings import Watched
from nncache.demo.stage import MAX_STALENESS_S
from tests.demo.told import Told

LAST = Watched(delays_s=(0.01,), blind=(), oldest_s=0.0, reads=600, failed=0)


@pytest.mark.parametrize(
    ("last", "came_true", "seen"),
    [
        (LAST, True, "600 reads in 3.3 s, none wrong"),
        (replace(LAST, oldest_s=0.012), True, "600 reads in 3.3 s, the last wrong one after 12 ms"),
        (
            replace(LAST, oldest_s=MAX_STALENESS_S + 0.1),
            False,
            "600 reads in 3.3 s, the last wrong one after 3.1 s",
        ),
        (replace(LAST, blind=("bob still gets 200",)), False, "bob still gets 200"),
        (replace(LAST, failed=1), False, "600 reads in 3.3 s, none wrong, 1 read failed"),
        (replace(LAST, reads=0), False, "0 reads in 3.3 s, none wrong"),
    ],
)
def test_no_old_answer_comes_back_after_the_bound(last: Watched, came_true: bool, seen: str) -> None:
    """Guarantees ProvenGrant and Bounded: bob's old 200 is gone for good, and alice keeps hers."""
    step = stays_locked(last)
    assert (step.came_true, step.seen) == (came_true, seen)


def test_bob_is_locked_out_and_alice_is_not(told: Told) -> None:
    """Within the bound, and it stays so."""
    assert told.came_true("bob gets 403, alice 200")
    assert told.came_true("The lock holds")


def test_it_needs_invalidation(told_by_the_deaf: Told) -> None:
    """Else bob goes on seeing what he may not see any more."""
    assert not told_by_the_deaf.came_true("bob gets 403, alice 200")
    assert not told_by_the_deaf.came_true("The lock holds")
