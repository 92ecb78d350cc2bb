"""The Spark session of a run."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from nncache.advisor.spark import reasons_of


class SparkStartError(Exception):
    """Spark does not start."""


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """Start Spark, and stop it at the end of the block. Its web UI is off, and it logs errors only.

    Workers run this Python, unless PYSPARK_PYTHON names another one on their hosts.

    Raises:
        SparkStartError: there is no Java, or no such master.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1")
    builder = (
        builder.appName("nncache run_pollers")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
    )
    try:
        spark = builder.getOrCreate()
    except (PySparkException, Py4JJavaError) as error:
        raise SparkStartError(
            f"Spark, which needs Java 17, does not start: {reasons_of(error)[-1]}"
        ) from error
    try:
        yield spark
    finally:
        spark.stop()
