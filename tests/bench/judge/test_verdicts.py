"""What each reply is worth, case by case. Each case has a path of its own, so that Spark judges all at once."""

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from nncache.bench.judge.verdicts import states, verdicts
from tests.bench.recorded import Row, change, initial, poll, record

pytestmark = pytest.mark.timeout(300)  # Spark compiles each of its queries

BOUND_S = 2.0

OLD, NEW, NEWER, UNKNOWN = 11, 22, 33, 99
FILE = 4711


@dataclass(frozen=True)
class Case:
    """One reply of a path with this history, and what the judge must say."""

    name: str
    history: tuple[Row, ...]
    reply: Row
    verdict: str | None
    age_s: float | None = None


def touched(*, acked_s: float = 10.02, digest: int = NEW) -> Row:
    """Return a change that was sent 20 ms before its acknowledgement."""
    return change(acked_s - 0.02, acked_s, digest=digest)


CHANGED = (initial(digest=OLD), touched())
CAME_AND_WENT = (
    initial(status=404, digest=OLD),
    change(10.0, 10.02, change_id=1, kind="rename", digest=NEW),
    change(20.0, 20.02, change_id=2, kind="delete", status=404, digest=OLD),
)
CREATED = (
    initial(status=404, digest=OLD),
    change(10.0, 10.5, kind="create", digest=NEW, file_id=FILE),
)
RENAMED = (
    initial(status=404, digest=OLD),
    change(10.0, 10.5, kind="rename", digest=NEW, file_id=FILE),
)
FORBIDDEN = (
    initial(digest=OLD),
    change(10.0, 10.02, change_id=1, kind="forbid", status=403),
    change(20.0, 20.02, change_id=2, kind="allow", digest=OLD),
)
OVERLAPPING = (  # given in the order in which they were sent; the second was acknowledged first
    initial(digest=OLD),
    change(10.0, 11.0, change_id=1, digest=NEWER),
    change(10.2, 10.8, change_id=2, digest=NEW),
)

CASES = (
    Case("what was there before the first change", CHANGED, poll(1.0, 1.1, digest=OLD), "fresh"),
    Case("the new state", CHANGED, poll(11.0, 11.1, digest=NEW), "fresh"),
    Case("the old state while the change is on its way", CHANGED, poll(10.01, 10.02, digest=OLD), "fresh"),
    Case("the new state while the change is on its way", CHANGED, poll(9.9, 10.0, digest=NEW), "fresh"),
    Case("the old state, asked for before the change", CHANGED, poll(10.0, 13.0, digest=OLD), "fresh"),
    Case("the old state, within a millisecond", CHANGED, poll(10.0205, 10.1, digest=OLD), "fresh"),
    Case("the old state, just after", CHANGED, poll(10.022, 10.1, digest=OLD), "stale", 0.002),
    Case("the old state, within the bound", CHANGED, poll(12.0, 12.1, digest=OLD), "stale", 1.98),
    Case("the old state, just beyond the bound", CHANGED, poll(12.022, 12.1, digest=OLD), "wrong", 2.002),
    Case("the old state, long after", CHANGED, poll(50.02, 50.1, digest=OLD), "wrong", 40.0),
    Case("the new state before it was asked for", CHANGED, poll(9.0, 9.9, digest=NEW), "wrong"),
    Case("what never was", CHANGED, poll(11.0, 11.1, digest=UNKNOWN), "wrong"),
    Case("the right digest of another status", CHANGED, poll(11.0, 11.1, status=404, digest=NEW), "wrong"),
    Case(
        "the old state, where the clock may be off by that",
        CHANGED,
        poll(10.5, 10.6, digest=OLD, clock_error_s=0.5),
        "fresh",
    ),
    Case(
        "the old state, where the clock is not that far off",
        CHANGED,
        poll(12.5, 12.6, digest=OLD, clock_error_s=0.25),
        "wrong",
        2.48,
    ),
    Case(
        "the old state, allowed if the clock is off",
        CHANGED,
        poll(12.25, 12.3, digest=OLD, clock_error_s=0.25),
        "stale",
        2.23,
    ),
    Case(
        "the new state too early, where the clock may be off by that",
        CHANGED,
        poll(9.0, 9.6, digest=NEW, clock_error_s=0.5),
        "fresh",
    ),
    Case("missing, first", CAME_AND_WENT, poll(5.0, 5.1, status=404, digest=OLD), "fresh"),
    Case(
        "missing, while it is there", CAME_AND_WENT, poll(15.02, 15.1, status=404, digest=OLD), "wrong", 5.0
    ),
    Case("missing again", CAME_AND_WENT, poll(25.0, 25.1, status=404, digest=OLD), "fresh"),
    Case("there, when it is missing again", CAME_AND_WENT, poll(21.02, 21.1, digest=NEW), "stale", 1.0),
    Case("open, on its way", CREATED, poll(10.2, 10.3, digest=UNKNOWN, file_id=FILE), "fresh"),
    Case("open, from before", CREATED, poll(9.0, 10.0, digest=UNKNOWN, file_id=FILE), "fresh"),
    Case("open, too early", CREATED, poll(9.0, 9.9, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case(
        "open, within the bound after", CREATED, poll(12.0, 12.1, digest=UNKNOWN, file_id=FILE), "stale", 1.5
    ),
    Case("open, beyond the bound", CREATED, poll(12.6, 12.7, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case("open, but another file", CREATED, poll(10.2, 10.3, digest=UNKNOWN, file_id=FILE + 1), "wrong"),
    Case("open, without a file", CREATED, poll(10.2, 10.3, digest=UNKNOWN), "wrong"),
    Case("open, but missing", CREATED, poll(10.2, 10.3, status=404, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case("open, but it came by rename", RENAMED, poll(10.2, 10.3, digest=UNKNOWN, file_id=FILE), "wrong"),
    Case("closed, on its way", CREATED, poll(10.2, 10.3, digest=NEW, file_id=FILE), "fresh"),
    Case("denied", FORBIDDEN, poll(15.0, 15.1, status=403), "fresh"),
    Case("denied, whatever it says", FORBIDDEN, poll(15.0, 15.1, status=403, digest=UNKNOWN), "fresh"),
    Case("denied, long after", FORBIDDEN, poll(30.02, 30.1, status=403), "wrong", 10.0),
    Case("denied, before", FORBIDDEN, poll(5.0, 5.1, status=403), "wrong"),
    Case("allowed, while it is denied", FORBIDDEN, poll(15.02, 15.1, digest=OLD), "wrong", 5.0),
    Case("allowed again", FORBIDDEN, poll(25.0, 25.1, digest=OLD), "fresh"),
    Case("what overlapping changes leave", OVERLAPPING, poll(50.0, 50.1, digest=NEWER), "fresh"),
    Case("between overlapping changes", OVERLAPPING, poll(10.5, 10.6, digest=NEW), "fresh"),
    Case("the first of both, too late", OVERLAPPING, poll(14.0, 14.1, digest=NEW), "wrong", 3.0),
    Case("before overlapping changes, too late", OVERLAPPING, poll(13.8, 13.9, digest=OLD), "wrong", 3.0),
    Case("no reply", CHANGED, poll(11.0, 11.1, status=0), None),
    Case("the server's own error", CHANGED, poll(11.0, 11.1, status=503, digest=UNKNOWN), None),
    Case("another refusal", CHANGED, poll(11.0, 11.1, status=401, digest=UNKNOWN), "wrong"),
    Case("a path without a history", (), poll(11.0, 11.1, digest=OLD), "wrong"),
)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    """Judge all cases; by number."""
    directory = record(
        tmp_path_factory.mktemp("cases"),
        polls=[case.reply | {"path_id": number} for number, case in enumerate(CASES)],
        changes=[row | {"path_id": number} for number, case in enumerate(CASES) for row in case.history],
    )
    rows = verdicts(spark, directory, states(spark, directory), duration_s=60.0, bound_s=BOUND_S).collect()
    assert len(rows) == len(CASES)
    return {row.path_id: row for row in rows}


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_a_reply_is_worth_what_the_states_of_its_path_allow(judged: dict[int, Any], number: int) -> None:
    """The verdict, and for how long it had not been true."""
    case = CASES[number]
    assert judged[number].verdict == case.verdict
    assert judged[number].age_s == (None if case.age_s is None else pytest.approx(case.age_s))
