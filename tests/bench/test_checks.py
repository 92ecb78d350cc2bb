"""A run that falls short says so."""

from dataclasses import replace

import pytest

from nncache.bench.checks import also_checks, checks, compared
from nncache.bench.figures import AtPeriod, ModeFigures
from nncache.bench.workload import Callers
from nncache.bench.workload_files import load
from tests.bench.example_figures import direct, nginx, nncache

DESIGN = load("design")
GOOD = replace(
    nncache(),
    failed=0,
    wrong_count=0,
    wrong=(),
    changed_paths=600,
    calls={"getFileInfo": 700, "isFileClosed": 500},
)


def shortfalls(figures: ModeFigures, callers: Callers = Callers.PER_GLOB) -> list[str]:
    """Return the names of what is not met."""
    return [check.name for check in checks((figures,), replace(DESIGN, callers=callers)) if not check.is_met]


def test_a_good_run_meets_all_demands() -> None:
    """And there are demands."""
    assert shortfalls(GOOD) == []
    assert len(checks((GOOD,), DESIGN)) == 7


def test_only_what_the_namenode_answered_was_compared() -> None:
    """Without an auditor nothing is demanded of one."""
    assert compared(replace(GOOD, audited={"same": 3, "changed": 2, "unanswered": 9, "unproven": 9})) == 5
    assert len(checks((replace(GOOD, audited={}),), DESIGN)) == 6


@pytest.mark.parametrize(
    ("worse", "says"),
    [
        ({"failed": 1}, "no poll fails"),
        ({"wrong_count": 1}, "no wrong answer"),
        ({"kept_schedule": False}, "the generator keeps its schedule"),
        ({"calls": {"getFileInfo": 781}}, "getFileInfo calls for each changed path"),
        ({"calls": {"getFileInfo": 779, "isFileClosed": 782}}, "calls in all"),
        ({"lateness_s": replace(GOOD.lateness_s, p99=5.11)}, "within one poll period and 100 ms"),
        ({"audited": GOOD.audited | {"beyond": 1}}, "its auditor finds no difference beyond the bound"),
        (
            {"audited": {"same": 0, "beyond": 0, "refused": 7}},
            "its auditor finds no difference beyond the bound",
        ),
    ],
)
def test_each_figure_can_fall_short(worse: dict[str, object], says: str) -> None:
    """Alone."""
    (name,) = shortfalls(replace(GOOD, **worse))  # type: ignore[arg-type] # whatever the case says
    assert says in name


def test_proofs_of_rights_are_a_term_of_their_own() -> None:
    """With a caller for each poller, calls are not held against the limit that is for one caller a glob."""
    assert shortfalls(replace(GOOD, calls={"getFileInfo": 2000}), Callers.PER_POLLER) == []


def test_what_peers_do_wrong_is_a_result_and_no_failure() -> None:
    """But the generator must have kept its schedule for them, too."""
    assert shortfalls(replace(nginx(), wrong_count=7, kept_schedule=True)) == []
    assert shortfalls(replace(direct(), kept_schedule=False)) == ["direct: the generator keeps its schedule"]


def test_further_periods_must_not_fail_or_be_wrong_but_may_be_too_much() -> None:
    """Whether the generator keeps their schedule is a result."""
    late = AtPeriod(period_s=1.0, modes=(replace(direct(), failed=3), replace(GOOD, kept_schedule=False)))
    assert [check.is_met for check in also_checks((late,))] == [True, True, True]
    worse = replace(GOOD, failed=1, wrong_count=1, audited={"beyond": 1})
    found = also_checks((AtPeriod(period_s=30.0, modes=(worse,)),))
    assert [(check.name, check.is_met) for check in found] == [
        ("nncache, poll period 30 s: no poll fails", False),
        ("nncache, poll period 30 s: no wrong answer", False),
        ("nncache, poll period 30 s: its auditor finds no difference beyond the bound", False),
    ]
