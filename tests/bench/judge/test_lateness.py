"""How late changes were seen, worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from nncache.bench.judge.lateness import counted_until, first_lateness, lateness
from nncache.bench.judge.verdicts import states, verdicts
from tests.bench.recorded import Row, change, initial, poll, record

pytestmark = pytest.mark.timeout(300)  # Spark compiles each of its queries

A, B, C, MISSING = 1, 2, 3, 404

FOUND = tuple[dict[tuple[int, int, int], Any], dict[tuple[int, int], Any]]


def found(
    spark: SparkSession, directory: Path, *, polls: list[Row], changes: list[Row], until_s: float = 50.0
) -> FOUND:
    """Return the lateness by (poller, path, number of the state), and the least by (path, number)."""
    record(directory, polls=polls, changes=changes)
    known = states(spark, directory)
    judged = verdicts(spark, directory, known, duration_s=60.0, bound_s=5.0)
    late = lateness(spark, known, judged, until_s=until_s, duration_s=60.0)
    return (
        {(row.poller, row.path_id, row.number): row.value_s for row in late.collect()},
        {(row.path_id, row.number): row.value_s for row in first_lateness(spark, late).collect()},
    )


def test_lateness_counts_to_the_first_reply_that_shows_the_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    """For each poller from the acknowledgement to the end of its reply; what was seen before has 0."""
    polls = [
        poll(10.5, 10.6, poller=1, digest=A),  # stale
        poll(11.5, 11.6, poller=1, digest=B),
        poll(12.5, 12.6, poller=1, digest=B),
        poll(9.9, 9.95, poller=2, digest=B),  # on its way
        poll(10.9, 10.95, poller=2, digest=A),  # a step back, which is another matter
        poll(10.2, 10.3, poller=3, status=503),
        poll(10.3, 10.4, poller=3, status=200, digest=77),
        poll(13.0, 13.5, poller=3, digest=B),
        poll(20.0, 20.1, poller=9, path_id=1, digest=B),  # polls another path
    ]
    changes = [
        initial(digest=A),
        change(9.9, 10.0, digest=B),
        initial(1, digest=B),
    ]
    assert found(spark, tmp_path, polls=polls, changes=changes) == (
        {(1, 0, 2): pytest.approx(1.6), (2, 0, 2): 0.0, (3, 0, 2): pytest.approx(3.5)},
        {(0, 2): 0.0},
    )


def test_an_overtaken_change_is_seen_with_the_one_that_overtook_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A poller that comes by after two changes has seen both, each as late as it is."""
    polls = [
        poll(5.0, 5.1, poller=1, digest=A),
        poll(14.9, 15.0, poller=1, digest=C),
        poll(10.4, 10.5, poller=2, digest=B),
        poll(15.9, 16.0, poller=2, digest=C),
    ]
    changes = [
        initial(digest=A),
        change(9.9, 10.0, change_id=1, digest=B),
        change(11.9, 12.0, change_id=2, digest=C),
    ]
    assert found(spark, tmp_path, polls=polls, changes=changes) == (
        {
            (1, 0, 2): pytest.approx(5.0),
            (1, 0, 3): pytest.approx(3.0),
            (2, 0, 2): pytest.approx(0.5),
            (2, 0, 3): pytest.approx(4.0),
        },
        {(0, 2): pytest.approx(0.5), (0, 3): pytest.approx(3.0)},
    )


def test_what_comes_back_is_not_taken_for_what_was_before(spark: SparkSession, tmp_path: Path) -> None:
    """Missing, there, missing: a 404 before the file was gone again does not show that it went."""
    polls = [
        poll(5.0, 5.1, status=404, digest=MISSING),
        poll(10.5, 10.6, status=404, digest=MISSING),  # stale: from before the file came
        poll(11.5, 11.6, digest=A),
        poll(21.4, 21.5, status=404, digest=MISSING),
    ]
    changes = [
        initial(status=404, digest=MISSING),
        change(9.9, 10.0, change_id=1, kind="rename", digest=A),
        change(19.9, 20.0, change_id=2, kind="delete", status=404, digest=MISSING),
    ]
    assert found(spark, tmp_path, polls=polls, changes=changes)[0] == {
        (0, 0, 2): pytest.approx(1.6),
        (0, 0, 3): pytest.approx(1.5),
    }


def test_an_open_file_does_not_show_its_creation(spark: SparkSession, tmp_path: Path) -> None:
    """Who is told of the open file still waits for the closed one."""
    polls = [poll(10.0, 10.1, digest=77, file_id=5), poll(12.0, 12.5, digest=A, file_id=5)]
    changes = [
        initial(status=404, digest=MISSING),
        change(9.9, 10.0, kind="create", digest=A, file_id=5),
    ]
    assert found(spark, tmp_path, polls=polls, changes=changes)[0] == {(0, 0, 2): pytest.approx(2.5)}


def test_what_is_never_shown_counts_to_the_end(spark: SparkSession, tmp_path: Path) -> None:
    """A poller that goes on being told the old state is late by all the time that was left."""
    polls = [poll(float(second), second + 0.1, digest=A) for second in range(60)]
    changes = [initial(digest=A), change(9.9, 10.0, digest=B)]
    assert found(spark, tmp_path, polls=polls, changes=changes) == ({(0, 0, 2): 50.0}, {(0, 2): 50.0})


def test_changes_outside_the_counted_time_have_no_lateness(spark: SparkSession, tmp_path: Path) -> None:
    """Those of the warm-up, and those too near to the end; a path that nobody polls has none either."""
    polls = [poll(59.0, 59.1, digest=C), poll(59.0, 59.1, path_id=1, digest=A)]
    changes = [
        initial(digest=MISSING),
        change(-1.0, -0.5, change_id=1, digest=A),
        change(49.9, 50.0, change_id=2, digest=B),
        change(50.1, 50.2, change_id=3, digest=C),
        initial(1, digest=A),
        initial(2, digest=A),
        change(20.0, 20.1, change_id=4, path_id=2, digest=B),
    ]
    assert found(spark, tmp_path, polls=polls, changes=changes)[0] == {(0, 0, 3): pytest.approx(9.1)}


@pytest.mark.parametrize(
    ("bound_s", "until_s"),
    [pytest.param(10.0, 40.0, id="two periods and the bound"), pytest.param(50.0, 55.0, id="one period")],
)
def test_changes_count_until_enough_time_was_left_to_see_them(bound_s: float, until_s: float) -> None:
    """Two periods and the bound before the end, or one period if the bound is longer than the run."""
    assert counted_until(duration_s=60.0, bound_s=bound_s, period_s=5.0) == until_s
