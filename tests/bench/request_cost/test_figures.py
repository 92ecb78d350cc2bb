"""What the rounds must show: each verdict can fail, and says what was seen."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.bench.request_cost.figures import RATIOS, AtLeast, Name, Round, Shape, lines, verdicts

RATE = 10_000


def rounds(shape: Shape, name: Name, *rates: float, **changed: Any) -> list[Round]:
    """Return a round for each number of requests per CPU-second."""
    plain = Round(shape=shape, name=name, requests=RATE, failed=0, cpu_s=1.0, namenode_cpu_s=1.0, p50_s=0.001)
    return [replace(plain, cpu_s=RATE / rate, **changed) for rate in rates]


def is_met(*found: Round) -> bool:
    """Whether nothing falls short."""
    return all(each.is_met for each in verdicts(found, {}))


@pytest.mark.parametrize("each", RATIOS, ids=str)
def test_each_ratio_counts_in_the_median_and_in_the_worst_round(each: AtLeast) -> None:
    """By the other's median."""
    theirs = rounds(each.shape, each.than, 900.0, 1000.0, 1100.0)
    enough, worst = 1001 * each.in_median, 1001 * (each.in_worst or each.in_median)
    assert is_met(*theirs, *rounds(each.shape, Name.NNCACHE, worst, enough, enough))
    assert not is_met(*theirs, *rounds(each.shape, Name.NNCACHE, worst, 0.99 * worst, 0.99 * worst))
    if each.in_worst:
        assert not is_met(*theirs, *rounds(each.shape, Name.NNCACHE, 0.99 * worst, enough, enough))


def test_no_request_may_fail() -> None:
    """Of nncache; those of others are theirs."""
    assert is_met(*rounds(Shape.REPEATED, Name.NGINX, 1.0, failed=3))
    assert not is_met(*rounds(Shape.REPEATED, Name.NNCACHE, 1.0, failed=1))


@pytest.mark.parametrize("shape", [Shape.FORWARDED, Shape.OUTSIDE, Shape.MISS])
@pytest.mark.parametrize(
    ("cpu_us", "namenode_ratio", "met"), [(99, 1.09, True), (101, 1.0, False), (50, 1.12, False)]
)
def test_what_a_forwarded_call_may_cost(
    shape: Shape, cpu_us: float, namenode_ratio: float, met: bool
) -> None:
    """The proxy's CPU, and the NameNode's beside what one of nginx's costs it."""
    ours = rounds(shape, Name.NNCACHE, 1e6 / cpu_us, namenode_cpu_s=namenode_ratio)
    assert is_met(*rounds(shape, Name.NGINX, 1e6 / 32), *ours) is met


@pytest.mark.parametrize(("added_us", "met"), [(140, True), (160, False)])
def test_what_a_forwarded_call_may_take(added_us: float, met: bool) -> None:
    """Over the NameNode's own time, beside what nginx adds."""
    ours = rounds(Shape.ALONE, Name.NNCACHE, 1.0, p50_s=0.001 + added_us * 1e-6)
    theirs = rounds(Shape.ALONE, Name.NGINX, 1.0, p50_s=0.001 + 59e-6)
    assert is_met(*rounds(Shape.ALONE, Name.NAMENODE, 1.0), *theirs, *ours) is met


def test_what_was_not_measured_is_not_judged() -> None:
    """Nor does a server that answered nothing end the report."""
    assert len(verdicts([], {})) == 1
    dead = rounds(Shape.REPEATED, Name.FLOOR, 1.0, requests=0)
    table = lines([*dead, *rounds(Shape.REPEATED, Name.NNCACHE, 2_000.0, 3_000.0, 4_000.0)], {})
    assert len(table) == 3
    assert "3,000" in table[2]
    assert "2,000" in table[2]


@pytest.mark.parametrize(("taken", "met"), [(3_000.0, True), (3_200.0, False)])
def test_what_an_idle_connection_may_take(taken: float, met: bool) -> None:
    """Half of what it took; what nginx's takes stands beside it and is its own affair."""
    idle_bytes = {Name.NGINX: 10_000.0, Name.NNCACHE: taken}
    assert verdicts([], idle_bytes)[-1].is_met is met
    assert [line.split()[-3:-1] for line in lines([], idle_bytes)[1:]] == [
        ["nginx", "10,000"],
        ["nncache", f"{taken:,.0f}"],
    ]
