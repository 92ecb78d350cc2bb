"""Polls are counted for the second in which they were due."""

import pytest

from nncache.bench.events.seconds import ASKED, FAILED, MEMORY, Counted, Course, Poll, by_second, rates

POLLS = (
    Poll(0.0, 0.001, MEMORY),
    Poll(0.9, 3.0, ASKED),
    Poll(1.0, 0.5, FAILED),
    Poll(1.5, 0.002, MEMORY),
    Poll(2.0, 0.1, MEMORY),
    Poll(-0.1, 0.1, MEMORY),
)


def test_each_poll_counts_once() -> None:
    """However long it took; one beyond the run does not."""
    first, second = by_second(POLLS, 2)
    assert first.polls == {MEMORY: 1, ASKED: 1, FAILED: 0}
    assert second.polls == {MEMORY: 1, ASKED: 0, FAILED: 1}
    assert (first.p99_s, second.p99_s) == (3.0, 0.002), "what failed is no answer"
    (quiet,) = by_second((), 1)
    assert (quiet.polls, quiet.p99_s) == ({MEMORY: 0, ASKED: 0, FAILED: 0}, 0.0)


def test_one_in_a_hundred_may_be_slower() -> None:
    """Of two hundred, two."""
    (second,) = by_second([Poll(0.0, float(number), MEMORY) for number in range(200)], 1)
    assert second.p99_s == 197.0


def test_all_are_summed_up() -> None:
    """For the title."""
    course = Course(pollers=1, period_s=0.5, date="", seconds=by_second(POLLS, 3), calls=())
    assert course.polls == 5
    assert [course.count(outcome) for outcome in (MEMORY, ASKED, FAILED)] == [3, 1, 1]


def test_calls_are_counted_between_two_looks() -> None:
    """By the time that passed; a name may be new."""
    found = rates(
        [
            Counted(10.0, {"getFileInfo": 100.0}),
            Counted(12.0, {"getFileInfo": 300.0, "probe": 4.0}),
            Counted(13.0, {"getFileInfo": 310.0, "probe": 4.0}),
        ]
    )
    assert found == (
        (12.0, {"getFileInfo": 100.0, "probe": 2.0}),
        (13.0, {"getFileInfo": 10.0, "probe": 0.0}),
    )


@pytest.mark.parametrize("looks", [0, 1])
def test_one_look_says_nothing(looks: int) -> None:
    """Nor does none."""
    assert rates([Counted(1.0, {"x": 1.0})] * looks) == ()


def test_a_server_that_began_again_has_answered_what_it_says() -> None:
    """Its count is less than before."""
    assert rates([Counted(0.0, {"x": 100.0}), Counted(2.0, {"x": 30.0})]) == ((2.0, {"x": 15.0}),)
