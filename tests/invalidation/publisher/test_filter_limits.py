"""FilterLimits: events per second for each filter, independently of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.invalidation.publisher.filter_limits import BACKLOG_S, BURST_S, FilterLimits


def begun(per_s: float = 1.0) -> FilterLimits:
    """Return limits after all edits up to 0 were read."""
    made = FilterLimits(per_s, 0.0)
    made.read(0.0, 0.0)
    return made


def test_a_minutes_events_may_come_at_once() -> None:
    """Then the filter exceeds its limit until the rate has refilled it; other filters are not affected."""
    limits = begun()
    assert [limits.admit("f", 1) for _ in range(61)] == [True] * 60 + [False]
    assert (limits.over, limits.per_s) == (1, 1.0)
    assert limits.admit("g", 1)
    limits.read(0.5, 0.5)
    assert not limits.admit("f", 1)
    assert limits.over == 1
    limits.read(1.0, 1.0)
    assert limits.over == 0, "though nothing matched"
    assert limits.admit("f", 1)


def test_a_large_transaction_is_paid_within_a_minute() -> None:
    """It is admitted completely or not at all, and costs at most one burst."""
    limits = begun()
    assert limits.admit("f", 1)
    assert limits.admit("f", 1_000_000)
    assert not limits.admit("f", 1)
    limits.read(2.0, 2.0)
    assert limits.admit("f", 1)


def test_edits_that_are_read_late_are_of_a_longer_time() -> None:
    """After an outage a filter within its limit misses nothing; the surplus expires once all edits are read."""
    limits = begun()
    limits.read(100.0, None)
    assert all(limits.admit("f", 1) for _ in range(150))
    limits.read(100.0, 100.0)
    assert [limits.admit("f", 1) for _ in range(11)] == [True] * 10 + [False]
    limits.read(500.0, 500.0)
    assert [limits.admit("f", 1) for _ in range(61)] == [True] * 60 + [False]


def test_a_process_that_begins_knows_of_no_time_before() -> None:
    """A backlog of the last ten minutes is allowed for, and no earlier time."""
    limits = FilterLimits(1.0, 1000.0)
    limits.read(1000.0, None)
    assert sum(limits.admit("f", 1) for _ in range(1000)) == BURST_S + BACKLOG_S


def test_without_a_limit_there_is_none() -> None:
    """A rate of 0 disables the limit."""
    limits = begun(0.0)
    assert all(limits.admit("f", 1000) for _ in range(1000))
    assert limits.over == 0


def test_filters_that_are_gone_are_forgotten() -> None:
    """Limits are kept by id: a filter that begins again has a new bucket."""
    limits = begun()
    limits.admit("f", 60)
    limits.admit("f", 1)
    assert limits.over == 1
    limits.keep({"g"})
    assert limits.over == 0
    assert limits.admit("f", 60)
    limits.keep({"f"})
    assert not limits.admit("f", 1), "the others keep theirs"


@pytest.mark.parametrize("is_late", [False, True])
@given(st.lists(st.tuples(st.floats(0, 20), st.integers(1, 200)), max_size=60), st.floats(0.5, 50))
def test_the_rate_is_bounded(is_late: bool, steps: list[tuple[float, int]], per_s: float) -> None:
    """F1: over any time that begins when all edits were read, also if later edits are read late."""
    limits, now, admitted = begun(per_s), 0.0, 0
    largest = max((events for _, events in steps), default=0)
    for pause_s, events in steps:
        now += pause_s
        limits.read(now, None if is_late else now)
        if limits.admit("f", min(events, int(per_s * BURST_S))):
            admitted += min(events, int(per_s * BURST_S))
        assert admitted <= (BURST_S + now) * per_s + largest + 1e-6


def test_it_says_as_of_when_all_was_read() -> None:
    """The time before the start counts as a backlog; an unknown time changes nothing."""
    limits = FilterLimits(1.0, 1000.0)
    assert limits.all_read_at == 1000.0 - BACKLOG_S
    limits.read(1001.0, 1000.5)
    limits.read(1002.0, None)
    assert limits.all_read_at == 1000.5
