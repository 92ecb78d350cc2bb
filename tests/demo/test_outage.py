"""What is judged of an outage."""

import pytest

from nncache.demo.outage import Outage, reads, resumption
from nncache.demo.sightings import MISSING, Question, Record, Sighting, View

OUTAGE = Outage(directory="x", meanwhile="while it rains", afterwards="once it is dry", resume_s=5.0)


def seen(*sightings: tuple[float, View, bool]) -> tuple[Record, ...]:
    """Return one reader's record of these (start, view, whether it was a hit)."""
    return (
        Record(
            Question("bob", OUTAGE.calm),
            tuple(
                Sighting(view=view, is_hit=is_hit, started_at=at, ended_at=at)
                for at, view, is_hit in sightings
            ),
        ),
    )


def test_each_outage_has_files_of_its_own() -> None:
    """Which the filter matches; one is changed, one is not."""
    assert {question.path for question in OUTAGE.expected(MISSING)} == {OUTAGE.calm, OUTAGE.storm}
    assert OUTAGE.expected(MISSING)[Question("bob", OUTAGE.storm)] == MISSING
    assert OUTAGE.expected(MISSING)[Question("bob", OUTAGE.calm)] == View(200, 0)


@pytest.mark.parametrize(
    ("sightings", "came_true", "words"),
    [
        (((9.0, MISSING, True), (13.0, MISSING, True), (14.0, MISSING, False)), True, "last hit after 3.0 s"),
        (((9.0, MISSING, True), (13.1, MISSING, True)), False, "last hit after 3.1 s"),
        (((13.0, MISSING, False), (20.0, MISSING, True)), True, "2 reads, 0 failed, last hit after 0 ms"),
        (((11.0, MISSING, False), (20.0, View(503), False)), False, "2 reads, 1 failed"),
        (((11.0, View(503), False),), False, "1 read, 1 failed"),
        (((11.0, View(0), False), (12.0, MISSING, False)), False, "2 reads, 1 failed"),
        ((), False, "0 reads"),
    ],
)
def test_no_read_fails_and_no_hit_is_later_than_the_bound(
    sightings: tuple[tuple[float, View, bool], ...], came_true: bool, words: str
) -> None:
    """Guarantees FailToNameNode and Bounded: here it breaks at 10, and somebody begins to mend it at 20."""
    step = reads(OUTAGE, seen(*sightings), broken_at=10.0, mending_at=20.0)
    assert step.title == "Reads while it rains"
    assert step.came_true is came_true
    assert words in step.seen


@pytest.mark.parametrize(
    ("after_s", "came_true", "words"),
    [
        (0.5, True, "after 500 ms"),
        (5.0, True, "after 5.0 s"),
        (5.5, False, "after 5.5 s"),
        (None, False, "not"),
    ],
)
def test_hits_come_back_in_time(after_s: float | None, came_true: bool, words: str) -> None:
    """By themselves."""
    step = resumption(OUTAGE, after_s)
    assert step.title == "Hits once it is dry"
    assert step.came_true is came_true
    assert step.seen.startswith(words)
