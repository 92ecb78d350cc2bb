"""Reduce the tables of one mode to its figures.

The rules are in `bench/judge/__init__.py`.
"""

import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from nncache.bench.judge.lateness import FIRST_LATENESS, counted_until, lateness
from nncache.bench.judge.quantiles import MOST_S, Histogram
from nncache.bench.judge.verdicts import states, verdicts
from nncache.bench.shared import tables
from nncache.bench.shared.figures import SCHEDULE_S, ModeFigures, OthersFigures, WrongAnswer

OTHERS_FILE: Final = "others.parquet"  # measurements of a client that does not poll

NAMED: Final = 100  # the maximum number of listed wrong answers, the earliest first
CALLS: Final = ("getFileInfo", "isFileClosed")  # the NameNode's calls for polls
UPKEEP: Final = "upkeep:"  # prefix of the names of other calls

_DISTRIBUTION: Final = """
SELECT CAST(round(greatest(least(value_s, :most_s), 0) * 1000000) AS BIGINT) AS microseconds, count(*) AS times
FROM {values} GROUP BY microseconds
"""

_SUMMARY: Final = """
SELECT
    count(*) AS due,
    count(sent_s) AS sent,
    count_if(sent_s IS NOT NULL AND NOT is_reply) AS failed,
    count_if(is_reply AND (lower(served) = 'hit' OR lower(served) LIKE 'hit;%')) AS hits,
    count_if(verdict = 'stale') AS stale,
    coalesce(max(age_s) FILTER (WHERE verdict = 'stale'), double(0)) AS oldest_s,
    count_if(verdict = 'wrong') AS wrong
FROM {judged} WHERE is_measured
"""

_ANSWERS: Final = """
SELECT lower(served) AS served, count(*) AS replies
FROM {judged} WHERE is_measured AND is_reply AND served <> '' GROUP BY 1 ORDER BY replies DESC, served
"""

_WRONG: Final = """
SELECT poller, path_id, sent_s, replied_s, status, served, age_s
FROM {judged} WHERE is_measured AND verdict = 'wrong'
ORDER BY sent_s, poller, path_id LIMIT :named
"""

_LATENCY: Final = "SELECT replied_s - due_s AS value_s FROM {judged} WHERE is_measured AND is_reply"

_LATE_STARTS: Final = """
WITH polls AS (
    SELECT
        is_measured, due_s, sent_s,
        lag(replied_s, 1, double('-Infinity')) OVER (PARTITION BY poller ORDER BY due_s, path_id) AS free_s
    FROM {judged}
)
SELECT sent_s - due_s AS value_s FROM polls WHERE is_measured AND sent_s IS NOT NULL AND free_s <= due_s
"""

_CHANGES: Final = """
SELECT count(DISTINCT change_id) AS changes, count(*) AS changed_paths
FROM {states} WHERE change_id >= 0 AND acked_s >= 0 AND acked_s < :duration_s
"""


def reduce(
    spark: SparkSession,
    mode_directory: Path,
    mode: str,
    *,
    duration_s: float,
    bound_s: float,
    period_s: float,
) -> ModeFigures:
    """Return the figures of the tables in `mode_directory`, and write `latency.hdr` to it.

    A reply may be outdated by up to `bound_s`; `period_s` is the interval between two polls of a path by one poller.
    """
    known = states(spark, mode_directory).cache()
    judged = verdicts(spark, mode_directory, known, duration_s=duration_s, bound_s=bound_s).cache()
    until_s = counted_until(duration_s=duration_s, bound_s=bound_s, period_s=period_s)
    late = lateness(spark, known, judged, until_s=until_s, duration_s=duration_s).cache()
    try:
        summary = spark.sql(_SUMMARY, judged=judged).first()
        changes = spark.sql(_CHANGES, args={"duration_s": float(duration_s)}, states=known).first()
        assert summary is not None
        assert changes is not None
        wrong = spark.sql(_WRONG, args={"named": NAMED}, judged=judged).collect()
        hosts = pq.read_table(mode_directory / "hosts.parquet")
        late_starts = _histogram(spark, spark.sql(_LATE_STARTS, judged=judged)).quantiles()
        latency = _histogram(spark, spark.sql(_LATENCY, judged=judged))
        (mode_directory / "latency.hdr").write_bytes(latency.encoded())
        return ModeFigures(
            mode=mode,
            duration_s=duration_s,
            due=summary.due,
            sent=summary.sent,
            failed=summary.failed,
            late_starts_s=late_starts,
            kept_schedule=late_starts.p99 <= SCHEDULE_S and summary.sent == summary.due,
            latency_s=latency.quantiles(),
            hits=summary.hits,
            answers={row.served: row.replies for row in spark.sql(_ANSWERS, judged=judged).collect()},
            changes=changes.changes,
            changed_paths=changes.changed_paths,
            lateness_s=_histogram(spark, late).quantiles(),
            first_lateness_s=_histogram(spark, spark.sql(FIRST_LATENESS, lateness=late)).quantiles(),
            stale=summary.stale,
            oldest_s=summary.oldest_s,
            wrong=tuple(WrongAnswer(**row.asDict()) for row in wrong),
            wrong_count=summary.wrong,
            clock_error_s=max(hosts["clock_error_s"].to_pylist(), default=0.0),
            **_counted(mode_directory),
            others=others(mode_directory),
        )
    finally:
        for table in (late, judged, known):
            table.unpersist()


def _counted(mode_directory: Path) -> dict[str, dict[str, Any]]:
    """Return the resources that servers and generator used, by kind; rows with the same name are added."""
    kinds = ("calls", "upkeep", "cpu_s", "memory_bytes", "audited")
    found: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
    for row in pq.read_table(mode_directory / "counters.parquet").to_pylist():
        match row["source"], row["name"], row["unit"]:
            case "namenode", name, "calls" if name.startswith(UPKEEP):
                found["upkeep"][name.removeprefix(UPKEEP)] += round(row["value"])
            case "namenode", name, "calls" if name in CALLS:
                found["calls"][name] += round(row["value"])
            case source, "cpu", "s":
                found["cpu_s"][source] += row["value"]
            case source, "resident", "bytes":
                found["memory_bytes"][source] += round(row["value"])
            case "proxy", outcome, tables.AUDITED:
                found["audited"][outcome] += round(row["value"])
    return {kind: dict(counts) for kind, counts in found.items()}


def _histogram(spark: SparkSession, values: DataFrame) -> Histogram:
    """Return a histogram of the column `value_s`."""
    counts = spark.sql(_DISTRIBUTION, args={"most_s": float(MOST_S)}, values=values).toArrow()
    return Histogram(zip(counts["microseconds"].to_pylist(), counts["times"].to_pylist(), strict=True))


def others(mode_directory: Path) -> OthersFigures | None:
    """Return the figures of the table `others`; None if it is missing."""
    file = mode_directory / OTHERS_FILE
    if not file.exists():
        return None
    rows: list[dict[str, Any]] = pq.read_table(file).to_pylist()
    calls = [row for row in rows if row["kind"] == "call"]
    took_us = Counter(round(row["seconds"] * 1e6) for row in calls if row["error"] is None)
    return OthersFigures(
        took_s=Histogram(took_us.items()).quantiles(),
        failed=sum(row["error"] is not None for row in calls),
        rpc_calls=sum(row["calls"] for row in rows if row["kind"] == "queue"),
        queue_s=_mean(rows, "queue"),
        lock_wait_s=_mean(rows, "lock wait"),
        processing_s=_mean(rows, "processing"),
    )


def _mean(rows: list[dict[str, Any]], kind: str) -> float | None:
    """Return the mean time of this kind over all calls, in seconds; None without calls."""
    found = [row for row in rows if row["kind"] == kind]
    calls = sum(row["calls"] for row in found)
    return math.fsum(row["seconds"] * row["calls"] for row in found) / calls if calls else None
