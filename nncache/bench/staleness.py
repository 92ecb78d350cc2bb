"""The delay until a change is seen, by source of edits and length of the open edit segment: `make bench-staleness`.

An HA pair with three JournalNodes. One proxy on the direct channel reads edits from the JournalNodes, then another one
polls the NameNode. The benchmark requests a status until it comes from memory, changes it at the NameNode, and requests
it until the answer is new. The delay is from the acknowledgement of the change to the start of the request whose answer
shows it.
"""

import asyncio
import itertools
import time
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Final

import click

from nncache.bench.servers.counters import use_of
from nncache.bench.shared.driver import (
    AT_ONCE,
    DEPTH,
    BenchResult,
    Figure,
    benchmark,
    changing,
    deep,
    edits_of_journalnodes,
    grown,
    hdfs_of,
    make_directories,
    quantile,
    with_journalnodes,
)
from nncache.coordination.task_group import each_bounded
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.spec import FULL_SPEED_JVM

MAX_P50_S: Final = 0.03
MAX_P99_S: Final = 0.1
"""Limits for edits that are read from JournalNodes."""

ROOT: Final = "/staleness"
PATHS: Final = 20

_NO_ROLL: Final = ("--roll-interval-s", "0")
_PAUSE_S: Final = 0.001
_PATIENCE_S: Final = 30.0


@benchmark("bench-staleness")
@click.option("--seconds", default=20.0, type=click.FloatRange(1), help="For each source and segment.")
@click.option(
    "--transactions", default=157_000, type=click.IntRange(0), help="In the long open segment, at least."
)
def main(*, seconds: float, transactions: int) -> BenchResult:
    """Measure the delay until a change is seen, through JournalNodes and through inotify."""
    no_roll = {"dfs.ha.log-roll.period": "-1"}  # by the standby, every two minutes
    plain = ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False, overrides=no_roll)
    found, numbers = list[Figure](), itertools.count()
    with Cluster.start(with_journalnodes(plain)) as cluster:
        make_directories(cluster, (f"{ROOT}/{number}" for number in range(PATHS)))
        for length in (0, transactions):
            asyncio.run(_fill(cluster, length))
            for name, flags in (("JournalNodes", edits_of_journalnodes(cluster)), ("inotify", _NO_ROLL)):
                click.echo(f"measuring: {name}, {length:,} transactions written before", err=True)
                found += _measure(cluster, name, flags, seconds, numbers)
    return BenchResult(figures=found)


def _measure(
    cluster: Cluster, name: str, flags: Sequence[str], seconds: float, numbers: Iterator[int]
) -> list[Figure]:
    """Return the delays and the cost of a proxy with these flags; `numbers` makes each change unique."""
    what = f"{name}, {cluster.open_segment_txids():,} transactions in the open segment"
    channel = ("--channel", "direct", "--glob", f"{ROOT}/*")
    namenode = cluster.namenodes[0]
    servers = (namenode.process, *(each.process for each in cluster.journalnodes))

    def cpu_s() -> list[float]:
        return [use_of(each.running_pid)[0] for each in servers]

    with (
        ProxyDaemon(*cluster.flags, *channel, *flags) as proxy,
        Asker(proxy.address) as through,
        Asker(namenode.http) as direct,
    ):
        proxy.await_gate()
        before, then_s = proxy.metrics(), cpu_s()
        began, delays_s = time.monotonic(), list[float]()
        while time.monotonic() - began < seconds:
            delays_s.append(_delay(through, direct, cluster.superuser, next(numbers)))
        took_s, after = time.monotonic() - began, proxy.metrics()
    cores, *others = ((now - then) / took_s for now, then in zip(cpu_s(), then_s, strict=True))
    polls = grown("channel_polls_total", before, after) / took_s
    is_log = name == "JournalNodes"
    limits = ({"most": MAX_P50_S}, {"most": MAX_P99_S}) if is_log else ({}, {})
    return [
        Figure(f"{what}: changes", len(delays_s)),
        Figure(f"{what}: seen after, p50", quantile(delays_s, 0.5), "s", **limits[0]),
        Figure(f"{what}: seen after, p99", quantile(delays_s, 0.99), "s", **limits[1]),
        Figure(f"{what}: polls of the NameNode", polls, "a second"),
        Figure(f"{what}: cores of the NameNode", cores),
        Figure(f"{what}: cores of the busiest JournalNode", max(others)),
    ]


def _delay(through: Asker, direct: Asker, superuser: str, number: int) -> float:
    """Change a status that is answered from memory; return the seconds from the acknowledgement until it is seen."""
    target = f"/webhdfs/v1{ROOT}/{number % PATHS}"
    status = f"{target}?op=GETFILESTATUS&user.name=alice"
    began = time.monotonic()
    while not (old := through.ask("GET", status)).is_hit:
        _see_to(began, "an answer from memory")
    time_ms = 1_600_000_000_000 + number  # unique, and never the current time
    change = f"{target}?op=SETTIMES&modificationtime={time_ms}&accesstime=-1&user.name={superuser}"
    acknowledged: RawReply = direct.ask("PUT", change)
    if acknowledged.status != HTTPStatus.OK:
        raise TestbedError(f"the NameNode refused a change: {acknowledged.body!r}")
    while (new := through.ask("GET", status)).body == old.body:
        _see_to(acknowledged.ended_at, "the change")
    return new.started_at - acknowledged.ended_at


def _see_to(since: float, what: str) -> None:
    if time.monotonic() - since > _PATIENCE_S:
        raise TestbedError(f"{what} was not seen in {_PATIENCE_S:g} s")
    time.sleep(_PAUSE_S)


async def _fill(cluster: Cluster, transactions: int) -> None:
    """Write at least this number of transactions; 0 starts a new edit segment."""
    if not transactions:
        await asyncio.to_thread(cluster.roll_edits)
        return
    async with changing(hdfs_of(cluster), cluster.superuser) as namenode:
        paths = (deep(f"/filled/{number}") for number in range(-(-transactions // DEPTH)))
        await each_bounded(paths, namenode.mkdirs, at_once=AT_ONCE)


if __name__ == "__main__":
    main()
