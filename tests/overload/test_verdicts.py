"""Each requirement fails if and only if its figure is bad: the figures are made up."""

from dataclasses import replace
from typing import Any

import pytest

from tests.overload.attack import Expected, Forwards
from tests.overload.attacks.table import ATTACKS, BY_NAME
from tests.overload.figures import Figures, RequestCost, Results
from tests.overload.report import all_shortfalls, markdown
from tests.overload.samples import Kind, SampleCounts
from tests.overload.verdicts import cost_shortfalls, shortfalls
from tests.real.proc import MIB

QUIET = SampleCounts(
    sent=100, hits=1.0, right=1.0, refused=0.0, failed=0.0, wrong=0, p50_s=0.001, p99_s=0.01, max_s=0.1
)
GOOD = Figures(
    attack="deep",
    done="",
    quiet=dict.fromkeys((kind.value for kind in Kind), QUIET),
    during=dict.fromkeys((kind.value for kind in Kind), QUIET),
    wrong=0,
    idle_bytes=50 * MIB,
    peak_bytes=120 * MIB,
    bound_bytes=100 * MIB,
    cpu_share=0.1,
    quiet_calls_s=40.0,
    calls_s=90.0,
    recovery_s=0.0,
    watched_s=10.0,
)
ALL = Expected()


def test_a_held_event_loop_is_a_shortfall_where_it_must_not_be() -> None:
    """The proxy's own counter decides; without a counter the requirement is not met."""
    assert shortfalls(replace(GOOD, stalls=3.0), ALL) == []
    free = Expected(stalls=0)
    assert shortfalls(replace(GOOD, stalls=0.0), free) == []
    assert shortfalls(replace(GOOD, stalls=3.0), free) == ["the event loop was held 3.0 times, not 0"]
    assert len(shortfalls(replace(GOOD, stalls=None), free)) == 1


def seen_by(kind: Kind, **figures: Any) -> Figures:
    """Return good figures, except for these of one kind of client."""
    return replace(GOOD, during={**GOOD.during, kind.value: replace(QUIET, **figures)})


def test_good_figures_pass() -> None:
    """A figure exactly at its limit passes."""
    assert shortfalls(GOOD, ALL) == []
    assert shortfalls(seen_by(Kind.POLLER, hits=0.99, p99_s=0.25), ALL) == []


@pytest.mark.parametrize(
    ("figures", "says"),
    [
        (replace(GOOD, wrong=1), "1 wrong answers"),
        (replace(GOOD, peak_bytes=121 * MIB), "121 MiB resident"),
        (replace(GOOD, ended="its log ends:"), "the proxy ended"),
        (replace(GOOD, fault="Traceback\nValueError: x"), "the harness failed: ValueError: x"),
        (replace(GOOD, recovery_s=None), "not back within 10 s"),
        (replace(GOOD, recovery_s=5.1), "back after 5.1 s"),
        (seen_by(Kind.POLLER, hits=0.98), "hits: 98.0 % hits"),
        (seen_by(Kind.POLLER, p99_s=0.26), "hits: p99 260 ms, 10 ms when quiet"),
        (seen_by(Kind.NEWCOMER, hits=0.98), "newcomers: 98.0 % hits"),
        (seen_by(Kind.FORWARDED, failed=0.02), "forwarded: 2.0 % failed"),
        (seen_by(Kind.FORWARDED, refused=0.02), "forwarded: 2.0 % refused"),
        (seen_by(Kind.FORWARDED, p99_s=1.1), "forwarded: p99 1100 ms"),
    ],
)
def test_each_shortfall_is_named(figures: Figures, says: str) -> None:
    """One bad figure gives one line."""
    (line,) = shortfalls(figures, ALL)
    assert says in line


def test_a_busy_machine_is_allowed_for() -> None:
    """A latency that was high before the attack may grow under it, up to a factor."""
    slow = {Kind.POLLER.value: replace(QUIET, p99_s=0.1)}
    figures = seen_by(Kind.POLLER, p99_s=0.9)
    assert shortfalls(replace(figures, quiet={**GOOD.quiet, **slow}), ALL) == []
    assert shortfalls(figures, ALL) != []


def test_what_cannot_be_had_is_not_demanded() -> None:
    """Each expectation lifts the requirement that it names, and no other."""
    no_hits = seen_by(Kind.POLLER, hits=0.1)
    assert shortfalls(no_hits, Expected(hits_go_on=False)) == []
    assert shortfalls(seen_by(Kind.NEWCOMER, hits=0.1), Expected(newcomers=False)) == []
    refused = seen_by(Kind.FORWARDED, refused=0.5)
    assert shortfalls(refused, Expected(forwards=Forwards.REFUSED_CLEARLY)) == []
    failed = seen_by(Kind.FORWARDED, failed=0.5)
    assert shortfalls(failed, Expected(forwards=Forwards.REFUSED_CLEARLY)) != []
    assert shortfalls(failed, Expected(forwards=Forwards.MAY_WAIT)) == []
    assert shortfalls(replace(no_hits, wrong=2), Expected(hits_go_on=False)) == ["2 wrong answers"]


def test_what_the_namenode_is_spared_counts_where_it_is_expected() -> None:
    """Calls beyond those before the attack count; without the NameNode's counters nothing is proven."""
    bounded = Expected(more_calls_s=50.0, why="x")
    assert shortfalls(GOOD, bounded) == []
    assert shortfalls(replace(GOOD, calls_s=91.0), bounded) == ["51 calls/s more at the NameNode, not 50"]
    assert shortfalls(replace(GOOD, calls_s=None), bounded) != []
    assert shortfalls(replace(GOOD, calls_s=None), ALL) == []


def test_a_request_may_cost_fifty_milliseconds_of_cpu() -> None:
    """More than 50 ms is a shortfall."""
    cost = RequestCost(
        shape="deep", request_bytes=65_000, status=403, cpu_s=0.05, grown_bytes=0, repetitions=5
    )
    assert cost_shortfalls(cost) == []
    assert cost_shortfalls(replace(cost, cpu_s=0.051)) == ["51 ms of CPU, not 50 ms at most"]


COST = RequestCost(shape="deep", request_bytes=65_000, status=403, cpu_s=1.0, grown_bytes=2048, repetitions=1)


def test_the_tables_show_each_figure_that_falls_short() -> None:
    """The tables and the deciding list both show shortfalls of attacks and of single requests."""
    results = Results([replace(GOOD, wrong=3)], [COST])
    text = markdown(results, BY_NAME)
    assert "| deep | 100.0 % |" in text
    assert "3 wrong answers |" in text
    assert "| deep | 65,000 | 403 | 1000.0 | 2 |" in text
    assert all_shortfalls(results, BY_NAME) == [
        "deep: 3 wrong answers",
        "request 'deep': 1000 ms of CPU, not 50 ms at most",
    ]


def test_an_attack_that_could_not_be_run_falls_short() -> None:
    """It does not count as an attack that was withstood."""
    results = Results(not_run=[("deep", "it did not start")])
    assert all_shortfalls(results, BY_NAME) == ["deep: not run: it did not start"]
    assert "`deep` could not be run: it did not start" in markdown(results, BY_NAME)


def test_each_attack_has_a_name_of_its_own() -> None:
    """`--only` finds it, and each lowered requirement has its reason."""
    assert len(BY_NAME) == len(ATTACKS)
    assert all(attack.body or attack.trouble for attack in ATTACKS)
    assert [
        attack.name
        for attack in ATTACKS
        if not attack.expected.why and replace(attack.expected, stalls=None) != type(attack.expected)()
    ] == []
