"""A small flood of one client: it is throttled, and no call of others fails."""

import pytest

from nncache.testbed import Cluster
from tests.registry.flood import FLOODS, Flood, Others, Reported, run


@pytest.mark.long
def test_a_flood_is_throttled(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Other clients get all their replies."""
    found = run(cluster, records=200, rounds=1, seconds=3.0)
    with capsys.disabled():
        print("", *(line for reported in found for line in reported.lines()), sep="\n")  # noqa: T201 - the figures
    assert [reported.kind for reported in found] == [*FLOODS]
    for reported in found:
        (flood,) = reported.floods
        assert 0 < flood.done <= reported.most_done(flood)
        assert [
            failure for others in (*reported.before, *reported.during) for failure in others.failures
        ] == []
    polls = found[0].floods[0]
    assert polls.refused > polls.done


def test_what_falls_short_is_reported() -> None:
    """A flood that was not throttled, a failed request, and a slower one."""
    before, during = Others({"x": [0.02] * 99 + [9.0]}), Others({"x": [0.07] * 100}, ["x: 503"])
    reported = Reported("polls", (before,), (during,), (Flood(500, 0, 10.0),))
    assert [*reported.shortfalls()] == [
        "polls: 500 done, which is more than 31",
        "polls: x: 503",
        "polls: x has a p99 of 70 ms, 20 ms without",
    ]
    good = Reported("updates", (before, during), (before, before), (Flood(500, 0, 10.0),))
    assert [*good.shortfalls()] == ["updates: x: 503"]
