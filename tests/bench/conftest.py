"""Fixtures of the benchmark's tests."""

import os
import sys
import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this process's own JVM, with two slots for tasks; it starts in some seconds."""
    with pytest.MonkeyPatch.context() as environment, warnings.catch_warnings():
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        warnings.simplefilter(
            "ignore"
        )  # what Spark's own modules say of newer pandas, and of sockets left open
        session = (
            SparkSession.builder.master("local[2]")
            .appName("tests")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "2")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()
