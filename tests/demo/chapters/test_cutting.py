"""The stream of edits is cut, and comes back."""

import pytest

from demo.chapters.cutting import outage, resumption
from demo.sightings import MISSING, Question, Record, Sighting, View
from demo.stage import MAX_STALENESS_S
from tests.demo.told import Told

CUT_AT = 100.0


def records(*seen: tuple[float, View, bool]) -> tuple[Record, ...]:
    """Return one reader's record: seconds after the cut, what was shown, whether from memory."""
    sightings = (
        Sighting(view=view, is_hit=is_hit, started_at=CUT_AT + after, ended_at=CUT_AT + after + 0.001)
        for after, view, is_hit in seen
    )
    return (Record(Question("bob", "/w/f"), tuple(sightings)),)


@pytest.mark.parametrize(
    ("seen", "came_true", "text"),
    [
        (
            records((1.0, MISSING, True), (2.0, MISSING, False)),
            True,
            "2 reads, 0 failed, last hit after 1.0 s",
        ),
        (records((1.0, MISSING, False)), True, "1 read, 0 failed, last hit after 0 ms"),
        (
            records((MAX_STALENESS_S + 0.5, MISSING, True)),
            False,
            "1 read, 0 failed, last hit after 3.5 s",
        ),
        (records((1.0, View(503), False)), False, "1 read, 1 failed, last hit after 0 ms"),
        (records((1.0, View(0), False)), False, "1 read, 1 failed, last hit after 0 ms"),
        (records(), False, "0 reads, 0 failed, last hit after 0 ms"),
    ],
)
def test_no_read_fails_and_none_is_too_old(seen: tuple[Record, ...], came_true: bool, text: str) -> None:
    """Guarantees FailToNameNode and Bounded."""
    step = outage(seen, CUT_AT)
    assert (step.came_true, step.seen) == (came_true, text)


def test_hits_must_resume() -> None:
    """In the time given, by themselves."""
    assert resumption(0.25).came_true
    assert resumption(0.25).seen == "after 250 ms"
    assert not resumption(None).came_true
    assert resumption(None).seen == "not within 10 s"


def test_it_comes_true(told: Told) -> None:
    """During the cut and after it."""
    for title in (
        "Reads while it is cut",
        "A change right after the cut",
        "A change later on",
        "Hits resume by themselves",
        "A change after that",
    ):
        assert told.came_true(title)


def test_the_gate_needs_no_invalidation(told_by_the_deaf: Told) -> None:
    """A change during the cut is seen by the gate's closing alone; one after it is not."""
    assert told_by_the_deaf.came_true("A change right after the cut")
    assert not told_by_the_deaf.came_true("A change after that")
