"""The lateness of each poller for each change.

The rule is in `bench/judge/__init__.py`.
"""

from typing import Final

from pyspark.sql import DataFrame, SparkSession

_COUNTED: Final = """
SELECT path_id, number, acked_s FROM {states}
WHERE change_id >= 0 AND acked_s >= 0 AND acked_s <= :until_s
"""

# `firsts` has, for each poller and path, each state up to the latest one it saw. A reply that shows a state also shows
# all earlier states that the poller has not yet seen.
_LATENESS: Final = """
WITH polled AS (
    SELECT /*+ BROADCAST(counted) */ poller, path_id, shown, replied_s
    FROM {judged} LEFT SEMI JOIN {counted} AS counted USING (path_id)
), seen AS (
    SELECT poller, path_id, shown, min(replied_s) AS replied_s
    FROM polled WHERE shown IS NOT NULL GROUP BY poller, path_id, shown
), steps AS (
    SELECT
        poller, path_id, shown,
        coalesce(lag(shown) OVER (PARTITION BY poller, path_id ORDER BY shown), 0) AS before,
        min(replied_s) OVER (
            PARTITION BY poller, path_id ORDER BY shown DESC ROWS UNBOUNDED PRECEDING
        ) AS replied_s
    FROM seen
), firsts AS (
    SELECT poller, path_id, replied_s, explode(sequence(before + 1, shown)) AS number FROM steps
), pollers AS (
    SELECT DISTINCT poller, path_id FROM polled
)
SELECT /*+ BROADCAST(counted) */
    poller, path_id, counted.number,
    greatest(coalesce(firsts.replied_s, :duration_s) - counted.acked_s, 0) AS value_s
FROM pollers
JOIN {counted} AS counted USING (path_id)
LEFT JOIN firsts USING (poller, path_id, number)
"""

FIRST_LATENESS: Final = """
SELECT path_id, number, min(value_s) AS value_s FROM {lateness} GROUP BY path_id, number
"""
"""One row for each change of each path: the least lateness of all its pollers."""


def counted_until(*, duration_s: float, bound_s: float, period_s: float) -> float:
    """Return the latest time in seconds at which an acknowledged change can still be seen before the end."""
    with_bound = duration_s - 2 * period_s - bound_s
    return with_bound if with_bound > 0 else duration_s - period_s


def lateness(
    spark: SparkSession, known: DataFrame, judged: DataFrame, *, until_s: float, duration_s: float
) -> DataFrame:
    """Return one row for each change and each poller of its path: `poller`, `path_id`, `number`, `value_s`.

    `known` are the states of all paths, `judged` the polls with their verdicts (bench/judge/verdicts.py). Changes
    acknowledged after `until_s` are excluded.
    """
    counted = spark.sql(_COUNTED, args={"until_s": float(until_s)}, states=known)
    return spark.sql(_LATENESS, args={"duration_s": float(duration_s)}, judged=judged, counted=counted)
