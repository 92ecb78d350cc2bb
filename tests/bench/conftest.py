"""Fixtures of the benchmarks' tests."""

import os
import sys
import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from nncache.bench.spark import session

FOR_FEW_ROWS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings that change no result; compiling a query takes longer than running it on a test's few rows."""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this process's own JVM, with two task slots; its start takes some seconds."""
    with pytest.MonkeyPatch.context() as environment, warnings.catch_warnings():
        for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
            environment.setenv(name, "")  # so that settings made by `session` are undone, too
            environment.delenv(name)
        environment.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        environment.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        # Spark's own modules warn about newer pandas and unclosed sockets.
        warnings.simplefilter("ignore")
        with session("local[2]") as started:
            environment.delenv("JDK_JAVA_OPTIONS")  # for Spark's JVM only, which is running now
            for name, value in FOR_FEW_ROWS.items():
                started.conf.set(name, value)
            yield started
