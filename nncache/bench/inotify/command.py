"""Measure the inotify service: `make bench-inotify`.

Starts a real NameNode and ZooKeeper, applies many filters, and starts publishers: with an empty ZooKeeper, and again
with nothing changed. On a second cluster events go to subscribers beside many edits, a publisher reads what was changed
while it was away, and one filter is flooded. Prints a line for each, leaves them in a directory, and exits with 1 when
one falls short.
(bench/inotify/command.py)
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from nncache.bench.inotify.delivery import SUBSCRIBERS, measured_catch_up, measured_delivery
from nncache.bench.inotify.figures import CatchUp, Delivery, Overload, Start
from nncache.bench.inotify.load import MARK
from nncache.bench.inotify.namenode_calls import AGE_S, attribute_calls, file_calls
from nncache.bench.inotify.overload import LOUD, QUIET, WRITES_PER_S, measured_overload
from nncache.bench.servers.counters import use_of
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import encode_filters
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.daemon import Publisher
from nncache.testbed.spec import FULL_SPEED_JVM

PARTS: Final = ("starts", "delivery", "catch-up", "overload")

_FILTERS_PATH: Final = "/filters"
_LOOK_S: Final = 0.02
_START_TIMEOUT_S: Final = 180.0
_SHORTFALL: Final = 1

_QUICK: Final = (
    *("--poll-budget-share", "0.25"),
    *("--roll-after-txids", "4000", "--roll-interval-s", "2"),
)
"""What an operator says who wants events within tens of milliseconds beside 2,000 edits a second (docs/inotify.md).

A poll reads the open segment from its start, and takes 3 ms of a short one.
"""

_UNBOUNDED: Final = ("--poll-budget-share", "1")
"""What is measured of catching up is the publisher's CPU, not how long the NameNode's is spared."""


@click.command(context_settings={"show_default": True})
@click.option("--filters", "count", default=5_000, type=click.IntRange(1), help="How many there are.")
@click.option("--restarts", default=3, type=click.IntRange(1), help="With nothing changed.")
@click.option(
    "--delivering", default=1_000, type=click.IntRange(1), help="Filters while events are delivered."
)
@click.option("--subscribers", default=SUBSCRIBERS, type=click.IntRange(1), help="Of these, with one each.")
@click.option("--seconds", default=60.0, type=click.FloatRange(1), help="Of events, and of the flood.")
@click.option("--backlog", default=200_000, type=click.IntRange(1_000), help="Edits to be read at once.")
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(PARTS), default=PARTS, help="What is measured."
)
@click.option(
    "--out", default="build/bench-inotify", type=click.Path(path_type=Path), help="Directory of the figures."
)
def main(
    count: int,
    restarts: int,
    *,
    delivering: int,
    subscribers: int,
    seconds: float,
    backlog: int,
    parts: tuple[str, ...],
    out: Path,
) -> None:
    """Measure an inotify service: starts with many filters, delivery, catching up, a flood."""
    out.mkdir(parents=True, exist_ok=True)
    found = dict[str, list[Start | Delivery | CatchUp | Overload]]()

    def note(part: str, what: Start | Delivery | CatchUp | Overload) -> None:
        found.setdefault(part, []).append(what)
        click.echo(what.line())

    try:
        if "starts" in parts:
            with _cluster(out, *_many(count)) as cluster, _publisher(cluster) as publisher:
                for number in range(1 + restarts):
                    note("starts", _measured(cluster, publisher, count, is_restart=number > 0))
        if {"delivery", "catch-up"} & {*parts}:
            with _cluster(out, *_many(delivering)) as cluster:
                if "delivery" in parts:
                    with _publisher(cluster, *_QUICK) as publisher:
                        _measured(cluster, publisher, delivering, is_restart=False)
                        names = [_name(number) for number in range(min(subscribers, delivering))]
                        note("delivery", measured_delivery(cluster, publisher, names, seconds, delivering))
                if "catch-up" in parts:
                    with _publisher(cluster, *_UNBOUNDED) as publisher:
                        _measured(cluster, publisher, delivering, is_restart=True)
                        idle = _measured(cluster, publisher, delivering, is_restart=True)
                        note("catch-up", measured_catch_up(cluster, publisher, backlog, idle.cpu_s))
        if "overload" in parts:
            tenants = [Filter(name, f"/{name}/{{*,after/*}}/*/x/{MARK}", name) for name in (LOUD, QUIET)]
            limit = ("--max-events-per-s-per-filter", str(WRITES_PER_S))
            with _cluster(out, *tenants) as cluster, _publisher(cluster, *limit) as publisher:
                _measured(cluster, publisher, len(tenants), is_restart=False)
                note("overload", measured_overload(cluster, publisher, seconds))
    except (TestbedError, OSError, subprocess.CalledProcessError) as error:
        raise click.ClickException(str(error)) from error
    for part, figures in found.items():
        text = json.dumps([asdict(each) for each in figures], indent=1)
        (out / f"{part}.json").write_text(text, encoding="utf-8")
    if not all(each.is_good for figures in found.values() for each in figures):
        sys.exit(_SHORTFALL)


@contextmanager
def _cluster(out: Path, *filters: Filter) -> Iterator[Cluster]:
    """Give a cluster with these filters."""
    spec = ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False, with_zookeeper=True)
    with Cluster.start(spec) as cluster:
        _apply(cluster, out / "filters.toml", filters)
        yield cluster


def _measured(cluster: Cluster, publisher: Publisher, count: int, *, is_restart: bool) -> Start:
    """Start it, wait until all filters are in force and compared with HDFS, and stop it."""
    publisher.stop()
    http = cluster.namenodes[0].http
    time.sleep(AGE_S)
    files, attributes, began = file_calls(http), attribute_calls(http), time.monotonic()
    publisher.process.launch()
    in_force_s = 0.0
    while True:
        seen = publisher.readiness() and publisher.metrics()
        now_s = time.monotonic() - began
        if now_s > _START_TIMEOUT_S:
            raise click.ClickException(f"not started in {now_s:.0f} s: {publisher.process.last_words()}")
        if seen and seen["nncache_publisher_filters"] == count and not in_force_s:
            in_force_s = now_s
        if in_force_s and seen["nncache_publisher_filters_read_total"] >= count:
            break
        time.sleep(_LOOK_S)
    pid = publisher.process.running_pid
    cpu_s, waited_s, load = use_of(pid)[0], _waited_s(pid), os.getloadavg()[0]
    time.sleep(AGE_S)
    return Start(
        is_restart=is_restart,
        filters=count,
        in_force_s=in_force_s,
        compared_s=now_s,
        zookeeper_calls=int(seen["nncache_zookeeper_calls_total"]),
        namenode_calls=file_calls(http) - files,
        attribute_calls=attribute_calls(http) - attributes,
        cpu_s=cpu_s,
        waited_s=waited_s,
        load=load,
    )


def _waited_s(pid: int) -> float:
    """Return how long the threads of a process were ready to run and did not (sched-stats.txt of Linux)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[1]) for task in tasks) / 1e9


def _publisher(cluster: Cluster, *arguments: str) -> closing[Publisher]:
    """Give a publisher that `_measured` starts, and that is stopped in the end."""
    assert cluster.zookeeper is not None
    (namenode,) = cluster.namenodes
    return closing(
        Publisher(
            *("--nameservice", "ns1", "--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc),
            *("--zookeeper", cluster.zookeeper.address, "--filters-path", _FILTERS_PATH),
            *arguments,
        )
    )


def _apply(cluster: Cluster, file: Path, filters: Iterable[Filter]) -> None:
    file.write_text(encode_filters(filters), encoding="utf-8")
    program = str(Path(sys.executable).with_name("nncache"))
    subprocess.run(
        (
            *(program, "filters", "apply", str(file), "--filters-path", _FILTERS_PATH),
            *("--user", cluster.superuser, "--namenode-http", cluster.namenodes[0].http),
        ),
        check=True,
    )


def _many(count: int) -> Iterator[Filter]:
    """Yield filters of many teams, each with some subscribers."""
    for number in range(count):
        users = tuple(f"user{number % 97 + other}" for other in range(number % 3))
        yield Filter(_name(number), f"/team/{number}/*/*/_SUCCESS", f"user{number % 89}", users)


def _name(number: int) -> str:
    return f"team{number:05}"
