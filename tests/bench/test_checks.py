"""Checks of a run's figures against their limits."""

from dataclasses import replace

import pytest

from nncache.bench.checks import also_checks, checks
from nncache.bench.shared.figures import AtPeriod, ModeFigures
from nncache.bench.shared.workload import Callers
from nncache.bench.shared.workload_files import load
from tests.bench.example_figures import direct, nncache, unpolled

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
    """Return the names of the checks that are not met."""
    return [check.what for check in checks((figures,), replace(DESIGN, callers=callers)) if not check.is_met]


def test_a_good_run_meets_all_demands() -> None:
    """There is at least one check."""
    assert shortfalls(GOOD) == []
    assert len(checks((GOOD,), DESIGN)) == 9


@pytest.mark.parametrize(
    ("worse", "says"),
    [
        ({"failed": 1}, "polls that fail"),
        ({"wrong_count": 1}, "wrong answers"),
        ({"late_starts_s": replace(GOOD.late_starts_s, p99=0.051)}, "polls sent late by the generator"),
        ({"sent": GOOD.due - 1}, "polls not sent"),
        ({"calls": {"getFileInfo": 781}}, "calls for each changed path, getFileInfo"),
        ({"calls": {"getFileInfo": 779, "isFileClosed": 782}}, "calls for each changed path, in all"),
        ({"lateness_s": replace(GOOD.lateness_s, p99=5.11)}, "a change is seen after"),
        ({"audited": GOOD.audited | {"beyond": 1}}, "differences beyond the bound that its auditor found"),
        (
            {"audited": {"same": 0, "beyond": 0, "refused": 7}},
            "answers that its auditor compared",
        ),
    ],
)
def test_each_figure_can_fall_short(worse: dict[str, object], says: str) -> None:
    """Each worse figure alone fails its check."""
    (name,) = shortfalls(replace(GOOD, **worse))  # type: ignore[arg-type] # any field
    assert says in name


ON_JOURNALNODES = replace(
    GOOD,
    cpu_s=GOOD.cpu_s | {"journalnode-1": 1.1, "journalnode-2": 0.6, "journalnode-3": 0.6},
    upkeep={"probe (JMX)": 0},
    calls={"getFileInfo": 600, "isFileClosed": 500},
)


@pytest.mark.parametrize(
    ("worse", "says"),
    [
        ({}, []),
        ({"upkeep": {"probe (JMX)": 101}}, ["nncache: calls of all kinds for each change"]),
        ({"upkeep": {"probe (JMX)": 101}, "changes": 500}, []),
        ({"cpu_s": ON_JOURNALNODES.cpu_s | {"journalnode-1": 1.3}}, ["nncache: cores of journalnode-1"]),
    ],
    ids=["good", "too many probes", "few changes", "a JournalNode is busy"],
)
def test_with_journalnodes_upkeep_and_their_cpu_count(worse: dict[str, object], says: list[str]) -> None:
    """Calls that do not depend on changes are checked in the design workload only."""
    assert shortfalls(replace(ON_JOURNALNODES, **worse)) == says  # type: ignore[arg-type] # any field


@pytest.mark.parametrize(("cpu_s", "is_met"), [(5.2, True), (5.3, False)])
def test_the_cpu_for_polls_is_what_is_beyond_that_without(*, cpu_s: float, is_met: bool) -> None:
    """Of 48 s in direct mode, 3 s are for changes; 2.25 of the other 45 may remain. Without polls there is no check."""
    modes = direct(), replace(ON_JOURNALNODES, cpu_s=ON_JOURNALNODES.cpu_s | {"namenode": cpu_s}), unpolled()
    (check,) = (each for each in checks(modes, DESIGN) if "CPU for polls" in each.what)
    assert check.is_met is is_met
    assert not any(each.what.startswith("unpolled") for each in checks(modes, DESIGN))


def test_further_periods_may_be_too_much_but_not_wrong() -> None:
    """The generator need not keep their schedule: that is a result."""
    late = AtPeriod(period_s=1.0, modes=(replace(direct(), failed=3), replace(GOOD, kept_schedule=False)))
    assert [check.is_met for check in also_checks((late,))] == [True] * 4
    worse = replace(GOOD, failed=1, wrong_count=1, audited={"beyond": 1})
    found = also_checks((AtPeriod(period_s=30.0, modes=(worse,)),))
    assert [(check.what, check.is_met) for check in found] == [
        ("nncache, poll period 30 s: polls that fail", False),
        ("nncache, poll period 30 s: wrong answers", False),
        ("nncache, poll period 30 s: differences beyond the bound that its auditor found", False),
        ("nncache, poll period 30 s: answers that its auditor compared", True),
    ]
