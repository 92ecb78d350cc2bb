"""The Spark session of the advisor. (nncache/advisor/spark.py)"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkConf
from pyspark.sql import SparkSession

LOCAL = "local[*]"


@contextmanager
def session(master: str | None, time_zone: str) -> Iterator[SparkSession]:
    """Start Spark, or take the session that spark-submit has set up; it stops with the block.

    Executors run the same Python as this process, unless PYSPARK_PYTHON names theirs.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf()
    builder = SparkSession.builder.appName("nncache advise")
    chosen = master or conf.get("spark.master") or LOCAL
    builder = builder.master(chosen)
    if chosen.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1").config(
            "spark.sql.shuffle.partitions", str(4 * (os.cpu_count() or 1))
        )
        if not conf.contains("spark.driver.memory"):
            builder = builder.config("spark.driver.memory", "4g")
        builder = builder.config("spark.ui.enabled", conf.get("spark.ui.enabled") or "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "ERROR")
    spark = (
        builder.config("spark.sql.session.timeZone", time_zone)
        .config("spark.sql.adaptive.enabled", "true")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .getOrCreate()
    )
    try:
        yield spark
    finally:
        spark.stop()
