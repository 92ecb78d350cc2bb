"""What a start may take, and what is said of it."""

import math
from dataclasses import replace

import pytest

from nncache.bench.inotify.figures import (
    MAX_P50_S,
    MAX_P99_S,
    MAX_RESTART_S,
    MAX_START_S,
    CatchUp,
    Delivery,
    Overload,
    Start,
    percentile,
)


def start(in_force_s: float, *, is_restart: bool) -> Start:
    """Return one that took so long."""
    return Start(
        is_restart=is_restart,
        filters=5_000,
        in_force_s=in_force_s,
        compared_s=9.5,
        zookeeper_calls=113,
        namenode_calls=89,
        attribute_calls=5_000,
        cpu_s=1.5,
        waited_s=4.25,
        load=9.0,
    )


@pytest.mark.parametrize(("is_restart", "most_s"), [(False, MAX_START_S), (True, MAX_RESTART_S)])
def test_a_start_that_takes_too_long_falls_short(is_restart: bool, most_s: float) -> None:
    """A restart may take less; what counts is when the filters are in force."""
    in_time, late = start(most_s, is_restart=is_restart), start(most_s + 0.001, is_restart=is_restart)
    assert (in_time.is_good, late.is_good) == (True, False)
    assert in_time.line().startswith("met ")
    assert late.line().startswith("SHORT")


def test_its_line_says_all_of_it() -> None:
    """With what it may take, and how busy the machine was."""
    assert start(1.25, is_restart=True).line() == (
        "met   restart with 5000 filters: in force after 1.25 s (at most 2 s), read from HDFS after 9.50 s, with 89 "
        "calls of the NameNode, 5000 for attributes and 113 of ZooKeeper, 1.50 s of CPU, "
        "4.25 s of waiting for one (load 9.0)"
    )


DELIVERY = Delivery(
    filters=1_000,
    subscribers=50,
    events=600,
    lost=0,
    p50_s=0.02,
    p99_s=0.2,
    edits_per_s=2_040.0,
    writes=700,
    matched=600,
    coverage=120,
    polls_per_s=25.0,
    polling_share=0.02,
    namenode_cores=0.5,
    publisher_cores=0.1,
)
OVERLOAD = Overload(
    seconds=60.0,
    per_s=400.0,
    limit_per_s=20.0,
    made=100,
    delivered=60,
    covered=40,
    silent=0,
    wrong=0,
    over_limit=40,
    grown_mib=3.0,
    most_waiting=120,
    normal_after_s=1.0,
    quiet_events=120,
    quiet_p99_s=0.1,
    quiet_p99_before_s=0.1,
    quiet_gaps=0,
)


@pytest.mark.parametrize(
    "worse", [{"lost": 1}, {"p50_s": MAX_P50_S + 0.01}, {"p99_s": MAX_P99_S + 0.01}, {"writes": 721}]
)
def test_a_delivery_that_is_late_lossy_or_dear_falls_short(worse: dict[str, float]) -> None:
    """At most one write for each event of a filter, and coverage."""
    assert DELIVERY.line().startswith(
        "met   600 events of 1000 filters to 50 subscribers beside 2040 edits/s: p50 20"
    )
    short = replace(DELIVERY, **worse)  # type: ignore[arg-type]  # of the right types
    assert short.line().startswith("SHORT")
    assert not short.is_good


@pytest.mark.parametrize(
    "worse",
    [
        {"silent": 1},
        {"wrong": 1},
        {"made": 101},
        {"delivered": 100, "covered": 0},
        {"grown_mib": 65.0},
        {"normal_after_s": 5.5},
        {"quiet_gaps": 1},
        {"quiet_p99_s": 1.5},
    ],
)
def test_a_flood_costs_its_own_tenant_and_that_is_told(worse: dict[str, float]) -> None:
    """Also a flood that was none falls short: nothing was left out."""
    assert OVERLOAD.line().startswith(
        "met   flood of 400 events/s for 60 s at a limit of 20: 100 made, 60 delivered"
    )
    short = replace(OVERLOAD, **worse)  # type: ignore[arg-type]  # of the right types
    assert short.line().startswith("SHORT")


def test_edits_are_counted_by_cpu() -> None:
    """Not by the time that they took."""
    assert CatchUp(edits=100_000, cpu_s=2.0, polls=100).line() == (
        "met   100000 edits read in 2.00 s of CPU and 100 polls: 50000 a second of CPU (at least 50000)"
    )
    assert not CatchUp(edits=100_000, cpu_s=2.1, polls=100).is_good


def test_a_percentile_is_one_of_the_figures() -> None:
    """Of none it is never reached."""
    figures = [float(number) for number in range(1, 101)]
    assert [percentile(figures, share) for share in (0.0, 0.5, 0.99, 1.0)] == [1.0, 50.0, 99.0, 100.0]
    assert percentile([], 0.5) == math.inf
