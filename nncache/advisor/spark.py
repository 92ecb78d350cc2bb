"""The Spark session of the advisor, and the errors of Spark. (nncache/advisor/spark.py)"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_PARTITIONS_OF_A_CORE: Final = 2
_MOST_BYTECODE: Final = "8000"
"""In bytes. HotSpot does not compile larger methods (HugeMethodLimit); Spark splits generated code that is larger."""

_WRITTEN_AT_ONCE: Final = "16"
"""The number of folders that a task writes concurrently; if there are more, Spark sorts the rows by folder."""


@contextmanager
def session(master: str | None, time_zone: str) -> Iterator[SparkSession]:
    """Start Spark, or use the session of spark-submit; stop it at the end of the block. Without a master it is local.

    Executors run the same Python as this process, unless PYSPARK_PYTHON names another one.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    builder = SparkSession.builder.appName("nncache advise").config("spark.sql.session.timeZone", time_zone)
    builder = builder.config("spark.sql.codegen.hugeMethodLimit", _MOST_BYTECODE)
    builder = builder.config("spark.sql.maxConcurrentOutputFileWriters", _WRITTEN_AT_ONCE)
    if master is not None:
        builder = builder.master(master)
    if not is_submitted and (master is None or master.startswith("local")):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        partitions = _PARTITIONS_OF_A_CORE * (os.cpu_count() or 1)
        builder = (
            builder.config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "4g")
            .config("spark.log.level", "ERROR")
            .config("spark.sql.shuffle.partitions", str(max(8, partitions)))
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
        )
    spark = builder.getOrCreate()
    try:
        spark.conf.get("spark.sql.session.timeZone")  # an error now if Java has no such zone
        yield spark
    finally:
        spark.stop()


def reasons_of(error: PySparkException | Py4JJavaError) -> list[str]:
    """Return the messages of an error of Spark and of its causes, each without a stack trace."""
    if not isinstance(error, Py4JJavaError):
        return [str(error).partition("\n")[0]]
    cause, reasons = error.java_exception, list[str]()
    while cause is not None:
        reasons.append((cause.getMessage() or cause.getClass().getSimpleName()).partition("\n")[0])
        cause = cause.getCause()
    return reasons
