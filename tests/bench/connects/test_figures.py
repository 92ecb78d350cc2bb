"""What rounds of connects must show: each verdict can fail, and says what was seen."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.bench.connects.figures import Round, Times, lines, times_between, times_of, verdicts

QUICK = Times(count=100, p50_s=0.001, p99_s=0.1, max_s=0.2)
SLOW = replace(QUICK, p99_s=0.1001)
NONE = Times(0, 0.0, 0.0, 0.0)
GOOD = Round(
    program="nncache",
    connects_s=1.0,
    answered_s=1.5,
    connected=QUICK,
    before=QUICK,
    meanwhile=QUICK,
    after=QUICK,
    late_p99_s=0.0,
    failed=0,
    forwarded=0,
    probes=2,
    probes_failed=0,
    edits=100,
    edits_failed=0,
    edits_before_s=0.001,
    edits_meanwhile_s=0.002,
    stalls=1,
    cpu_s=1.0,
    storm_cpu_s=0.5,
    pollers_cpu_s=0.2,
)


def test_times_are_quantiles_by_nearest_rank() -> None:
    """Of no times, all are 0."""
    assert times_of(()) == NONE
    assert times_of((3.0, 1.0, 2.0)) == Times(3, 2.0, 3.0, 3.0)
    assert times_of(range(1, 201)) == Times(200, 100, 198, 200)


def test_what_was_due_within_a_window_counts() -> None:
    """Its end not included."""
    assert times_between((1.0, 2.0, 3.0, 4.0), (10.0, 20.0, 30.0, 40.0), 2.0, 4.0) == Times(2, 20, 30, 30)


@pytest.mark.parametrize(
    ("changed", "seen"),
    [
        ({"failed": 1}, "no request fails: 1"),
        ({"probes_failed": 1}, "no probe of the NameNode is lost: 1 of 4"),
        ({"edits_failed": 1}, "no poll of the edits is lost: 1 of 200"),
        ({"forwarded": 3}, "the gate stays open: all is answered from memory: 3 forwarded"),
        ({"meanwhile": SLOW}, "while others come and go: 100.1 ms in the worst of 2"),
        ({"after": SLOW}, "while others come and go: 100.1 ms in the worst of 2"),
        ({"meanwhile": NONE}, "while others come and go: 100.0 ms in the worst of 2"),
    ],
)
def test_each_line_can_fall_short(changed: dict[str, Any], seen: str) -> None:
    """One round is enough."""
    assert all(each.is_met for each in verdicts([GOOD, GOOD], 2))
    short = [each for each in verdicts([GOOD, replace(GOOD, **changed)], 2) if not each.is_met]
    assert [f"{each.what}: {each.seen}"[-len(seen) :] for each in short] == [seen]


@pytest.mark.parametrize("nothing", ["probes", "edits"])
def test_where_nothing_was_asked_nothing_is_shown(nothing: str) -> None:
    """None was lost, but none was made."""
    rounds = [replace(GOOD, **{nothing: 0})]  # type: ignore[arg-type] # any field
    assert sum(not each.is_met for each in verdicts(rounds, 1)) == 1


def test_a_round_whose_connects_took_too_long_is_none() -> None:
    """Its times count for nothing, what failed in it does."""
    late = replace(GOOD, connects_s=1.01, meanwhile=SLOW)
    assert all(each.is_met for each in verdicts([late, GOOD, GOOD], 2))
    first, *others = verdicts([late, GOOD], 2)
    assert (first.seen, first.is_met, all(each.is_met for each in others)) == ("1 of 2", False, True)
    assert sum(not each.is_met for each in verdicts([late], 1)) == 2  # of nothing nothing is shown
    assert sum(not each.is_met for each in verdicts([replace(late, failed=1), GOOD, GOOD], 2)) == 1


def test_the_table_has_a_line_for_each_round() -> None:
    """In columns."""
    top, below, *rows = lines([GOOD, replace(GOOD, program="other")])
    assert "while they come" in top
    assert "p50, p99, max" in below
    assert [row.split()[0] for row in rows] == ["nncache", "other"]
    assert len({len(row) for row in rows}) == 1
