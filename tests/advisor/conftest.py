"""One Spark session for all tests of the advisor."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from nncache.advisor.spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Yield a Spark session on two cores."""
    with session("local[2]", "Europe/Berlin") as found:
        yield found
