"""One mode of a run: its files, its server, its pollers and its changes, in step."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from nncache.bench import tables
from nncache.bench.bystander import Watched, observe
from nncache.bench.changing.changer import Order, Outcome
from nncache.bench.changing.namespace import BenchNamespace
from nncache.bench.changing.process import ChangerProcess
from nncache.bench.judge.others import FILE
from nncache.bench.plan import Plan
from nncache.bench.polling.clock import boottime
from nncache.bench.polling.collect import collect
from nncache.bench.polling.conductor import Conductor, Progress
from nncache.bench.polling.task import Orders
from nncache.bench.servers.counters import NameNodeAt, Sample, sample
from nncache.bench.servers.nginx import nginx
from nncache.bench.servers.nncache import AUDITING, nncache
from nncache.bench.servers.running import Running
from nncache.bench.settings import Mode, RunSettings
from nncache.testbed import Cluster

WARM_UP_SHARES: Final = (0.1, 0.3, 1.0)
"""Of the pollers, one after the other, each for as long."""

_LOOK_S: Final = 0.2


class RefusedChangesError(Exception):
    """The NameNode did not make some changes: the figures would be about another workload."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What is shown of a mode while it runs.

    Attributes:
        what: is going on.
        done: of `total`, in whatever this stage counts.
        said: more about it.
    """

    what: str
    done: float
    total: float
    said: str = ""


Show = Callable[[Stage], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What all modes of a run share."""

    settings: RunSettings
    cluster: Cluster | None  # None: it is elsewhere
    spark: SparkSession

    @property
    def namenode(self) -> NameNodeAt:
        """The NameNode."""
        if self.cluster is not None:
            namenode = self.cluster.namenodes[0]
            return NameNodeAt(namenode.http, self.cluster.superuser, namenode.process.pid, namenode.rpc)
        assert self.settings.elsewhere is not None
        return NameNodeAt(self.settings.elsewhere.namenode, self.settings.elsewhere.superuser)

    def root(self, mode: Mode) -> str:
        """Return the directory of a mode's files: each has its own, as it finds them."""
        return f"{self.settings.root}/{mode}{self.settings.variant}"

    def plan(self, mode: Mode) -> Plan:
        """Return the plan of a mode."""
        return Plan(self.settings.workload, self.settings.seed, self.root(mode))


def warm_up_namenode(stand: Stand, show: Show) -> None:
    """Poll the NameNode for a while, more and more, so that its JVM has compiled what is hot. Nothing is kept of it.

    At once would be too much: before that is compiled a call costs several times as much.
    """
    settings, directory = stand.settings, stand.settings.directory / "warm-up"
    for share in WARM_UP_SHARES:
        workload = settings.workload.scaled(pollers=max(1, round(settings.workload.pollers * share)))
        gentle = replace(stand, settings=replace(settings, workload=workload))
        with _conductor(stand) as conductor, ThreadPoolExecutor(1) as aside:
            duration_s = settings.jvm_warm_up_s / len(WARM_UP_SHARES)
            orders = _orders(gentle, Mode.DIRECT, stand.namenode.http, conductor, 0.0, duration_s)
            polling = aside.submit(collect, stand.spark, orders, directory)
            _watch(f"warming the NameNode up, {share:.0%}", polling, conductor, orders, show)
            polling.result()
    for file in directory.iterdir():
        file.unlink()
    directory.rmdir()


def run_mode(
    stand: Stand, mode: Mode, show: Show, *, server: AbstractContextManager[Running] | None = None
) -> None:
    """Run one mode and leave its tables.

    Args:
        stand: what all modes share.
        mode: which.
        show: called with how far it is.
        server: polled instead of the mode's own.

    Raises:
        RefusedChangesError: the NameNode did not make some changes.
        bench.changing.process.ChangerError: the changer has ended before its time.
        testbed.TestbedError: a server does not start.
    """
    settings, directory = stand.settings, stand.settings.directory / mode
    directory.mkdir(parents=True, exist_ok=True)
    order = _order(stand, mode, directory)
    asyncio.run(_lay_out(stand, mode, order, show))
    show(Stage(f"starting {mode}", 0, 1))
    with (
        server or _server(stand, mode) as running,
        _conductor(stand) as conductor,
        ChangerProcess(order) as changer,
    ):
        changer.await_ready()
        orders = _orders(stand, mode, running.address, conductor, settings.warm_up_s, settings.duration_s)
        changer.begin(orders.zero_s)
        has_failed = threading.Event()
        with ThreadPoolExecutor(3) as aside:
            polling = aside.submit(collect, stand.spark, orders, directory)
            counting = aside.submit(_count, stand, running, orders, has_failed)
            watching = aside.submit(_watch_others, stand, mode, orders, has_failed)
            try:
                _watch(str(mode), polling, conductor, orders, show)
                polling.result()
            except BaseException:
                has_failed.set()  # else it would be said only when the measured time is over
                raise
            rows = counting.result()
            others = watching.result()
        outcome = changer.outcome()
        rows += [
            {"source": "proxy", "name": name, "value": count, "unit": tables.AUDITED}
            for name, count in running.audited().items()
        ]
    _write_counters(rows, outcome, directory)
    if others:
        tables.write(others, tables.OTHERS, directory / FILE)
    if outcome.refused:
        raise RefusedChangesError(
            f"{len(outcome.refused)} of {outcome.changes} changes were refused; the first: {outcome.refused[0]}"
        )


def _server(stand: Stand, mode: Mode) -> AbstractContextManager[Running]:
    namenode = stand.namenode.http
    if mode is Mode.DIRECT:
        return _there(namenode)
    if stand.settings.elsewhere is not None:
        return _there(stand.settings.elsewhere.servers[mode])
    assert stand.cluster is not None
    match mode:
        case Mode.NNCACHE | Mode.WAITING:
            return nncache(stand.cluster, stand.plan(mode).globs, stand.settings.channel, AUDITING)
        case Mode.NGINX:
            return nginx(namenode, valid_s=stand.settings.nginx_valid_s)


def _conductor(stand: Stand) -> Conductor:
    """Return one that the executors can reach: they have to reach Spark's driver anyway."""
    return Conductor(stand.spark.sparkContext.getConf().get("spark.driver.host") or "127.0.0.1")


@contextmanager
def _there(address: str) -> Iterator[Running]:
    yield Running(address=address)


def _order(stand: Stand, mode: Mode, directory: Path) -> Order:
    settings = stand.settings
    return Order(
        workload=settings.workload,
        seed=settings.seed,
        root=stand.root(mode),
        namenode=stand.namenode.http,
        superuser=stand.namenode.superuser,
        warm_up_s=settings.warm_up_s,
        duration_s=settings.duration_s,
        directory=str(directory),
    )


def _orders(
    stand: Stand, mode: Mode, server: str, conductor: Conductor, warm_up_s: float, duration_s: float
) -> Orders:
    settings = stand.settings
    return Orders(
        workload=settings.workload,
        seed=settings.seed,
        root=stand.root(mode),
        tasks=stand.spark.sparkContext.defaultParallelism,
        server=server,
        conductor=conductor.address,
        zero_s=boottime() + settings.lead_s + warm_up_s,
        warm_up_s=warm_up_s,
        duration_s=duration_s,
        is_waiting=mode is Mode.WAITING,
    )


async def _lay_out(stand: Stand, mode: Mode, order: Order, show: Show) -> None:
    plan = stand.plan(mode)
    async with BenchNamespace(plan, order.namenode, order.superuser) as namespace:
        await namespace.lay_out(
            order.changes(), lambda made, total: show(Stage(f"laying out the files of {mode}", made, total))
        )


def _count(
    stand: Stand, server: Running, orders: Orders, has_failed: threading.Event
) -> list[dict[str, object]]:
    """Return what was used between the beginning and the end of the measured time, if the run has not failed."""

    def look() -> Sample:
        return sample(stand.namenode, server.processes, server.upkeep)

    has_failed.wait(max(0.0, orders.zero_s - boottime()))
    before = look()
    has_failed.wait(max(0.0, orders.zero_s + orders.duration_s - boottime()))
    return look().since(before)


def _watch_others(
    stand: Stand, mode: Mode, orders: Orders, has_failed: threading.Event
) -> list[dict[str, object]]:
    """Return what a client that does not poll meets in the measured time; nothing if the RPC port is not known."""
    namenode = stand.namenode
    if namenode.rpc is None:
        return []
    watched = Watched(
        http=namenode.http,
        rpc=namenode.rpc,
        user=namenode.superuser,
        path=stand.root(mode),
        begins_s=orders.zero_s,
        ends_s=orders.zero_s + orders.duration_s,
    )
    return observe(watched, has_failed)


def _write_counters(rows: list[dict[str, object]], outcome: Outcome, directory: Path) -> None:
    """Write the table; the changer's own questions are taken off the NameNode's count."""
    for row in rows:
        if (row["source"], row["name"]) == ("namenode", "getFileInfo"):
            row["value"] = float(str(row["value"])) - outcome.asked
    rows.append({"source": "changer", "name": "getFileInfo", "value": float(outcome.asked), "unit": "calls"})
    rows.append({"source": "changer", "name": "cpu", "value": outcome.cpu_s, "unit": "s"})
    generator_s = sum(pq.read_table(directory / "hosts.parquet").column("cpu_s").to_pylist())
    rows.append({"source": "generator", "name": "cpu", "value": generator_s, "unit": "s"})
    tables.write(rows, tables.COUNTERS, directory / "counters.parquet")


def _watch(what: str, polling: "Future[None]", conductor: Conductor, orders: Orders, show: Show) -> None:
    """Show how far the polling has come, until it ends."""
    whole_s = orders.warm_up_s + orders.duration_s
    while not wait((polling,), timeout=_LOOK_S).done:
        passed_s = boottime() - orders.zero_s + orders.warm_up_s
        said = _said(conductor.progress())
        show(Stage(what, min(max(0.0, passed_s), whole_s), whole_s, said))


def _said(progress: Progress) -> str:
    return f"{progress.polls:,} polls, {progress.failed:,} failed, {progress.late:,} late"
