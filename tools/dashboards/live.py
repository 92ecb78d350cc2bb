"""`make dashboards`: a real system under load with a Prometheus, and the addresses of its pages.

The load is small, limited in rate and duration, and contains every kind of request. Readers poll for the files that
mark workflows as done. A few clients send requests that no cache answers. Some workflows end during the load, at the
NameNode and through a proxy.
"""

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import aiohttp
import click

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.errors import HadoopError
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.daemon import OwnNameNode, ProxyDaemon, PublisherDaemon
from nncache.testbed.ending import signals_end_it, wait_for_the_end
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from nncache.testbed.programs import find_program
from tools.prometheus import Prometheus

GRAPHS: Final = (
    "nncache:hit_ratio:rate5m",
    "nncache:calls_saved:rate5m",
    "sum by (result) (nncache:requests_by_result:rate5m)",
)
"""The expressions of the link to Prometheus's own graphs."""

RULES: Final = Path(__file__).resolve().parents[2] / "deploy" / "prometheus" / "nncache.rules.yml"
INTERRUPTED: Final = 130
TAKEOVER_S: Final = 10.0
"""The time without an active NameNode, as with a ZKFC: `ha.zookeeper.session-timeout.ms`."""

OWNER: Final = "alice"
ROOT: Final = f"/user/{OWNER}/workflow"
WORKFLOWS: Final = 100
CALLERS: Final = (OWNER, "bob")
READERS: Final = 8
"""Readers of each proxy."""

READ_EVERY_S: Final = 0.04
OTHER_EVERY_S: Final = 0.1
CHANGE_EVERY_S: Final = 0.5

OTHER_CALLS: Final = (
    f"{ROOT}?op=LISTSTATUS",
    f"{ROOT}/0?op=GETFILESTATUS",  # no filter matches it
    f"{ROOT}?op=GETCONTENTSUMMARY",
    f"{ROOT}/0?op=GETACLSTATUS",
)
"""Calls that are never answered from memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The running system."""

    cluster: Cluster
    publisher: PublisherDaemon
    proxies: tuple[ProxyDaemon, ...]
    prometheus: Prometheus


def _fail_over(stand: Stand) -> None:
    stand.cluster.namenodes[0].process.kill()
    time.sleep(TAKEOVER_S)
    stand.cluster.transition_to_active(1)


Act = Callable[[Stand], object]

FAULTS: Final[Mapping[str, tuple[str, Act, Act]]] = {
    "failover": (
        "the active NameNode is killed, and the other one becomes active 10 s later",
        _fail_over,
        lambda stand: stand.cluster.namenodes[0].process.start(),
    ),
    "zookeeper-outage": (
        "ZooKeeper is stopped, and started again",
        lambda stand: stand.cluster.zookeeper.process.stop(),
        lambda stand: stand.cluster.zookeeper.process.start(),
    ),
    "publisher-killed": (
        "the only publisher is killed, and started again",
        lambda stand: stand.publisher.kill(),
        lambda stand: stand.publisher.start(),
    ),
    "cache-too-small": (
        "from the start, one of the two proxies may keep 60 entries of the 100 that its clients ask for",
        lambda _: None,
        lambda _: None,
    ),
}
"""For each name on the command line: the meaning, the function that causes the fault, and the one that mends it."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--duration",
    "duration_s",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Seconds after which the load ends by itself.",
)
@click.option(
    "--fault",
    type=click.Choice(sorted(FAULTS)),
    help="Cause this in the second third of that time: "
    + "; ".join(f"{name}: {meaning}" for name, (meaning, _, _) in FAULTS.items()),
)
def live(duration_s: float, fault: str | None) -> None:
    """Start a cluster, ZooKeeper, a publisher, two proxies, load and Prometheus; Ctrl-C ends all."""
    version = os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION
    try:
        with signals_end_it(), running(version, _say, fault) as stand:
            for line in where_to_look(stand):
                click.echo(line)
            _say(f"load for {duration_s:.0f} s; Ctrl-C ends everything")
            _say(f"the load has ended: {asyncio.run(_under_load(stand, duration_s, fault))} requests")
            if sys.stdout.isatty():
                _say("everything else keeps running until Ctrl-C")
                wait_for_the_end()
    except TestbedError as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        _say("interrupted; everything is stopped")
        sys.exit(INTERRUPTED)
    _say("everything is stopped")


@contextmanager
def running(hadoop_version: str, say: Callable[[str], None], fault: str | None = None) -> Iterator[Stand]:
    """Start the system, and stop it when the context ends, also on an error."""
    find_program("prometheus")
    with ExitStack() as stack:
        say("a real HDFS on this machine, NameNode and DataNode, and a ZooKeeper")
        spec = ClusterSpec(hadoop_version=hadoop_version, with_zookeeper=True, ha=fault == "failover")
        cluster = stack.enter_context(Cluster.start(spec, progress=say))
        asyncio.run(_add_filter(cluster))
        flags = (*cluster.flags, "--user", cluster.superuser, "--zookeeper", cluster.zookeeper.address)
        say("a publisher and two proxies")
        publisher = stack.enter_context(PublisherDaemon(*flags, "--filters-path", "/filters"))
        publisher.await_publishing()
        small = ("--max-cache-entries", "60") if fault == "cache-too-small" else ()
        proxies = tuple(
            stack.enter_context(ProxyDaemon(*flags, "--tenants-by", "user", *own)) for own in (small, ())
        )
        for proxy in proxies:
            proxy.await_gate()
        say("a namespace in that ZooKeeper, with a NameNode of our own")
        namenode = stack.enter_context(OwnNameNode("--zookeeper", cluster.zookeeper.address))
        say("Prometheus with the rules of deploy/prometheus")
        targets = [publisher.admin, *(proxy.admin for proxy in proxies), namenode.admin]
        prometheus = stack.enter_context(
            Prometheus(targets, RULES.read_text(encoding="utf-8"), interval="2s")
        )
        prometheus.await_targets()
        yield Stand(cluster=cluster, publisher=publisher, proxies=proxies, prometheus=prometheus)


async def _add_filter(cluster: Cluster) -> None:
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        await FilterStore(hdfs, "/filters").add(
            Filter("workflows", "/user/*/workflow/*/_SUCCESS", OWNER, ("bob",))
        )


def where_to_look(stand: Stand) -> tuple[str, ...]:
    """Return lines with the addresses for a browser."""
    prometheus = f"http://{stand.prometheus.address}"
    graphs = {
        f"g{number}.{key}": value
        for number, expression in enumerate(GRAPHS)
        for key, value in (("expr", expression), ("tab", "0"), ("range_input", "10m"))
    }
    return (
        f"Prometheus:        {prometheus}/classic/graph?{urlencode(graphs)}",
        f"its alerts:        {prometheus}/classic/alerts",
        f"publisher:         http://{stand.publisher.admin}/",
        *(f"proxy {number}:           http://{each.admin}/" for number, each in enumerate(stand.proxies, 1)),
        f"clients ask:       http://{stand.proxies[0].address}/webhdfs/v1/",
        f"Grafana, if there: data source {prometheus}, import deploy/grafana/dashboards/*.json",
    )


async def _under_load(stand: Stand, duration_s: float, fault: str | None) -> int:
    """Run the load for this duration, with the fault in its second third; return the number of requests sent."""
    async with asyncio.TaskGroup() as group:
        sending = group.create_task(load(stand, duration_s))
        if fault is not None:
            meaning, cause, mend = FAULTS[fault]
            await asyncio.sleep(duration_s / 3)
            _say(f"now {meaning}")
            mended_at = time.monotonic() + duration_s / 3
            await asyncio.to_thread(cause, stand)
            await asyncio.sleep(mended_at - time.monotonic())
            await asyncio.to_thread(mend, stand)
            _say("that is mended")
    return sending.result()


async def load(stand: Stand, duration_s: float) -> int:
    """Run the load for this duration, and return the number of requests sent to proxies."""
    namenode, proxies = f"http://{stand.cluster.namenodes[0].http}", [each.address for each in stand.proxies]
    sent = itertools.count()
    async with WebHdfs(namenode, stand.cluster.superuser) as hdfs:
        await hdfs.mkdirs(ROOT)
        await hdfs.set_owner(ROOT, OWNER)
    with suppress(TimeoutError):
        async with (
            asyncio.timeout(duration_s),
            aiohttp.ClientSession() as session,
            asyncio.TaskGroup() as group,
        ):

            async def ask(proxy: str, targets: Iterator[str], user: str, every_s: float) -> None:
                for target in targets:
                    next(sent)
                    with suppress(aiohttp.ClientError):  # the dashboards show it
                        async with session.get(f"http://{proxy}{PREFIX}{target}&user.name={user}") as reply:
                            await reply.read()
                    await asyncio.sleep(every_s)

            for proxy in proxies:
                for number in range(READERS):  # each from another workflow on
                    workflows = itertools.count(number * WORKFLOWS // READERS)
                    targets = (f"{_success(each)}?op=GETFILESTATUS" for each in workflows)
                    group.create_task(ask(proxy, targets, CALLERS[number % len(CALLERS)], READ_EVERY_S))
                group.create_task(ask(proxy, itertools.cycle(OTHER_CALLS), OWNER, OTHER_EVERY_S))
            group.create_task(_change((namenode, f"http://{proxies[0]}")))
    return next(sent)


def _success(workflow: int) -> str:
    """Return the path of the file that marks a workflow as done."""
    return f"{ROOT}/{workflow % WORKFLOWS}/_SUCCESS"


async def _change(ways: Sequence[str]) -> None:
    """End workflows, and restart the ones that ended longest ago, at each address in turn."""
    for step, way in enumerate(itertools.cycle(ways)):
        with suppress(HadoopError, aiohttp.ClientError, TimeoutError):
            async with WebHdfs(way, OWNER) as hdfs:
                await hdfs.create(_success(step), overwrite=True)
                await hdfs.delete(_success(step + WORKFLOWS // 2))
        await asyncio.sleep(CHANGE_EVERY_S)


def _say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    live()
