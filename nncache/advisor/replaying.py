"""Replay the reads of candidates on Spark. (nncache/advisor/replaying.py)

Rows are partitioned by the directory of the path, on which the answers depend. So the reads of a busy user, glob or
tree are spread over all tasks. A change is sent to the directories of the paths that it makes stale. A change above
directories that are read is sent to each of them, by a join with their ancestors.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as all of Spark's documentation names it

from nncache.advisor import parse, replay
from nncache.advisor.footprints import EVENTS, Mark, RowKind, marks_of
from nncache.advisor.replay import COUNTED, ReplayRules

# Pickled by value, so that executors need no installation of nncache.
cloudpickle.register_pickle_by_value(replay)  # type: ignore[no-untyped-call]  # it has no annotations

_COUNTS: Final = ", ".join(f"{name} long" for name in COUNTED)
_SCHEMA: Final = f"glob int, is_web boolean, bucket long, {_COUNTS}"
_ROW: Final = ("directory", "at", "kind", "path", "user", "glob", "is_web", "weight")
_ROWS_OF_A_TASK: Final = 1_000_000
_MOST_BROADCAST: Final = 200_000
"""The limit of places that are broadcast to all executors, so that changes need no shuffle."""


def rows(reads: DataFrame, events: DataFrame) -> DataFrame:
    """Return the rows of the replay, in the columns of `ReplayRow`.

    Args:
        reads: events with the number of their `glob`: reads of a status, and OPENs over WebHDFS.
        events: all events; only the changes among them are used.
    """
    is_read = F.col("cmd") == "getfileinfo"
    asked = reads.select(
        _parent(F.col("src")).alias("directory"),
        "at",
        F.when(~is_read, RowKind.OPENED.value)
        .when(F.col("allowed"), RowKind.READ.value)
        .otherwise(RowKind.DENIED.value)
        .alias("kind"),
        F.col("src").alias("path"),
        "user",
        "glob",
        "is_web",
        "weight",
    )
    return asked.unionByName(_changes(asked.select("directory").distinct(), events))


def _changes(directories: DataFrame, events: DataFrame) -> DataFrame:
    spark = events.sparkSession
    table = _table(spark)
    changed = events.where((F.col("about") == parse.CHANGES) & F.col("allowed")).join(
        F.broadcast(table), "cmd"
    )
    sources = F.when(
        (F.col("cmd") == "concat") & F.col("src").startswith("["),
        F.split(F.expr("substr(src, 2, length(src) - 2)"), ", "),
    ).otherwise(F.array("src"))
    paths = F.when(F.col("argument") == "src", sources).otherwise(F.array("dst"))
    changed = changed.select("at", "kind", "is_parent", "is_below", F.explode(paths).alias("path"))
    changed = changed.where(F.col("path").startswith("/"))
    path = F.when(F.col("is_parent"), _parent(F.col("path"))).otherwise(F.col("path"))
    changed = changed.select("at", "kind", "is_below", path.alias("path"))
    # A change below a path concerns each directory at or below it; a change of its own status only its parent.
    names = F.split("directory", "/")
    above = F.transform(
        F.sequence(F.lit(2), F.size(names)), lambda count: F.array_join(F.slice(names, 1, count), "/")
    )
    above = F.when(F.col("directory") == "/", F.array(F.lit("/"))).otherwise(
        F.concat(F.array(F.lit("/")), above)
    )
    below = F.transform(above, lambda path: F.concat(F.lit("below "), path))
    holds = F.array(F.concat(F.lit("holds "), F.col("directory")))
    places = directories.select("directory", F.explode(F.concat(below, holds)).alias("place")).persist()
    if places.count() <= _MOST_BROADCAST:
        places = F.broadcast(places)
    place = F.when(F.col("is_below"), F.concat(F.lit("below "), "path")).otherwise(
        F.concat(F.lit("holds "), _parent(F.col("path")))
    )
    return (
        changed.withColumn("place", place)
        .join(places, "place")
        .select(
            "directory",
            "at",
            "kind",
            "path",
            F.lit("").alias("user"),
            F.lit(-1).alias("glob"),
            F.lit(False).alias("is_web"),  # noqa: FBT003 - a column of one value
            F.lit(0).alias("weight"),
        )
    )


def _table(spark: SparkSession) -> DataFrame:
    """Return the marks of all commands, from the table in `footprints.py`."""
    marks: Iterable[tuple[str, Mark]] = ((command, mark) for command in EVENTS for mark in marks_of(command))
    data = [(cmd, int(each.kind), each.argument, each.is_parent, each.is_below) for cmd, each in marks]
    return spark.createDataFrame(
        data, "cmd string, kind int, argument string, is_parent boolean, is_below boolean"
    )


def _parent(path: Column) -> Column:
    """Return the parent of an absolute path, computed on bytes: several times as fast as a pattern."""
    end = F.octet_length(path) - F.octet_length(F.substring_index(path, "/", -1)) - 1
    return F.when(end <= 0, "/").otherwise(F.substring(path.cast("binary"), F.lit(1), end).cast("string"))


def replayed(rows: DataFrame, rules: ReplayRules, partitions: int) -> DataFrame:
    """Return the counts by glob, protocol and bucket, and the gaps between reads (`is_web` null), of `replay.fold`."""
    # Spark's sort compares 8 bytes of the first column: these differ between hashes, but not between most paths.
    spread = F.xxhash64("directory").alias("spread")
    ordered = rows.select(spread, *_ROW).repartition(partitions, "directory")
    ordered = ordered.sortWithinPartitions("spread", *_ROW).drop("spread")
    return ordered.mapInArrow(on_executors(rules), _SCHEMA)


def tasks_for(reads: float, least: int) -> int:
    """Return the number of tasks for this number of reads, so that each task sorts its rows in memory."""
    return max(least, int(reads) // _ROWS_OF_A_TASK)


def on_executors(rules: ReplayRules) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that replays one partition; unpickling it needs no installation of nncache."""
    replay_rows, names = replay.fold, ("glob", "is_web", "bucket", *COUNTED)

    def values(column: pa.Array) -> list[object]:
        """Return the Python values; equal texts share one object, whose hash is cached."""
        if column.null_count:
            return column.to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types
        if not pa.types.is_string(column.type):
            return column.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]  # as above
        texts = column.dictionary_encode()
        known = texts.dictionary.to_pylist()
        return [known[place] for place in texts.indices.to_numpy().tolist()]

    def fold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = (tuple(map(values, batch.columns)) for batch in batches)
        found = list(replay_rows(rules, columns))
        if found:
            types = (pa.int32(), pa.bool_(), *[pa.int64()] * (len(names) - 2))
            arrays = [
                pa.array(each, kind) for each, kind in zip(zip(*found, strict=True), types, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names)

    return fold
