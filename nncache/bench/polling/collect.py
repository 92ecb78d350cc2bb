"""The driver's part: start the tasks, collect their rows, write the tables."""

import atexit
import importlib
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import nncache.bench
from nncache.bench.polling.task import HOST, SEEN, Orders, make_task
from nncache.bench.shared.tables import HOSTS, POLLS, write

BENCH: Final = Path(nncache.bench.__file__).parent


class ExecutorError(Exception):
    """Spark's Python workers cannot run a task; the message names the missing part."""


def prepare(spark: SparkSession, tasks: int) -> None:
    """Send the code to the executors and start their Python workers, so that polling can begin soon after.

    Workers of a local master usually import the code from its place; other workers get it as a zip.

    Raises:
        ExecutorError: the workers cannot import the code.
    """
    context = spark.sparkContext
    is_local = (context.master or "local").partition("[")[0] == "local"
    if not is_local or _lacks(spark, tasks):
        directory = Path(tempfile.mkdtemp(prefix="nncache-bench-"))
        atexit.register(
            shutil.rmtree, directory, ignore_errors=True
        )  # executors fetch it from here at any time
        own = list(sys.path)
        context.addPyFile(str(zip_code(directory)))
        # Spark puts the zip first in sys.path. This process and its children need no zip: they have all of nncache.
        sys.path[:] = own
        lacks = _lacks(spark, tasks)
        if lacks:
            raise ExecutorError(f"Spark's Python workers can't poll: {lacks}")


def collect(spark: SparkSession, orders: Orders, directory: Path) -> None:
    """Run all polling tasks to the end; write polls.parquet and hosts.parquet to the directory of the mode.

    Needs a free slot for each task, since all run concurrently (a barrier). Call `prepare` once before, and start the
    warm-up a second or two after the call.
    """
    numbers = spark.range(0, orders.tasks, 1, orders.tasks)
    seen = numbers.mapInArrow(make_task(orders), from_arrow_schema(SEEN), barrier=True).toArrow()
    is_poll = pc.is_null(seen.column(HOST))
    directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        seen.filter(is_poll).select(POLLS.names).cast(POLLS), directory / "polls.parquet", compression="zstd"
    )
    rows = seen.column(HOST).drop_null().to_pylist()
    hosts = sorted((json.loads(row) for row in rows), key=lambda host: int(host["task"]))
    write(hosts, HOSTS, directory / "hosts.parquet")


def zip_code(directory: Path) -> Path:
    """Return a zip of the package `nncache.bench` for `SparkContext.addPyFile`."""
    file = directory / "bench.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in (BENCH.parent / "__init__.py", *sorted(BENCH.rglob("*.py"))):
            archive.write(source, Path("nncache") / source.relative_to(BENCH.parent))
    return file


def _lacks(spark: SparkSession, tasks: int) -> str:
    """Return the reason why workers cannot import a task; empty if they can."""

    def attempt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            try:
                importlib.import_module("nncache.bench.polling.task")
            except ImportError as exc:
                yield pa.RecordBatch.from_pydict({"lacks": [str(exc)]})

    numbers = spark.range(0, tasks, 1, tasks)
    try:
        found = numbers.mapInArrow(attempt, "lacks string", barrier=True).toArrow()
    except (PySparkException, Py4JJavaError) as exc:  # such as one of another version, or one without pyarrow
        raise ExecutorError(f"Spark's Python workers don't run: {exc}") from exc
    return "; ".join(sorted(set(found.column("lacks").to_pylist())))
