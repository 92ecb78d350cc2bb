"""An answer is wrong only if the proxy still holds it after proving that it has applied all changes."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from nncache.auditing.audit_judge import COVERED_WITHIN_S, AuditOutcome
from nncache.commands.audit_questions import (
    IDLE_S,
    WRONG_SHOWN,
    AuditQuestions,
    AuditReport,
    StatusReply,
    paced,
)
from nncache.errors import AdminError

BOUND_S = 3.0
OLD, NEW = b'{"FileStatus":{"length":1}}', b'{"FileStatus":{"length":2}}'


class FakeSides:
    """A proxy with one entry, and its NameNodes. A script changes their state with each pause."""

    def __init__(self) -> None:
        self.now = 100.0
        self.replied_at: float | None = 50.0  # of the entry; None without one
        self.seen_as_of: float | None = 99.0
        self.active: str | None = "nn1:9870"
        self.says: StatusReply | None = StatusReply(200, NEW)
        self.kept: StatusReply | None = StatusReply(200, OLD, is_hit=True)
        self.asked: list[str] = []
        self.steps: list[Mapping[str, Any]] = []  # attributes to change at each pause
        self.after_namenode: Mapping[str, Any] = {}

    def explain(self, path: str) -> Mapping[str, Any]:
        """Return the explanation of the entry."""
        if self.now > 1000:
            raise AdminError("no proxy answers")
        self.now += 0.01
        entry = None if self.replied_at is None else {"replied_at": self.replied_at}
        namenodes = [{"http": "nn0:9870", "state": "standby"}]
        if self.active is not None:
            namenodes.append({"http": self.active, "state": "active"})
        return {"now": self.now, "entry": entry, "seen_as_of": self.seen_as_of, "namenodes": namenodes}

    def through_proxy(self, path: str) -> StatusReply | None:
        """Return the proxy's answer from memory."""
        return self.kept

    def at_namenode(self, http: str, path: str) -> StatusReply | None:
        """Return the NameNode's current answer."""
        self.asked.append(f"{http} {path}")
        self._become(self.after_namenode)
        return self.says

    def pause(self, seconds: float) -> None:
        """Advance the clock and apply the next step of the script."""
        self.now += seconds
        if self.steps:
            self._become(self.steps.pop(0))

    def _become(self, what: Mapping[str, Any]) -> None:
        for name, value in what.items():
            setattr(self, name, value)


def asked(sides: FakeSides) -> AuditReport:
    """Ask about one path once; return the report."""
    questions = AuditQuestions(sides, max_staleness_s=BOUND_S, pause=sides.pause)
    questions.ask("/w/f")
    return questions.report


def outcome(sides: FakeSides) -> AuditOutcome | None:
    """Ask once; return the outcome, or None if there was nothing to compare."""
    report = asked(sides)
    assert report.outcomes.total() + report.not_from_memory == 1
    return next(iter(report.outcomes), None)


def test_the_same_answer_is_right() -> None:
    """The active NameNode is asked exactly once."""
    sides = FakeSides()
    sides.says = StatusReply(200, OLD)
    assert outcome(sides) is AuditOutcome.SAME
    assert sides.asked == ["nn1:9870 /w/f"]


def test_a_change_that_the_cache_learns_of_is_no_fault() -> None:
    """The entry is gone or was replaced. The content of a new entry does not matter."""
    for becomes in ({"replied_at": None}, {"replied_at": 101.0}):
        sides = FakeSides()
        sides.steps = [{}, {}, becomes]
        assert outcome(sides) is AuditOutcome.CHANGED


def test_one_that_it_knows_of_before_it_is_asked_is_none_either() -> None:
    """The entry was invalidated between the proxy's answer and the NameNode's."""
    sides = FakeSides()
    sides.after_namenode = {"replied_at": None}
    assert outcome(sides) is AuditOutcome.CHANGED


def test_an_entry_that_outlives_the_proof_is_wrong() -> None:
    """The report names its path."""
    sides = FakeSides()
    sides.steps = [{"seen_as_of": 100.0}, {"seen_as_of": 100.5}]
    report = asked(sides)
    assert report.outcomes == {AuditOutcome.BEYOND: 1}
    assert (list(report.wrong), report.exit_code) == (["/w/f"], 1)


def test_proof_of_an_earlier_moment_proves_nothing() -> None:
    """By the proxy's clock, the proof must be later than the NameNode's answer."""
    sides = FakeSides()
    sides.after_namenode = {"seen_as_of": 100.015}  # between the two explanations
    sides.steps = [{}, {"replied_at": None}]
    assert outcome(sides) is AuditOutcome.CHANGED


@pytest.mark.parametrize("seen_as_of", [None, 99.0])
def test_without_proof_nothing_is_concluded(seen_as_of: float | None) -> None:
    """The gate closes. The audit waits for the bound and some seconds."""
    sides = FakeSides()
    sides.seen_as_of = seen_as_of
    report = asked(sides)
    assert report.outcomes == {AuditOutcome.UNPROVEN: 1}
    assert sides.now - 100 == pytest.approx(BOUND_S + COVERED_WITHIN_S, abs=0.3)
    assert report.exit_code == 2


@pytest.mark.parametrize(
    ("becomes", "expected"),
    [
        ({"kept": None}, AuditOutcome.UNANSWERED),
        ({"says": None}, AuditOutcome.UNANSWERED),
        ({"active": None}, AuditOutcome.UNANSWERED),
        ({"now": 2000.0}, AuditOutcome.UNANSWERED),
        ({"says": StatusReply(403, b"{}")}, AuditOutcome.REFUSED),
        ({"after_namenode": {"active": "nn0:9870"}}, AuditOutcome.REFUSED),
        ({"kept": StatusReply(200, OLD)}, None),
        ({"replied_at": None}, None),
    ],
)
def test_what_proves_nothing_is_counted_apart(
    becomes: Mapping[str, Any], expected: AuditOutcome | None
) -> None:
    """None stands for an answer that did not come from memory."""
    sides = FakeSides()
    for name, value in becomes.items():
        setattr(sides, name, value)
    assert outcome(sides) is expected


def test_what_exit_codes_mean() -> None:
    """The exit codes follow diff(1)."""
    report = AuditReport()
    assert report.exit_code == 2, "nothing was compared"
    report.outcomes[AuditOutcome.REFUSED] += 1
    assert report.exit_code == 2
    report.outcomes[AuditOutcome.CHANGED] += 1
    assert (report.exit_code, report.compared) == (0, 1)
    report.outcomes[AuditOutcome.UNPROVEN] += 1
    assert report.exit_code == 2
    report.outcomes[AuditOutcome.BEYOND] += 1
    assert report.exit_code == 1


def test_few_wrong_paths_are_named() -> None:
    """The list is limited; the count is not."""
    sides = FakeSides()
    questions = AuditQuestions(sides, max_staleness_s=BOUND_S, pause=sides.pause)
    for number in range(WRONG_SHOWN + 5):
        sides.steps = [{"seen_as_of": sides.now + 1}]
        questions.ask(f"/w/{number}")
    assert questions.report.outcomes == {AuditOutcome.BEYOND: WRONG_SHOWN + 5}
    assert list(questions.report.wrong) == [f"/w/{number}" for number in range(WRONG_SHOWN)]


class Time:
    """A clock that only pauses advance."""

    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        """Return the current time."""
        return self.now

    def pause(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds


@pytest.mark.parametrize(("per_s", "number"), [(4.0, 8), (1.0, 2), (0.1, 1)])
def test_questions_come_at_a_rate(per_s: float, number: int) -> None:
    """Paths repeat until the two seconds are over. The first one comes immediately."""
    time = Time()
    found = list(paced(lambda: ["/a", "/b"], per_s=per_s, for_s=2.0, clock=time, pause=time.pause))
    assert found == ["/a", "/b"] * (number // 2) + ["/a"] * (number % 2)
    assert time.now <= 12.0


def test_a_question_that_took_long_is_not_made_up_for() -> None:
    """The rate is an upper limit: delayed questions are not sent in a burst."""
    time, at = Time(), list[float]()
    for _ in paced(lambda: ["/a"], per_s=5.0, for_s=2.0, clock=time, pause=time.pause):
        at.append(time.now)
        if len(at) == 1:
            time.now += 1.0
    assert at[1] - at[0] == pytest.approx(1.0)
    assert all(later - earlier >= 0.199 for earlier, later in pairwise(at))


def test_an_empty_cache_is_asked_again() -> None:
    """The cache may hold entries later."""
    time, chosen = Time(), [[], ["/a"], []]
    found = [
        (path, time.now - 10)
        for path in paced(
            lambda: chosen.pop(0) if chosen else [], per_s=5.0, for_s=4.0, clock=time, pause=time.pause
        )
    ]
    assert found == [("/a", IDLE_S)]
