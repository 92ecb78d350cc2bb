"""RecordPacer: at once after a quiet time, bounded by time under load."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.invalidation.publisher.record_pacing import (
    BURST_S,
    MAX_SPACING_S,
    MIN_SPACING_S,
    RecordPacer,
)
from nncache.invalidation.publisher.settings import PublisherSettings


def play(pacer: RecordPacer, happens_at: Iterable[float]) -> list[tuple[float, list[float]]]:
    """Publish transactions that concern a filter as the pacer says; return each record's time and content."""
    records: list[tuple[float, list[float]]] = []
    pending: list[float] = []
    for at in [*happens_at, float("inf")]:
        while pending and (due_at := max(pending[0], pacer.due_at(is_relevant=True))) < at:
            records.append((due_at, pending))
            pacer.published(due_at, transactions=len(pending), writes=1)
            pending = []
        pending = [*pending, at]
    return records


def latencies(records: list[tuple[float, list[float]]]) -> list[float]:
    """Return how long each transaction waited."""
    return [at - happened_at for at, content in records for happened_at in content]


def pacer(**settings: float) -> RecordPacer:
    """Return a pacer at time 0."""
    return RecordPacer(PublisherSettings(**settings), 0.0)  # type: ignore[arg-type]  # integers among the floats


def test_a_change_after_a_quiet_time_is_published_at_once() -> None:
    """Also the first of all, and also after a burst."""
    busy = [5.0 + 0.001 * number for number in range(5000)]
    records = play(pacer(), [0.0, 3.0, *busy, 30.0])
    assert latencies(records)[:2] == [0.0, 0.0]
    assert records[-1] == (30.0, [30.0])


@pytest.mark.parametrize("per_s", [10, 20])
def test_a_steady_trickle_is_published_change_by_change(per_s: int) -> None:
    """Ten to twenty matching events a second are each published within 50 ms."""
    records = play(pacer(), (number / per_s for number in range(60 * per_s)))
    assert max(latencies(records)) <= 0.05


def test_a_trickle_after_a_burst_is_fast_again() -> None:
    """The spacing falls back, though in the largest spacing there are several of 20 a second."""
    burst = [0.001 * number for number in range(5000)]
    records = play(pacer(), [*burst, *(5.0 + number / 20 for number in range(400))])
    assert max(latencies(records[-300:])) <= 0.05


@pytest.mark.parametrize("per_s", [200, 300, 1000, 3000])
def test_a_job_that_commits_many_files_costs_few_records(per_s: int) -> None:
    """10 s of load cost at most 60 records, and nothing waits for longer than the largest spacing."""
    records = play(pacer(), (number / per_s for number in range(10 * per_s)))
    assert len(records) <= 60
    assert max(latencies(records)) <= MAX_SPACING_S + 1e-9


def test_between_trickle_and_load_the_budget_decides() -> None:
    """Fifty changes a second: twenty records a second, after the burst."""
    records = play(pacer(), (number / 50 for number in range(3000)))
    assert len(records) <= 60 * 20 + 20 * BURST_S + 1
    assert max(latencies(records)) <= MAX_SPACING_S


def test_coverage_alone_keeps_its_interval() -> None:
    """What concerns no filter is told twice a second, at once after a quiet time."""
    paced = pacer()
    assert paced.due_at(is_relevant=False) <= 0.0
    paced.published(0.0, transactions=0, writes=1)
    assert paced.due_at(is_relevant=False) == 0.5
    assert paced.due_at(is_relevant=True) == MIN_SPACING_S


def test_other_writes_count() -> None:
    """Many changed filters leave less for records."""
    paced = pacer()
    paced.wrote(40, 0.0)
    assert paced.due_at(is_relevant=True) == pytest.approx(0.05)
    paced.wrote(3, -1.0)
    assert paced.due_at(is_relevant=True) == pytest.approx(0.2), "a clock that goes back gives nothing"


@given(
    st.floats(0.1, 100),
    st.lists(st.tuples(st.floats(0, 2), st.integers(1, 3)), max_size=50),
)
def test_the_write_rate_is_bounded(per_s: float, wishes: list[tuple[float, int]]) -> None:
    """W1, for any pattern of wishes."""
    paced = pacer(max_write_ops_per_s=per_s)
    now, made = 0.0, list[tuple[float, int]]()
    for pause_s, writes in wishes:
        now = max(now + pause_s, paced.due_at(is_relevant=True))
        paced.published(now, transactions=1, writes=writes)
        made.append((now, writes))
    for first, (since, _) in enumerate(made):
        for last in range(first, len(made)):
            total = sum(writes for _, writes in made[first : last + 1])
            allowed = max(1.0, per_s * BURST_S) + per_s * (made[last][0] - since)
            assert total <= allowed + (made[last][1] - 1) + 1e-6
