"""A small run of every workload against the real cluster, from the plan to the verdict."""

import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from nncache.bench import driving
from nncache.bench.bystander import CALLS_PER_S
from nncache.bench.checks import checks, compared
from nncache.bench.driving import Stand, run_mode
from nncache.bench.judge.reduction import reduce
from nncache.bench.polling.collect import ExecutorError, prepare
from nncache.bench.servers.nncache import Channel
from nncache.bench.servers.running import RunningServer
from nncache.bench.settings import RunSettings
from nncache.bench.shared.figures import Mode, ModeFigures
from nncache.bench.shared.workload import Workload
from nncache.bench.shared.workload_files import load, names
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon

POLLERS = 60
PERIOD_S = 0.5
BOUND_S = 3.0

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def small(name: str) -> Workload:
    """Return a ready-made workload with few pollers and a short period."""
    workload = load(name).scaled(pollers=POLLERS)
    return replace(workload, period_s=PERIOD_S, changes_per_s=6.0 if workload.changes_per_s else 0.0)


def run(
    cluster: Cluster,
    spark: SparkSession,
    directory: Path,
    workload: Workload,
    mode: Mode,
    *,
    server: AbstractContextManager[RunningServer] | None = None,
    **changed: object,
) -> ModeFigures:
    """Run one mode, or another server in its place; return the judged figures."""
    settings = RunSettings(
        workload=workload,
        seed=1,
        modes=(mode,),
        duration_s=4.0,
        warm_up_s=1.5,
        jvm_warm_up_s=0.0,
        channel=Channel.DIRECT,
        nginx_valid_s=1,
        bound_s=BOUND_S,
        hadoop=cluster.hadoop_version,
        master="local[2]",
        directory=directory,
        command="",
        root=f"/bench-{uuid.uuid4().hex[:8]}",
        lead_s=1.5,
    )
    settings = replace(settings, **changed)  # type: ignore[arg-type] # set by the test
    shown: list[str] = []
    prepare(spark, 2)
    run_mode(Stand(settings=settings, cluster=cluster, spark=spark), mode, shown.append, server=server)
    assert f"{mode}: polling for {settings.warm_up_s + settings.duration_s:g} s" in shown
    return reduce(
        spark,
        directory / mode,
        mode,
        duration_s=settings.duration_s,
        bound_s=BOUND_S,
        period_s=workload.period_s,
    )


@pytest.mark.parametrize("name", names())
def test_each_workload_runs_through_nncache_without_a_fault(
    cluster: Cluster, spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Its changes are made and seen, most answers are hits, and each answer is one that the NameNode gave."""
    workload = small(name)
    figures = run(cluster, spark, tmp_path, workload, Mode.NNCACHE)
    assert figures.wrong == ()
    assert figures.failed == 0
    assert 0 < figures.due <= POLLERS * 8  # polls due before a busy machine was ready are left out
    assert figures.hits > 0
    assert figures.changes
    assert figures.lateness_s.count
    assert figures.calls["getFileInfo"] > 0
    assert figures.upkeep["getEditsFromTxid"]
    assert {"namenode", "proxy", "generator", "changer"} <= figures.cpu_s.keys()
    assert not [check for check in checks((figures,), workload) if "wrong" in check.what and not check.is_met]


def test_the_whole_service_is_measured(cluster: Cluster, spark: SparkSession, tmp_path: Path) -> None:
    """The run has a publisher and ZooKeeper, as in production, and shows the publisher's share of the costs."""
    figures = run(cluster, spark, tmp_path, small("design"), Mode.NNCACHE, channel=Channel.ZOOKEEPER)
    assert figures.wrong == ()
    assert figures.hits > 0
    assert figures.memory_bytes["publisher"] > 10_000_000
    assert figures.upkeep["probe (JMX)"]
    assert figures.others is not None, "a client that does not poll is watched"
    assert (figures.others.took_s.count, figures.others.failed) == (CALLS_PER_S * 4.0, 0)
    assert figures.others.rpc_calls
    assert compared(figures) > 0, "its auditor is on"
    assert figures.audited["beyond"] == 0


def test_asked_directly_the_namenode_is_called_for_each_poll(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    """This is the reference for the others: each poll costs a call, and each answer is fresh."""
    figures = run(cluster, spark, tmp_path, small("design"), Mode.DIRECT)
    assert figures.wrong == ()
    assert (figures.hits, figures.stale) == (0, 0)
    assert figures.calls["getFileInfo"] >= 0.9 * figures.sent  # some are counted a moment after they are sent


def test_without_polls_the_namenode_is_called_for_changes_alone(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    """The rest of its load is independent of any cache in front of it."""
    figures = run(cluster, spark, tmp_path, small("design"), Mode.UNPOLLED)
    assert (figures.due, figures.sent, figures.calls["getFileInfo"]) == (0, 0, 0)
    assert figures.changes > 0
    assert figures.cpu_s["namenode"] > 0


def test_a_run_whose_pollers_fail_ends_at_once(
    cluster: Cluster, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not wait for the end of the hour that was to be measured."""

    def fail(*_: object) -> None:
        raise ExecutorError("no room")

    monkeypatch.setattr(driving, "collect", fail)
    workload = replace(small("design"), changes_per_s=0.0)
    with pytest.raises(ExecutorError, match="no room"):
        run(cluster, spark, tmp_path, workload, Mode.DIRECT, duration_s=3600.0)


@pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="apt-get install nginx-light"
)
def test_a_time_limit_above_the_bound_is_found_in_the_tables(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    """An injected fault: nginx caches for a minute, so no client sees a change; each stale answer is named."""
    workload = replace(small("design"), events=(), changes_per_s=20.0)
    figures = run(cluster, spark, tmp_path, workload, Mode.NGINX, nginx_valid_s=60, duration_s=8.0)
    assert figures.wrong_count > 0
    for wrong in figures.wrong:
        assert wrong.served.lower() == "hit"
        assert wrong.age_s is not None
        assert wrong.age_s > BOUND_S


@contextmanager
def deaf_proxy(cluster: Cluster) -> Iterator[RunningServer]:
    """Run a proxy that receives changes, considers itself up to date, and invalidates nothing."""
    with ProxyDaemon(
        *(*cluster.flags, "--user", cluster.superuser),
        *("--channel", "direct", "--glob", "/bench-*/*/*/*/*/_SUCCESS*", "--audit-share", "1"),
        program=(sys.executable, "-m", "tests.bench.deaf_proxy"),
    ) as proxy:
        yield RunningServer(
            address=proxy.address,
            processes={"proxy": proxy.process.running_pid},
            metrics=proxy.metrics,
        )


def test_a_proxy_that_forgets_nothing_is_found_in_the_tables(
    cluster: Cluster, spark: SparkSession, tmp_path: Path
) -> None:
    """An injected fault: changes arrive and the gate is open, but the cache keeps stale entries."""
    workload = replace(small("design"), changes_per_s=20.0)
    server = deaf_proxy(cluster)
    figures = run(cluster, spark, tmp_path, workload, Mode.NNCACHE, server=server, duration_s=8.0)
    assert figures.wrong_count > 0
    assert {wrong.served for wrong in figures.wrong} == {"hit"}
    assert all(wrong.age_s is not None and wrong.age_s > BOUND_S for wrong in figures.wrong)
    fallen = {check.what for check in checks((figures,), workload) if not check.is_met}
    assert {
        "nncache: wrong answers",
        "nncache: differences beyond the bound that its auditor found",
    } <= fallen
