"""Fixtures of the benchmark's tests."""

import os
import sys
import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from bench.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark in this process's own JVM, with two slots for tasks; it starts in some seconds."""
    with pytest.MonkeyPatch.context() as environment, warnings.catch_warnings():
        for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP"):
            environment.setenv(name, "")  # what `session` sets is undone, too
            environment.delenv(name)
        environment.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        # Spark's own modules have things to say of newer pandas, and of sockets left open.
        warnings.simplefilter("ignore")
        with session("local[2]") as started:
            yield started
