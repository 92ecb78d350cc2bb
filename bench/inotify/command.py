"""Measure the inotify service: `make bench-inotify`.

Starts a real NameNode and ZooKeeper, applies many filters, and starts publishers: with an empty ZooKeeper, and again
with nothing changed. Prints a line for each, leaves them in a directory, and exits with 1 when one falls short.
(bench/inotify/command.py)
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from nncache.bench.inotify.figures import Start
from nncache.bench.inotify.namenode_calls import AGE_S, attribute_calls, file_calls
from nncache.bench.servers.counters import use_of
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import encode_filters
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.daemon import Publisher
from nncache.testbed.spec import FULL_SPEED_JVM

_FILTERS_PATH: Final = "/filters"
_LOOK_S: Final = 0.02
_START_TIMEOUT_S: Final = 180.0
_SHORTFALL: Final = 1


@click.command(context_settings={"show_default": True})
@click.option("--filters", "count", default=5_000, type=click.IntRange(1), help="How many there are.")
@click.option("--restarts", default=3, type=click.IntRange(1), help="With nothing changed.")
@click.option(
    "--out", default="build/bench-inotify", type=click.Path(path_type=Path), help="Directory of the figures."
)
def main(count: int, restarts: int, out: Path) -> None:
    """Measure how long a publisher of many filters takes to start."""
    out.mkdir(parents=True, exist_ok=True)
    found = list[Start]()
    try:
        with ExitStack() as running:
            spec = ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False, with_zookeeper=True)
            cluster = running.enter_context(Cluster.start(spec))
            _apply(cluster, out / "filters.toml", count)
            publisher = running.enter_context(_publisher(cluster))
            for number in range(1 + restarts):
                found.append(_measured(cluster, publisher, count, is_restart=number > 0))
                click.echo(found[-1].line())
    except (TestbedError, OSError) as error:
        raise click.ClickException(str(error)) from error
    (out / "starts.json").write_text(json.dumps([asdict(each) for each in found], indent=1), encoding="utf-8")
    if not all(each.is_in_time for each in found):
        sys.exit(_SHORTFALL)


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


def _publisher(cluster: Cluster) -> Publisher:
    assert cluster.zookeeper is not None
    (namenode,) = cluster.namenodes
    return Publisher(
        *("--nameservice", "ns1", "--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc),
        *("--zookeeper", cluster.zookeeper.address, "--filters-path", _FILTERS_PATH),
    )


def _apply(cluster: Cluster, file: Path, count: int) -> None:
    file.write_text(encode_filters(_many(count)), encoding="utf-8")
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
        yield Filter(f"team{number:05}", f"/team/{number}/*/*/_SUCCESS", f"user{number % 89}", users)
