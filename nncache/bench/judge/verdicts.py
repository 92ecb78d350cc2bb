"""Judge each reply by the successive states of its path.

The rules are in `bench/judge/__init__.py`: states, verdicts, open files.
"""

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from nncache.bench.shared.tables import DENIED, FAILED

SLACK_S: Final = 0.001
"""The error of each time in addition to the clock's: the delay from a reply's last byte to the reading of the clock."""

_STATES: Final = """
SELECT
    path_id, change_id, kind, sent_s, acked_s, status, IF(status = :denied, 0, digest) AS digest, file_id,
    row_number() OVER path AS number,
    coalesce(lead(acked_s) OVER path, double('Infinity')) AS ended_s
FROM {changes}
WINDOW path AS (PARTITION BY path_id ORDER BY acked_s, change_id)
"""

_POLLS: Final = """
SELECT
    poller, path_id, due_s, nanvl(sent_s, NULL) AS sent_s, replied_s,
    status, IF(status = :denied, 0, digest) AS digest, file_id, served,
    CAST(clock_error_s AS DOUBLE) + :slack_s AS allowance_s,
    due_s >= 0 AND due_s < :duration_s AS is_measured,
    status <> :failed AND status < 500 AS is_reply
FROM {polls}
"""

# A path has few states and many polls: each poll is joined with one list of the states that say the same.
_VERDICTS: Final = """
WITH known AS (
    SELECT path_id, status, digest, collect_list(struct(number, sent_s, ended_s)) AS states
    FROM {states} GROUP BY path_id, status, digest
), opened AS (
    SELECT path_id, file_id, collect_list(struct(sent_s, acked_s)) AS flights
    FROM {states} WHERE kind = 'create' AND file_id <> 0 GROUP BY path_id, file_id
), begun AS (
    SELECT /*+ BROADCAST(known), BROADCAST(opened) */
        poll.*,
        filter(known.states, state -> state.sent_s <= poll.replied_s + poll.allowance_s) AS states,
        filter(opened.flights, flight -> flight.sent_s <= poll.replied_s + poll.allowance_s) AS flights
    FROM {polls} AS poll
    LEFT JOIN known
        ON poll.is_reply
        AND known.path_id = poll.path_id AND known.status = poll.status AND known.digest = poll.digest
    LEFT JOIN opened
        ON poll.status = 200 AND opened.path_id = poll.path_id AND opened.file_id = poll.file_id
), said AS (
    SELECT
        poller, path_id, due_s, sent_s, replied_s, status, served, allowance_s, is_measured, is_reply,
        array_max(states.number) AS shown,
        array_max(states.ended_s) AS ended_s,
        greatest(array_max(states.ended_s), array_max(flights.acked_s)) AS true_until_s
    FROM begun
), judged AS (
    SELECT
        *,
        CASE
            WHEN NOT is_reply THEN NULL
            WHEN true_until_s >= sent_s - allowance_s THEN 'fresh'
            WHEN true_until_s >= sent_s - :bound_s - allowance_s THEN 'stale'
            ELSE 'wrong'
        END AS verdict
    FROM said
)
SELECT
    poller, path_id, due_s, sent_s, replied_s, status, served, is_measured, is_reply, shown, verdict,
    CASE verdict WHEN 'stale' THEN sent_s - true_until_s WHEN 'wrong' THEN sent_s - ended_s END AS age_s
FROM judged
"""


def states(spark: SparkSession, mode_directory: Path) -> DataFrame:
    """Return the states of all paths: `changes` with each state's number, from 1 for each path, and latest end."""
    changes = spark.read.parquet(str(mode_directory / "changes.parquet"))
    return spark.sql(_STATES, args={"denied": DENIED}, changes=changes)


def verdicts(
    spark: SparkSession, mode_directory: Path, known: DataFrame, *, duration_s: float, bound_s: float
) -> DataFrame:
    """Return `polls` with verdicts, given the states of all paths.

    Additional columns: `is_measured`, `is_reply`, `shown` (number of the latest state that says the same), `verdict`
    ('fresh', 'stale', 'wrong'; null without a reply) and `age_s`; `sent_s` is null if the poll was never sent.
    """
    rows = spark.read.parquet(str(mode_directory / "polls.parquet"))
    polls = spark.sql(
        _POLLS,
        args={"denied": DENIED, "failed": FAILED, "slack_s": SLACK_S, "duration_s": float(duration_s)},
        polls=rows,
    )
    return spark.sql(_VERDICTS, args={"bound_s": float(bound_s)}, polls=polls, states=known)
