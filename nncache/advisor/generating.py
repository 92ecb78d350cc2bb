"""Generate a log on Spark's executors. (nncache/advisor/generating.py)"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from nncache.advisor import generator
from nncache.advisor.generator import Spec, Truth

# Pickled by value, so that executors need no installation of nncache.
cloudpickle.register_pickle_by_value(generator)  # type: ignore[no-untyped-call]  # it has no annotations

_BATCH: Final = 10_000


def _parts(spark: SparkSession, spec: Spec) -> DataFrame:
    return spark.range(0, spec.parts, 1, spec.parts)


def generated_lines(spark: SparkSession, spec: Spec) -> DataFrame:
    """Return the lines as the column `value`, without writing them."""
    lines_of = generator.lines_of

    def lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                found = lines_of(spec, part)
                while some := list(islice(found, _BATCH)):
                    yield pa.RecordBatch.from_arrays([pa.array(some)], ["value"])

    return _parts(spark, spec).mapInArrow(lines, "value string")


def generated_truth(spark: SparkSession, spec: Spec) -> list[Truth]:
    """Return the results of a proxy for the reads of each planted glob."""
    truth_of = generator.truth_of

    def truths(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                found = [each._asdict() for each in truth_of(spec, part)]
                if found:
                    yield pa.RecordBatch.from_pylist(found)

    schema = "glob string, example string, is_web boolean, reads long, hits long, calls long, paths long"
    return [Truth(*row) for row in _parts(spark, spec).mapInArrow(truths, schema).collect()]
