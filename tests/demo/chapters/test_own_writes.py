"""Writes through the proxy, each followed by a read at once."""

import pytest

from nncache.demo.chapters.own_writes import judge
from nncache.demo.sightings import MISSING, Sighting, View
from tests.demo.told import Told

THERE = View(200, 11)


def pair(expected: View, seen: View) -> tuple[View, Sighting]:
    """Return what should have been read after a write, and what was."""
    return expected, Sighting(view=seen, is_hit=False, started_at=0.0, ended_at=0.0)


GOOD = [pair(THERE, THERE), pair(MISSING, MISSING)] * 10


@pytest.mark.parametrize(
    ("pairs", "complaint", "came_true", "seen"),
    [
        (GOOD, "", True, "20 of 20 writes"),
        (
            [*GOOD[:-1], pair(MISSING, THERE)],
            "",
            False,
            "19 of 20 writes; another read got 200 with 11 bytes",
        ),
        (GOOD[:1], "then it stopped", False, "1 of 1 write; then it stopped"),
        (GOOD[:18], "", False, "18 of 18 writes"),
        ([], "", False, "0 of 0 writes"),
    ],
)
def test_every_write_is_seen_by_the_very_next_read(
    pairs: list[tuple[View, Sighting]], complaint: str, came_true: bool, seen: str
) -> None:
    """Guarantee OwnWrites; a write that was not made proves nothing."""
    step = judge(pairs, complaint)
    assert (step.came_true, step.seen) == (came_true, seen)


def test_it_comes_true(told: Told) -> None:
    """Ten creations, whose data never passes the proxy, and ten deletions."""
    assert told.came_true("The very next read sees it")
    assert "The very next read sees it: 20 of 20 writes" in told.out


def test_the_end_of_a_two_step_write_is_learnt_from_the_stream(told_by_the_deaf: Told) -> None:
    """Without invalidation the answers stay right, but do not come from memory any more."""
    assert not told_by_the_deaf.came_true("The very next read sees it")
    assert "1 of 1 write; then bob's" in told_by_the_deaf.out
