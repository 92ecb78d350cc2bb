"""The judge as a whole: the figures of small runs."""

from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram
from pyspark.sql import SparkSession

from nncache.bench.figures import WrongAnswer
from nncache.bench.judge import reduce
from nncache.bench.judge.reduction import NAMED
from nncache.bench.tables import AUDITED
from tests.bench.recorded import NEVER_SENT, change, initial, poll, record

pytestmark = pytest.mark.timeout(300)  # Spark compiles each of its queries

A, B = 1, 2

POLLED = (
    poll(-2.0, -1.0, digest=A, served="hit"),  # warming up
    poll(0.0, 0.5, digest=A, served="miss"),
    poll(1.0, 1.5, digest=A, served="HIT"),
    poll(2.25, 3.5, due_s=2.0, digest=B, served="hit"),
    poll(3.5, 3.75, due_s=3.0, digest=A),  # its connection was not free; stale
    poll(4.0, 4.25, status=0),
    poll(5.0, 5.25, status=502, served="hit"),
    poll(NEVER_SENT, 6.5, due_s=6.0, status=0),
    poll(7.0, 7.25, digest=A, served="hit"),  # wrong
    poll(10.0, 10.5, digest=A),  # after the end
)
CHANGED = (
    initial(digest=A),
    initial(1, digest=A),
    change(-1.0, -0.9, change_id=1, digest=A),
    change(2.4, 2.5, change_id=2, digest=B),
    change(2.4, 2.5, change_id=2, path_id=1, digest=B),
    change(10.5, 10.6, change_id=3, path_id=1, digest=A),
)
USED = (
    {"source": "namenode", "name": "getFileInfo", "value": 12.0, "unit": "calls"},
    {"source": "namenode", "name": "isFileClosed", "value": 7.0, "unit": "calls"},
    {"source": "namenode", "name": "upkeep:getEditsFromTxid", "value": 40.0, "unit": "calls"},
    {"source": "namenode", "name": "mkdirs", "value": 3.0, "unit": "calls"},
    {"source": "namenode", "name": "cpu", "value": 1.5, "unit": "s"},
    {"source": "namenode", "name": "resident", "value": 2.0**30, "unit": "bytes"},
    {"source": "changer", "name": "getFileInfo", "value": 5.0, "unit": "calls"},
    {"source": "generator", "name": "cpu", "value": 2.0, "unit": "s"},
    {"source": "generator", "name": "cpu", "value": 0.5, "unit": "s"},
    {"source": "proxy", "name": "same", "value": 9.0, "unit": AUDITED},
    {"source": "proxy", "name": "beyond", "value": 0.0, "unit": AUDITED},
)
HOSTED = tuple(
    {
        "task": task,
        "host": "a",
        "pollers": 1,
        "clock_offset_s": 3.0,
        "clock_error_s": error_s,
        "cpu_s": 1.0,
    }
    for task, error_s in enumerate((0.001, 0.004, 0.002))
)


def test_the_figures_of_a_run_worked_out_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    """Each figure is what its description says (bench/figures.py), of the measured time only."""
    record(tmp_path, polls=POLLED, changes=CHANGED, counters=USED, hosts=HOSTED)
    found = reduce(spark, tmp_path, "nncache", duration_s=10.0, bound_s=2.0, period_s=1.0)
    assert (found.mode, found.duration_s) == ("nncache", 10.0)
    assert (found.due, found.sent, found.failed, found.hits) == (8, 7, 2, 3)
    assert found.polls_per_s == 0.5
    assert (found.late_starts_s.count, found.late_starts_s.max, found.kept_schedule) == (6, 0.25, False)
    assert (found.latency_s.count, found.latency_s.max) == (5, 1.5)
    assert found.latency_s.mean == pytest.approx((0.5 + 0.5 + 1.5 + 0.75 + 0.25) / 5)
    assert (found.changes, found.changed_paths) == (1, 2)
    assert (found.lateness_s.count, found.lateness_s.max) == (1, 1.0)
    assert (found.first_lateness_s.count, found.first_lateness_s.max) == (1, 1.0)
    assert (found.stale, found.oldest_s) == (1, 1.0)
    wrong = WrongAnswer(poller=0, path_id=0, sent_s=7.0, replied_s=7.25, status=200, served="hit", age_s=4.5)
    assert (found.wrong, found.wrong_count) == ((wrong,), 1)
    assert found.calls == {"getFileInfo": 12, "isFileClosed": 7}
    assert found.upkeep == {"getEditsFromTxid": 40}
    assert found.cpu_s == {"namenode": 1.5, "generator": 2.5}
    assert found.memory_bytes == {"namenode": 2**30}
    assert found.clock_error_s == 0.004
    assert found.audited == {"same": 9, "beyond": 0}
    kept = HdrHistogram.decode((tmp_path / "latency.hdr").read_bytes())
    assert (kept.get_total_count(), kept.get_max_value()) == (5, kept.get_highest_equivalent_value(1_500_000))


def test_a_schedule_is_kept_if_all_were_sent_in_time(spark: SparkSession, tmp_path: Path) -> None:
    """50 ms are in time, if it is the generator's own lateness; one poll of a hundred may be later."""
    polls = [poll(second + 0.04, second + 0.5, due_s=float(second), digest=A) for second in range(200)]
    polls[100] |= {"sent_s": 100.5, "replied_s": 104.5}  # one too late, and those after it wait for its reply
    for second in range(101, 105):
        polls[second] |= {"sent_s": 104.5, "replied_s": 104.5}
    record(tmp_path, polls=polls, changes=[initial(digest=A)])
    found = reduce(spark, tmp_path, "direct", duration_s=200.0, bound_s=1.0, period_s=1.0)
    assert (found.late_starts_s.count, found.late_starts_s.max, found.kept_schedule) == (196, 0.5, True)


def test_too_many_wrong_answers_are_counted_and_the_first_named(spark: SparkSession, tmp_path: Path) -> None:
    """The report stays readable however wrong a mode was; nothing that never was has an age."""
    polls = [poll(float(step), step + 0.1, poller=step % 7, digest=99) for step in range(NAMED + 20)]
    record(tmp_path, polls=reversed(polls), changes=[initial(digest=A)])
    found = reduce(spark, tmp_path, "direct", duration_s=1000.0, bound_s=1.0, period_s=1.0)
    assert (found.wrong_count, len(found.wrong)) == (NAMED + 20, NAMED)
    assert [(wrong.sent_s, wrong.poller, wrong.age_s) for wrong in found.wrong] == [
        (float(step), step % 7, None) for step in range(NAMED)
    ]


def test_a_run_without_a_reply_has_figures(spark: SparkSession, tmp_path: Path) -> None:
    """All zero, and no failure of the judge."""
    record(tmp_path, polls=[], changes=[])
    found = reduce(spark, tmp_path, "direct", duration_s=10.0, bound_s=1.0, period_s=1.0)
    assert (found.due, found.latency_s.count, found.lateness_s.count, found.oldest_s) == (0, 0, 0, 0.0)
