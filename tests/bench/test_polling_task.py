"""A task runs its share of the pollers on the driver's clock; Spark brings home what all of them saw."""

import pickle
import resource
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from bench.polling.clock import boottime
from bench.polling.collect import collect, prepare, zip_code
from bench.polling.conductor import Conductor, Progress
from bench.polling.task import HOST, Orders, TaskError, allow_files, run
from bench.tables import HOSTS, POLLS
from bench.workload import Workload
from tests.bench.polling_server import Script, serving

SHIFT_S = 500.0


def orders(pollers: int, server: str, conductor: str, **changed: float) -> Orders:
    """Return orders for two tasks, one poll a second of each poller."""
    workload = Workload(name="test", description="", pollers=pollers, period_s=1.0, globs=5, paths=20)
    return Orders(
        workload=workload,
        seed=3,
        tasks=2,
        server=server,
        conductor=conductor,
        zero_s=changed.get("zero_s", boottime() + 1.0),
        warm_up_s=changed.get("warm_up_s", 0.5),
        duration_s=changed.get("duration_s", 1.0),
    )


def test_a_task_polls_its_share_on_the_drivers_clock() -> None:
    """Every second poller, at times relative to the driver's zero, though its own clock is far off."""
    script = Script()
    with serving(script) as server, Conductor("127.0.0.1", clock=lambda: boottime() - SHIFT_S) as conductor:
        given = orders(20, server, conductor.address, zero_s=boottime() - SHIFT_S + 1.0)
        table = pa.Table.from_batches(run(given, 1))
    rows = [row for row in table.to_pylist() if row[HOST] is None]
    phases = {poller.number: poller.phase_s for poller in given.pollers(1)}
    assert set(phases) == set(range(1, 20, 2))
    measured = [row for row in rows if row["due_s"] >= 0]
    assert {row["poller"] for row in measured} == set(phases)
    assert all(
        (row["due_s"] - phases[row["poller"]] + 0.5) % 1 == pytest.approx(0, abs=1e-6)
        or (row["due_s"] - phases[row["poller"]] + 0.5) % 1 == pytest.approx(1, abs=1e-6)
        for row in rows
    )
    assert all(row["due_s"] <= row["sent_s"] <= row["replied_s"] < row["due_s"] + 0.5 for row in rows)
    assert all("?op=GETFILESTATUS&user.name=u000" in target for target in script.targets)
    assert set(script.targets) == {
        request.decode().split(" ")[1] for poller in given.pollers(1) for request in given.requests(poller)
    }


def test_a_task_that_comes_too_late_says_so() -> None:
    """Its polls would all be late, and nobody else's fault."""
    with Conductor("127.0.0.1") as conductor:
        late = orders(2, "127.0.0.1:1", conductor.address, zero_s=boottime() - 1)
        with pytest.raises(TaskError, match="after the measured time had begun"):
            list(run(late, 0))


def test_too_few_open_files_are_refused_before_anything_is_sent() -> None:
    """The message says how many there are and how many are needed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_files(hard)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    with pytest.raises(TaskError, match=f"{hard} open files, but {hard + 1} are needed"):
        allow_files(hard + 1)


def test_orders_travel() -> None:
    """As Spark sends them."""
    given = orders(2, "a:1", "b:2")
    assert pickle.loads(pickle.dumps(given)) == given  # noqa: S301 - our own


def test_executors_get_the_code(tmp_path: Path) -> None:
    """A zip that can be imported from, with all that a task needs."""
    names = zipfile.ZipFile(zip_code(tmp_path)).namelist()
    assert {
        "bench/__init__.py",
        "bench/plan.py",
        "bench/polling/__init__.py",
        "bench/polling/task.py",
    } <= set(names)


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")  # Spark's own
def test_spark_runs_all_pollers_and_brings_home_what_they_saw(spark: SparkSession, tmp_path: Path) -> None:
    """Two tasks, 200 pollers, 2 s: each poll that was due is there, and both hosts."""
    prepare(spark, 2)
    with serving(Script()) as server, Conductor("127.0.0.1") as conductor:
        given = orders(200, server, conductor.address, zero_s=boottime() + 5.0, warm_up_s=1.0, duration_s=2.0)
        collect(spark, given, tmp_path)
        progress = conductor.progress()
    polls, hosts = pq.read_table(tmp_path / "polls.parquet"), pq.read_table(tmp_path / "hosts.parquet")
    assert polls.schema.equals(POLLS, check_metadata=True)
    assert hosts.schema.equals(HOSTS, check_metadata=True)
    measured = [row for row in polls.to_pylist() if row["due_s"] >= 0]
    assert sorted(row["poller"] for row in measured) == sorted(2 * list(range(200)))
    assert {(row["status"], row["file_id"], row["error"]) for row in measured} == {(200, 16389, None)}
    assert [(host["task"], host["pollers"]) for host in hosts.to_pylist()] == [(0, 100), (1, 100)]
    assert all(0 < host["cpu_s"] < 2 and abs(host["clock_offset_s"]) < 0.05 for host in hosts.to_pylist())
    assert progress == Progress(polls.num_rows, 0, progress.late)
