"""Spark as a run starts it where the master is local."""

import psutil
import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(300)  # it may have to start


def is_driver(process: psutil.Process) -> bool:
    """Whether it is Spark's own JVM; not one that is just ending."""
    try:
        return "org.apache.spark.deploy.SparkSubmit" in process.cmdline()
    except psutil.Error:
        return False


def test_nobody_else_reaches_it(spark: SparkSession) -> None:
    """All its sockets are on the loopback, and it has no page."""
    (java,) = (child for child in psutil.Process().children(recursive=True) if is_driver(child))
    listening = {each.laddr.ip for each in java.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    assert spark.sparkContext.uiWebUrl is None
