"""The code comes to the executors, and what all of them saw comes home."""

import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from nncache.bench.polling.collect import collect, prepare, zip_code
from nncache.bench.polling.conductor import Conductor, Progress
from nncache.bench.tables import HOSTS, POLLS
from tests.bench.example_orders import orders
from tests.bench.polling_server import Script, serving

pytestmark = pytest.mark.timeout(300)  # Spark may have to start


LEAD_S = 10.0
"""To its time 0, from when a task asks for the time: the driver's clock stands still."""


def test_executors_get_the_code(tmp_path: Path) -> None:
    """A zip that can be imported from, with all that a task needs."""
    names = zipfile.ZipFile(zip_code(tmp_path)).namelist()
    assert {
        "nncache/__init__.py",
        "nncache/bench/__init__.py",
        "nncache/bench/plan.py",
        "nncache/bench/polling/__init__.py",
        "nncache/bench/polling/task.py",
    } <= set(names)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")  # Spark's own
def test_spark_runs_all_pollers_and_brings_home_what_they_saw(spark: SparkSession, tmp_path: Path) -> None:
    """Two tasks, 200 pollers, 2 s: each poll that was due is there, and both hosts."""
    prepare(spark, 2)
    with serving(Script()) as server, Conductor("127.0.0.1", clock=lambda: 0.0) as conductor:
        given = orders(200, server, conductor.address, zero_s=LEAD_S, warm_up_s=1.0, duration_s=2.0)
        collect(spark, given, tmp_path)
        progress = conductor.progress()
    polls, hosts = pq.read_table(tmp_path / "polls.parquet"), pq.read_table(tmp_path / "hosts.parquet")
    assert polls.schema.equals(POLLS, check_metadata=True)
    assert hosts.schema.equals(HOSTS, check_metadata=True)
    measured = [row for row in polls.to_pylist() if row["due_s"] >= 0]
    assert sorted(row["poller"] for row in measured) == sorted(2 * list(range(200)))
    assert {(row["status"], row["file_id"], row["error"]) for row in measured} == {(200, 16389, None)}
    assert [(host["task"], host["pollers"]) for host in hosts.to_pylist()] == [(0, 100), (1, 100)]
    assert all(host["cpu_s"] > 0 for host in hosts.to_pylist())
    assert progress == Progress(polls.num_rows, 0, progress.late)
