"""Cause a restart, an outage and a failover under load, and draw what comes of it: `make bench-events`.

Starts a pair of NameNodes, ZooKeeper, publisher and proxy; polls without a pause; leaves picture, figures and a page.
(bench/events/command.py)
"""

import asyncio
import datetime as dt
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import aiohttp
import click
import msgspec
import uvloop

from nncache.bench import machine
from nncache.bench.at_once import at_once
from nncache.bench.events.chart import CAPTION, draw, finding
from nncache.bench.events.polling import Pollers
from nncache.bench.events.seconds import Counted, Course, Happening, by_second, rates
from nncache.bench.report.charts import as_png
from nncache.bench.servers.counters import NameNodeAt, sample
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import Proxy, Publisher
from nncache.testbed.spec import FULL_SPEED_JVM

ROOT: Final = "/bench-events"
CHANGES_PER_S: Final = 5.0
QUIET_S: Final = 15.0
"""Before the first and after each event."""

OUTAGE_S: Final = 10.0

WARM_UP_S: Final = 15.0
"""Of polls to the NameNode itself before anything counts: its JVM compiles what is hot."""


def main_settings() -> ClusterSpec:
    """Return the cluster: a pair of NameNodes and ZooKeeper."""
    return ClusterSpec(ha=True, with_zookeeper=True, with_datanode=False, namenode_jvm=FULL_SPEED_JVM)


@click.command(context_settings={"show_default": True})
@click.option(
    "--pollers", default=200, type=click.IntRange(1), help="Each has a path and a connection of its own."
)
@click.option(
    "--period", default=0.5, type=click.FloatRange(min=0, min_open=True), help="Seconds between two polls."
)
@click.option(
    "--out", default="build/bench-events", type=click.Path(path_type=Path), help="Directory of the results."
)
def main(pollers: int, period: float, out: Path) -> None:
    """Show what pollers see of a cold start, a restart of the proxy, an outage of ZooKeeper and a failover."""
    with ExitStack() as running:
        cluster = running.enter_context(Cluster.start(main_settings()))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(make(cluster, pollers))
            runner.run(polled(cluster.namenodes[0].http, pollers, period).run(WARM_UP_S))
            flags = daemon_flags(cluster)
            publisher = running.enter_context(Publisher(*flags, "--filters-path", f"{ROOT}/filters"))
            publisher.await_publishing()
            proxy = running.enter_context(Proxy(*flags))
            proxy.await_gate()
            course = runner.run(observe(cluster, proxy, pollers, period))
    write(course, out)
    click.echo(f"picture: {out / 'events.png'}")


def write(course: Course, out: Path) -> None:
    """Leave picture, figures and a page of a run in a directory, which is made if it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "events.json").write_bytes(msgspec.json.format(msgspec.json.encode(course)) + b"\n")
    (out / "events.png").write_bytes(as_png(draw(course)))
    (out / "README.md").write_text(page(course, machine.described()), encoding="utf-8")


def page(course: Course, host: Mapping[str, str]) -> str:
    """Return what is to be known of the picture, as Markdown."""
    said = finding(course)
    how = (
        f"{course.pollers:,} pollers, each every {course.period_s:g} s; {CHANGES_PER_S:g} changes of files a second; "
        f"{course.date}. Run it again with `make bench-events`; all figures are in [events.json](events.json)."
    )
    parts = (
        f"# {said}",
        f"![{said}](events.png)",
        CAPTION,
        how,
        "\n".join(f"- {name}: {value}" for name, value in host.items()),
    )
    return "\n\n".join(parts) + "\n"


def daemon_flags(cluster: Cluster) -> tuple[str, ...]:
    """Return what publisher and proxy are started with."""
    assert cluster.zookeeper is not None
    http = ",".join(namenode.http for namenode in cluster.namenodes)
    rpc = ",".join(namenode.rpc for namenode in cluster.namenodes)
    namenodes = ("--nameservice", "ns1", "--namenode-http", http, "--namenode-rpc", rpc)
    return (*namenodes, "--zookeeper", cluster.zookeeper.address, "--zookeeper-root", "/bench-events")


def path_of(number: int) -> str:
    """Return a poller's path; every other one exists."""
    return f"{ROOT}/data/{number:05}"


def request_of(number: int) -> bytes:
    """Return a poller's request."""
    target = f"/webhdfs/v1{path_of(number)}?op=GETFILESTATUS&user.name=joe"
    return f"GET {target} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()


def polled(address: str, pollers: int, period_s: float) -> Pollers:
    """Return pollers of a server."""
    return Pollers(address, tuple(map(request_of, range(pollers))), period_s)


async def make(cluster: Cluster, pollers: int) -> None:
    """Make the filter, and the paths that exist."""
    async with hdfs_of(cluster) as hdfs:
        await hdfs.mkdirs(f"{ROOT}/data")
        await at_once(hdfs.mkdirs(path_of(number)) for number in range(0, pollers, 2))
        await FilterStore(hdfs, f"{ROOT}/filters").add(Filter("events", f"{ROOT}/data/*", cluster.superuser))


def hdfs_of(cluster: Cluster) -> WebHdfs:
    """Return HDFS as its superuser, whichever NameNode is active."""
    first, *others = (f"http://{namenode.http}" for namenode in cluster.namenodes)
    return WebHdfs(first, cluster.superuser, others=others)


async def observe(cluster: Cluster, proxy: Proxy, pollers: int, period_s: float) -> Course:
    """Poll, cause the events one after the other, and return what came of it."""
    polling = polled(proxy.address, pollers, period_s)
    events = Events(cluster, proxy)
    duration_s = round(events.lasts_s)
    counted: list[Counted] = []
    async with asyncio.TaskGroup() as tasks:
        beside = [
            tasks.create_task(count(cluster, counted)),
            tasks.create_task(change(cluster, pollers)),
            tasks.create_task(events.cause()),
        ]
        await polling.run(duration_s)
        for task in beside:
            task.cancel()
    began_at = events.began_at
    return Course(
        pollers=pollers,
        period_s=period_s,
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        seconds=by_second(polling.polls, duration_s),
        calls=rates([Counted(each.at_s - began_at, each.calls) for each in counted]),
        happenings=tuple(
            Happening(each.what, each.from_s - began_at, each.until_s - began_at) for each in events.happened
        ),
    )


class Events:
    """What is done to a cluster and its proxy, with quiet times in between."""

    def __init__(self, cluster: Cluster, proxy: Proxy) -> None:
        self._cluster = cluster
        self._proxy = proxy
        self.happened: list[Happening] = []  # by time.monotonic()
        self.began_at = time.monotonic()

    @property
    def lasts_s(self) -> float:
        """About how long all takes."""
        return 4 * QUIET_S + OUTAGE_S + 15.0

    async def cause(self) -> None:
        """Cause one after the other."""
        for what, act in (
            ("restart of the proxy", self._restart),
            (f"{OUTAGE_S:g} s without ZooKeeper", self._cut_zookeeper),
            ("NameNode failover", self._fail_over),
        ):
            await asyncio.sleep(QUIET_S)
            from_s = time.monotonic()
            await asyncio.to_thread(act)
            self.happened.append(Happening(what, from_s, time.monotonic()))

    def _restart(self) -> None:
        self._proxy.stop()
        self._proxy.start()

    def _cut_zookeeper(self) -> None:
        assert self._cluster.zookeeper is not None
        self._cluster.zookeeper.process.kill()
        time.sleep(OUTAGE_S)
        self._cluster.zookeeper.process.start()

    def _fail_over(self) -> None:
        self._cluster.transition_to_standby(0)
        self._cluster.transition_to_active(1)


async def count(cluster: Cluster, counted: list[Counted]) -> None:
    """Ask the NameNodes each second how many calls they have answered."""

    def look() -> Counted:
        calls: dict[str, float] = {}
        for namenode in cluster.namenodes:
            at = NameNodeAt(namenode.http, cluster.superuser)
            for (source, name, unit), value in sample(at, {}, dict).values.items():
                if (source, unit) == ("namenode", "calls"):
                    kind = name.removeprefix("upkeep:")
                    calls[kind] = calls.get(kind, 0.0) + value
        return Counted(time.monotonic(), calls)

    while True:
        counted.append(await asyncio.to_thread(look))
        await asyncio.sleep(1.0)


async def change(cluster: Cluster, pollers: int) -> None:
    """Change paths that exist, one after the other, behind the proxy's back."""
    async with hdfs_of(cluster) as hdfs:
        number = 0
        while True:
            number += 2
            with suppress(HadoopError, aiohttp.ClientError, TimeoutError):  # while no NameNode is active
                await hdfs.set_permission(path_of(number % pollers & ~1), f"7{number % 8}{number // 8 % 8}")
            await asyncio.sleep(1 / CHANGES_PER_S)
