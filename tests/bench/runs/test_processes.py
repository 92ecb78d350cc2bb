"""The processes of a run: wrk's load, servers to compare with nncache, Spark's tasks, the changer."""

import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from nncache.bench.changer import Order, change
from nncache.bench.polling.clock import boottime, serving_time
from nncache.bench.polling.collect import collect, prepare
from nncache.bench.run import versions
from nncache.bench.servers.caches import haproxy, nginx
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.servers.floor import floor
from nncache.bench.servers.running import RunningServer
from nncache.bench.shared.driver import answer_of, apart
from nncache.bench.shared.plan import WorkloadPlan
from nncache.bench.shared.tables import CHANGES, HOSTS, POLLS
from nncache.bench.shared.workload import ChangeKind, Workload
from nncache.bench.wrk import ask_for, held, loading
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker
from tests.bench.polling_server import Act, Script, orders, reply, serving
from tests.patience import HANG_S

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

LEAD_S = 10.0
"""The lead before time 0, in seconds: Spark may have to start."""

needs_wrk = pytest.mark.skipif(shutil.which("wrk") is None, reason="apt-get install wrk")
needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="apt-get install nginx-light"
)
SCRIPT = """\
local number = 0
request = function()
  number = number + 1
  return wrk.format("GET", "/webhdfs/v1/" .. number)
end
"""


@needs_wrk
def test_a_load_that_is_held_connects_and_asks_for_nothing(tmp_path: Path) -> None:
    """It is held until the gate file exists, or its time is over."""
    script, gate = Script({}), tmp_path / "gate"
    with serving(script) as server:
        with loading(server, held(SCRIPT, gate, int(HANG_S)), connections=5) as counted:
            while script.connections < 6:  # one of them checks that the server is there
                pass
            time.sleep(0.3)
            assert script.targets == []
            gate.touch()
            while len(script.targets) < 20:
                pass
        assert counted[0].requests >= 10
        gate.unlink()
        assert ask_for(server, held(SCRIPT, gate, 1), connections=2, seconds=3).requests > 0


def asked(address: str, path: str, user: str = "u0000") -> tuple[int, str | None]:
    """Return the status, and nginx's cache status."""
    with Asker(address) as nginx_at:
        reply = nginx_at.ask("GET", f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}")
    return reply.status, reply.header("X-Cache-Status")


@needs_nginx
def test_what_is_kept_is_not_asked_for_again() -> None:
    """Files and missing paths are cached by caller; a refusal is not cached."""
    script = Script(
        {
            "/none": (Act(data=reply(status="404 Not Found")),),
            "/denied": (Act(data=reply(status="403 Forbidden")),),
        }
    )
    with serving(script) as namenode, nginx(namenode, valid_s=60) as running:
        assert [asked(running.address, "/file") for _ in range(2)] == [(200, "MISS"), (200, "HIT")]
        assert [asked(running.address, "/none") for _ in range(2)] == [(404, "MISS"), (404, "HIT")]
        assert [asked(running.address, "/denied") for _ in range(2)] == [(403, "MISS"), (403, "MISS")]
        assert asked(running.address, "/file", user="u0001") == (200, "MISS")
        assert psutil.Process(running.processes["nginx"]).name() == "nginx"
    assert len(script.targets) == 5
    assert not psutil.pid_exists(running.processes["nginx"])


@needs_nginx
def test_what_was_kept_for_its_time_is_asked_for_again() -> None:
    """The time is in whole seconds; two seconds later it has passed."""
    fields = (
        "Cache-Control: no-cache",
        "Expires: Sat, 21 Nov 2026 00:00:00 GMT",
        "Set-Cookie: hadoop.auth=x",
    )
    script = Script({"/file": (Act(data=reply(fields=fields)),)})
    with serving(script) as namenode, nginx(namenode, valid_s=1) as running:
        assert asked(running.address, "/file") == (200, "MISS")
        time.sleep(2.1)
        assert asked(running.address, "/file") == (200, "EXPIRED")
        assert asked(running.address, "/file") == (200, "HIT")
    assert len(script.targets) == 2


TARGET = "/webhdfs/v1/?op=GETFILESTATUS&user.name=joe"
SBIN = "/usr/bin:/usr/sbin"


def ask(address: str) -> tuple[int, bytes]:
    """Send a request on a connection of its own."""
    with Asker(address) as server:
        reply = server.ask("GET", TARGET)
    return reply.status, reply.body


@pytest.mark.parametrize(
    ("program", "server"),
    [
        ("", floor),
        ("haproxy", haproxy),
        ("nginx", partial(nginx, valid_s=60)),
        ("nginx", partial(nginx, valid_s=None)),
    ],
)
def test_it_answers_as_the_namenode_does(
    cluster: Cluster, program: str, server: Callable[[str], AbstractContextManager[RunningServer]]
) -> None:
    """The second reply is the same, from the cache if there is one."""
    if program and shutil.which(program, path=SBIN) is None:
        pytest.skip(f"apt-get install {program}")
    right = ask(cluster.namenodes[0].http)
    with server(cluster.namenodes[0].http) as running:
        assert [ask(running.address) for _ in range(3)] == [right] * 3


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")  # Spark's own
def test_spark_runs_all_pollers_and_brings_home_what_they_saw(spark: SparkSession, tmp_path: Path) -> None:
    """Two tasks, 200 pollers, 2 s: each due poll has a row, and both hosts are recorded."""
    prepare(spark, 2)
    with serving(Script()) as server, serving_time("127.0.0.1") as clock:
        given = orders(200, server, clock, zero_s=boottime() + LEAD_S, warm_up_s=1.0, duration_s=2.0)
        collect(spark, given, tmp_path)
    polls, hosts = pq.read_table(tmp_path / "polls.parquet"), pq.read_table(tmp_path / "hosts.parquet")
    assert polls.schema.equals(POLLS, check_metadata=True)
    assert hosts.schema.equals(HOSTS, check_metadata=True)
    measured = [row for row in polls.to_pylist() if row["due_s"] >= 0]
    assert sorted(row["poller"] for row in measured) == sorted(2 * list(range(200)))
    assert {(row["status"], row["file_id"], row["error"]) for row in measured} == {(200, 16389, None)}
    assert [(host["task"], host["pollers"]) for host in hosts.to_pylist()] == [(0, 100), (1, 100)]
    assert all(host["cpu_s"] > 0 for host in hosts.to_pylist())


def test_spark_is_on_the_loopback_alone(spark: SparkSession) -> None:
    """It serves no page; its versions are in the report."""
    (java,) = (child for child in psutil.Process().children(recursive=True) if is_driver(child))
    listening = {each.laddr.ip for each in java.net_connections("tcp") if each.status == psutil.CONN_LISTEN}
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    assert spark.sparkContext.uiWebUrl is None
    assert all(versions(spark, "3.5.0", has_nginx=False).values())


def is_driver(process: psutil.Process) -> bool:
    """Return whether the process is Spark's JVM, and not one that is just ending."""
    try:
        return "org.apache.spark.deploy.SparkSubmit" in process.cmdline()
    except psutil.Error:
        return False


def order_of(namenode: str, directory: Path) -> Order:
    """Return an order to delete files for half a second."""
    workload = Workload(
        name="small",
        description="",
        pollers=4,
        period_s=1.0,
        globs=2,
        paths=12,
        exist_share=1.0,
        changes_per_s=10.0,
        kinds={ChangeKind.DELETE: 1.0},
    )
    return Order(
        plan=WorkloadPlan(workload, 1),
        namenode=NameNodeAt(namenode, "hdfs"),
        warm_up_s=0.0,
        duration_s=0.5,
        directory=directory,
    )


def test_a_changer_says_what_became_of_its_changes(tmp_path: Path) -> None:
    """This NameNode answers everything with a file's status, which is no valid answer to a deletion."""
    with serving(Script()) as namenode:
        given = order_of(namenode, tmp_path)
        with apart(change, given, ready_s=HANG_S) as changer:
            outcome = answer_of(changer, boottime() + 0.1, HANG_S)
    assert len(given.changes()) > 1
    assert (outcome.changes, len(outcome.refused)) == (0, len(given.changes()))
    paths = [given.plan.path(change.path_id) for change in given.changes()]
    assert all(f"delete {path}: " in message for path, message in zip(paths, outcome.refused, strict=True))
    assert 0 < outcome.cpu_s < 0.6
    table = pq.read_table(tmp_path / "changes.parquet")
    assert table.schema.equals(CHANGES)
    assert {(row["kind"], row["status"], row["file_id"]) for row in table.to_pylist()} == {
        ("initial", 200, 16389)
    }
    assert table.num_rows == 12
