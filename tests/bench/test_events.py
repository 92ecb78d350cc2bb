"""A run of `bench-events`, second by second."""

import pytest

from nncache.bench.events import ASKED, FAILED, MEMORY, by_second, outcome_of, rates


def poll(due_s: float, took_s: float, status: int = 200, served: str = "hit") -> dict[str, object]:
    """Return a row of `polls`."""
    return {"due_s": due_s, "replied_s": due_s + took_s, "status": status, "served": served}


POLLS = (
    poll(0.0, 0.001),
    poll(0.9, 3.0, served="miss"),
    poll(1.0, 0.5, status=0, served=""),
    poll(1.5, 0.002, status=404),
    poll(2.0, 0.1),
    poll(-0.1, 0.1),
)


def test_each_poll_counts_once_for_its_second() -> None:
    """However long it took; one beyond the run does not, and what failed has no time."""
    counts, p99_s = by_second(POLLS, 2)
    assert counts == ({MEMORY: 1, ASKED: 1, FAILED: 0}, {MEMORY: 1, ASKED: 0, FAILED: 1})
    assert p99_s == pytest.approx((3.0, 0.002))
    assert by_second((), 1) == (({MEMORY: 0, ASKED: 0, FAILED: 0},), (0.0,))
    assert by_second([poll(0.0, float(number)) for number in range(200)], 1)[1] == (197.0,)


@pytest.mark.parametrize(
    ("status", "served", "outcome"),
    [(200, "hit", MEMORY), (404, "miss", ASKED), (503, "hit", FAILED), (403, "hit", FAILED), (0, "", FAILED)],
)
def test_a_reply_has_one_outcome(status: int, served: str, outcome: str) -> None:
    """Answers are statuses and what is missing."""
    assert outcome_of(status, served) == outcome


def test_calls_are_counted_between_two_looks() -> None:
    """By the time that passed; a name may be new, and a server that began again has answered what it says."""
    looks = [
        (10.0, {"getFileInfo": 100.0}),
        (12.0, {"getFileInfo": 300.0, "probe": 4.0}),
        (13.0, {"getFileInfo": 30.0, "probe": 4.0}),
    ]
    assert rates(looks) == (
        (12.0, {"getFileInfo": 100.0, "probe": 2.0}),
        (13.0, {"getFileInfo": 30.0, "probe": 0.0}),
    )
    assert rates(looks[:1]) == rates([]) == ()
