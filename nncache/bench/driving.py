"""Runs one mode of a run: its files, its server, its pollers and its changes."""

import asyncio
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from nncache.bench.bystander import observe
from nncache.bench.changer import Order, Outcome, change
from nncache.bench.judge.reduction import OTHERS_FILE
from nncache.bench.namespace import BenchNamespace
from nncache.bench.polling.clock import boottime, serving_time
from nncache.bench.polling.collect import collect
from nncache.bench.polling.task import Orders
from nncache.bench.servers.caches import nginx
from nncache.bench.servers.counters import NameNodeAt, Sample, added, sample
from nncache.bench.servers.nncache import AUDITING, audited, nncache
from nncache.bench.servers.running import RunningServer
from nncache.bench.settings import RunSettings
from nncache.bench.shared import tables
from nncache.bench.shared.driver import apart, edits_of_journalnodes, next_of
from nncache.bench.shared.figures import Mode
from nncache.bench.shared.plan import WorkloadPlan
from nncache.hadoop.errors import HadoopError
from nncache.invalidation.settings import JOURNALNODES
from nncache.testbed import Cluster

WARM_UP_SHARES: Final = (0.1, 0.3, 1.0)  # of the pollers: successive steps of equal duration

_PATIENCE_S: Final = 600.0

Show = Callable[[str], None]


class RefusedChangesError(Exception):
    """The NameNode did not make some changes: the figures would be about another workload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The parts that all modes of a run share."""

    settings: RunSettings
    cluster: Cluster | None  # None: an external cluster
    spark: SparkSession

    @property
    def namenode(self) -> NameNodeAt:
        """The address of the NameNode, and the user that changes files there."""
        if self.cluster is not None:
            namenode = self.cluster.namenodes[0]
            return NameNodeAt(namenode.http, self.cluster.superuser, namenode.process.pid, namenode.rpc)
        assert self.settings.namenode is not None
        return self.settings.namenode

    @property
    def beside(self) -> dict[str, int]:
        """The pids of the other processes that work for each change, by source."""
        if self.cluster is None:
            return {}
        processes = {f"journalnode-{n}": each.process for n, each in enumerate(self.cluster.journalnodes, 1)}
        if self.cluster.spec.ha:
            processes["standby"] = self.cluster.namenodes[1].process
        return {source: process.running_pid for source, process in processes.items()}

    def plan(self, mode: Mode) -> WorkloadPlan:
        """Return the plan of a mode's polls and changes; each mode has its own directory."""
        settings = self.settings
        workload = replace(settings.workload, pollers=0) if mode is Mode.UNPOLLED else settings.workload
        return WorkloadPlan(workload, settings.seed, f"{settings.root}/{mode}{settings.variant}")

    @property
    def host(self) -> str:
        """The host that serves the time: the executors must reach Spark's driver anyway."""
        return self.spark.sparkContext.getConf().get("spark.driver.host") or "127.0.0.1"


def warm_up_namenode(stand: Stand, show: Show) -> None:
    """Poll the NameNode in growing steps, so that its JVM compiles the hot code; discard the results.

    All pollers at once would overload it: a call costs several times as much before the code is compiled.
    """
    settings, directory = stand.settings, stand.settings.directory / "warm-up"
    for share in WARM_UP_SHARES:
        show(f"warming the NameNode up, {share:.0%}")
        workload = settings.workload.scaled(pollers=max(1, round(settings.workload.pollers * share)))
        gentle = replace(stand, settings=replace(settings, workload=workload))
        with serving_time(stand.host) as clock:
            duration_s = settings.jvm_warm_up_s / len(WARM_UP_SHARES)
            orders = _orders(gentle, Mode.DIRECT, stand.namenode.http, clock, 0.0, duration_s)
            collect(stand.spark, orders, directory)
    shutil.rmtree(directory)


def run_mode(
    stand: Stand, mode: Mode, show: Show, *, server: AbstractContextManager[RunningServer] | None = None
) -> None:
    """Run one mode, with `server` instead of its own if given, and write its tables.

    Raises:
        RefusedChangesError: the NameNode did not make some changes.
        OSError: the changer ended early.
    """
    settings, directory = stand.settings, stand.settings.directory / mode
    directory.mkdir(parents=True, exist_ok=True)
    order = Order(
        plan=stand.plan(mode),
        namenode=stand.namenode,
        warm_up_s=settings.warm_up_s,
        duration_s=settings.duration_s,
        directory=directory,
    )
    show(f"{mode}: laying out its files")
    asyncio.run(lay_out(order))
    show(f"{mode}: starting")
    with (
        server or _server(stand, mode) as running,
        serving_time(stand.host) as clock,
        apart(change, order, ready_s=_PATIENCE_S) as changer,
    ):
        show(f"{mode}: polling for {settings.warm_up_s + settings.duration_s:g} s")
        orders = _orders(stand, mode, running.address, clock, settings.warm_up_s, settings.duration_s)
        changer.send(orders.zero_s)
        has_failed = threading.Event()
        with ThreadPoolExecutor(2) as aside:
            counting = aside.submit(_count, stand, running, orders, has_failed)
            watching = aside.submit(observe, stand.namenode, orders, has_failed)
            try:
                collect(stand.spark, orders, directory)
            except BaseException:
                has_failed.set()  # report the failure now, not after the measured time
                raise
            rows = counting.result()
            others = watching.result()
        outcome: Outcome = next_of(changer, settings.duration_s + _PATIENCE_S)
        rows += [
            {"source": "proxy", "name": name, "value": count, "unit": tables.AUDITED}
            for name, count in audited(running.metrics()).items()
        ]
    _write_counters(rows, outcome, directory)
    if others:
        tables.write(others, tables.OTHERS, directory / OTHERS_FILE)
    if outcome.refused:
        raise RefusedChangesError(
            f"{len(outcome.refused)} of {outcome.changes} changes were refused; the first: {outcome.refused[0]}"
        )


def _server(stand: Stand, mode: Mode) -> AbstractContextManager[RunningServer]:
    settings, namenode = stand.settings, stand.namenode.http
    if mode in {Mode.DIRECT, Mode.UNPOLLED}:
        return nullcontext(RunningServer(address=namenode))
    if settings.namenode is not None:
        return nullcontext(RunningServer(address=settings.proxy))
    assert stand.cluster is not None
    match mode:
        case Mode.NNCACHE | Mode.WAITING:
            from_journalnodes = settings.edits_source == JOURNALNODES
            edits_flags = edits_of_journalnodes(stand.cluster) if from_journalnodes else ()
            return nncache(
                stand.cluster, stand.plan(mode).globs, settings.channel, AUDITING, edits_flags=edits_flags
            )
        case Mode.NGINX:
            return nginx(namenode, valid_s=settings.nginx_valid_s)


def _orders(stand: Stand, mode: Mode, server: str, clock: str, warm_up_s: float, duration_s: float) -> Orders:
    settings = stand.settings
    return Orders(
        plan=stand.plan(mode),
        tasks=stand.spark.sparkContext.defaultParallelism,
        server=server,
        clock=clock,
        zero_s=boottime() + settings.lead_s + warm_up_s,
        warm_up_s=warm_up_s,
        duration_s=duration_s,
        is_waiting=mode is Mode.WAITING,
    )


async def lay_out(order: Order) -> None:
    """Create the files of a mode. Raises RefusedChangesError: the NameNode refused one."""
    refused: Exception | None = None
    try:
        async with BenchNamespace(order.plan, order.namenode) as namespace:
            await namespace.lay_out(order.changes())
    except* HadoopError as group:
        refused = group.exceptions[0]
    if refused is not None:
        raise RefusedChangesError(f"the files of the run cannot be made: {refused}") from refused


def _count(
    stand: Stand, server: RunningServer, orders: Orders, has_failed: threading.Event
) -> list[dict[str, object]]:
    """Return the rows of the resources used in the measured time; it ends early if the run fails."""

    def look() -> Sample:
        return sample(stand.namenode, {**server.processes, **stand.beside}, server.upkeep)

    has_failed.wait(max(0.0, orders.zero_s - boottime()))
    before = look()
    has_failed.wait(max(0.0, orders.ends_s - boottime()))
    return added(before, look())


def _write_counters(rows: list[dict[str, object]], outcome: Outcome, directory: Path) -> None:
    """Write the table `counters`; the NameNode's count excludes the changer's own calls."""
    for row in rows:
        if (row["source"], row["name"]) == ("namenode", "getFileInfo"):
            row["value"] = float(str(row["value"])) - outcome.asked
    rows.append({"source": "changer", "name": "getFileInfo", "value": float(outcome.asked), "unit": "calls"})
    rows.append({"source": "changer", "name": "cpu", "value": outcome.cpu_s, "unit": "s"})
    generator_s = sum(pq.read_table(directory / "hosts.parquet").column("cpu_s").to_pylist())
    rows.append({"source": "generator", "name": "cpu", "value": generator_s, "unit": "s"})
    tables.write(rows, tables.COUNTERS, directory / "counters.parquet")
