"""The effect of a cold start, a restart, an outage and a failover on pollers and NameNodes: `make bench-events`.

Starts a pair of NameNodes, ZooKeeper, publisher and proxy, and polls continuously.
"""

import asyncio
import datetime as dt
import math
import textwrap
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import aiohttp
import click
import pyarrow as pa
import uvloop
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Chart
from matplotlib.patches import Patch

from nncache.bench.pollers import schedule_of
from nncache.bench.polling.client import request_of
from nncache.bench.polling.clock import endpoint
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Times
from nncache.bench.report.charts import COLOURS, KINDS, SHADES, STYLE, by_kind, legend_of, tinted
from nncache.bench.servers.counters import calls_of
from nncache.bench.shared.driver import (
    AT_ONCE,
    BenchResult,
    Figure,
    add_filters,
    benchmark,
    cluster,
    hdfs_of,
    quantile,
)
from nncache.bench.shared.tables import POLLS
from nncache.coordination.task_group import each_bounded
from nncache.hadoop.errors import HadoopError
from nncache.invalidation.filters.definition import Filter
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon

ROOT: Final = "/bench-events"
CHANGES_PER_S: Final = 5.0
QUIET_S: Final = 15.0
"""Quiet time before the first and after each event."""
OUTAGE_S: Final = 10.0
WARM_UP_S: Final = 15.0
"""Polls to the NameNode itself before the measurement, so that its JVM compiles the hot code."""
GIVE_UP_S: Final = 10.0  # timeout of a poll
_LEAD_S: Final = 0.5

MEMORY: Final = "from memory"
ASKED: Final = "by the NameNode"
FAILED: Final = "failed"
OUTCOMES: Final = (MEMORY, ASKED, FAILED)
"""The outcomes of a poll. The last is an error of the proxy or the network, or a poll that was not sent in time."""

_COLOURS: Final = {MEMORY: COLOURS["nncache"], ASKED: "#56B4E9", FAILED: COLOURS["nginx"]}
CAPTION: Final = (
    "Every bar is a second. Polls are sent when they are due, whatever became of those before; one that is due while "
    "the proxy is away fails at once, and one that waits counts for the second in which it was due. Black lines: what "
    "was done, from the command to its end. The calls are those of both NameNodes, those that change files included. "
    "This is one proxy alone: behind a load balancer with another one, its restart fails no poll."
)
"""The explanations below the chart."""


@dataclass(frozen=True, slots=True)
class Disruption:
    """A caused event, with its begin and end in seconds since the first poll was due."""

    what: str
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The results of a run, for each second."""

    pollers: int
    period_s: float
    date: str
    polls: tuple[Mapping[str, int], ...]  # due in each second, by outcome
    # p99 of the reply times of the polls due in each second; 0 without replies
    p99_s: tuple[float, ...]
    # (until, calls per second since the previous time, by name) of both NameNodes together
    calls: tuple[tuple[float, Mapping[str, float]], ...]
    events: tuple[Disruption, ...] = ()  # in order

    def count(self, *outcomes: str) -> int:
        """Return the number of polls with these outcomes; all polls if none is given."""
        return sum(polls[outcome] for polls in self.polls for outcome in outcomes or OUTCOMES)

    @property
    def finding(self) -> str:
        """A sentence with the outcomes of all polls."""
        what = ", ".join(["Cold start", *(each.what for each in self.events)])
        memory, failed = self.count(MEMORY), self.count(FAILED)
        return f"{what}: of {self.count():,} polls {memory:,} were answered from memory, {failed:,} failed"


@benchmark("bench-events")
@click.option(
    "--pollers", default=200, type=click.IntRange(1), help="Each has a path and a connection of its own."
)
@click.option(
    "--period", default=0.5, type=click.FloatRange(min=0, min_open=True), help="Seconds between two polls."
)
def main(pollers: int, period: float) -> BenchResult:
    """Show how a cold start, a restart of the proxy, an outage of ZooKeeper and a failover affect pollers."""
    with ExitStack() as running, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        hadoop = running.enter_context(cluster(ha=True, with_zookeeper=True))
        runner.run(_make(hadoop, pollers))
        runner.run(_poll(hadoop.namenodes[0].http, pollers, period, WARM_UP_S, time.monotonic() + _LEAD_S))
        flags = (*hadoop.flags, "--zookeeper", hadoop.zookeeper.address, "--zookeeper-root", "/bench-events")
        publisher = running.enter_context(PublisherDaemon(*flags, "--filters-path", f"{ROOT}/filters"))
        publisher.await_publishing()
        proxy = running.enter_context(ProxyDaemon(*flags))
        proxy.await_gate()
        course = runner.run(observe(hadoop, proxy, pollers, period))
    figures = [Figure(f"polls: {each}", course.count(each)) for each in OUTCOMES]
    return BenchResult(figures=figures, table=[course.finding], rounds=[course], chart=draw(course))


def by_second(
    polls: Iterable[Mapping[str, Any]], duration_s: int
) -> tuple[tuple[dict[str, int], ...], tuple[float, ...]]:
    """Return, for each second, the polls due in it by outcome, and the p99 of their reply times; skip later polls."""
    counts = [dict.fromkeys(OUTCOMES, 0) for _ in range(duration_s)]
    times: list[list[float]] = [[] for _ in range(duration_s)]
    for poll in polls:
        number = math.floor(poll["due_s"])
        if 0 <= number < duration_s:
            outcome = outcome_of(poll["status"], poll["served"])
            counts[number][outcome] += 1
            if outcome != FAILED:
                times[number].append(poll["replied_s"] - poll["due_s"])
    return tuple(counts), tuple(quantile(took_s, 0.99) if took_s else 0.0 for took_s in times)


def outcome_of(status: int, served: str) -> str:
    """Return the outcome of a poll; status 0: no reply arrived."""
    if status not in {200, 404}:
        return FAILED
    return MEMORY if served == "hit" else ASKED


def rates(
    looks: Sequence[tuple[float, Mapping[str, float]]],
) -> tuple[tuple[float, Mapping[str, float]], ...]:
    """Return the calls per second between successive readings of the NameNodes' counters.

    A counter that falls belongs to a restarted server: its value is the number of calls since the restart.
    """
    found = []
    for (from_s, before), (until_s, after) in pairwise(looks):
        since = {name: value - before.get(name, 0.0) for name, value in after.items()}
        calls = {
            name: (each if each >= 0 else after[name]) / (until_s - from_s) for name, each in since.items()
        }
        found.append((until_s, calls))
    return tuple(found)


# ---- picture ---------------------------------------------------------------------------------------------------------


@rc_context(fname=STYLE)
def draw(course: Course) -> Chart:
    """Return the chart, with the finding as its title and one time axis for all panels."""
    chart = Chart(figsize=(12, 11.5))
    chart.suptitle("\n".join(textwrap.wrap(course.finding, 65)), x=0.01, ha="left")
    polls, calls, slowest = chart.subplots(3, sharex=True, height_ratios=(1.2, 1, 0.8))
    polls.set_title("What answers the polls", size=16, pad=34)
    calls.set_title("How many calls the NameNodes answer", size=16)
    slowest.set_title("How long 99 % of the answers take at most", size=16)
    seconds = list(range(len(course.polls)))
    bars = {outcome: [each[outcome] for each in course.polls] for outcome in OUTCOMES}
    _stack(polls, seconds, [1.0] * len(seconds), list(bars.values()), list(_COLOURS.values()))
    polls.set_ylabel("polls per second")
    legend_of(polls, {}, *(Patch(color=_COLOURS[outcome], label=outcome) for outcome in OUTCOMES))
    ends = [until for until, _ in course.calls]
    starts = [0.0, *ends][: len(ends)]
    widths = [end - start for start, end in zip(starts, ends, strict=True)]
    colours = [tinted("#333333", shade) for shade in SHADES]
    known = [by_kind(each) for _, each in course.calls]
    kinds = [[each[number] for each in known] for number in range(len(KINDS))]
    _stack(calls, starts, widths, kinds, colours)
    calls.set_ylabel("calls per second")
    legend_of(calls, dict(zip(KINDS.values(), SHADES, strict=True)))
    slowest.bar(seconds, course.p99_s, width=1, align="edge", color="#555555")
    where = "seconds since the first poll, to a proxy whose cache is empty"
    slowest.set(ylabel="seconds", xlabel=where, ylim=(0, None))
    for axes in (polls, calls, slowest):
        axes.grid(visible=False, axis="x")
        axes.set_xlim(0, len(seconds))
        for each in course.events:
            axes.axvspan(each.from_s, each.until_s, color="#DDDDDD", zorder=0)
            for at in (each.from_s, each.until_s):
                axes.axvline(at, color="black", linewidth=1)
    for each in course.events:
        middle, text = (each.from_s + each.until_s) / 2, "\n".join(textwrap.wrap(each.what, 14))
        polls.text(middle, 1.02, text, transform=polls.get_xaxis_transform(), ha="center", size=11)
    wrapped = "\n".join(textwrap.wrap(CAPTION, 115))
    chart.supxlabel(f"{wrapped}\n{course.date}", x=0.01, ha="left", size=11, color="#555555")
    return chart


_Numbers = Sequence[float]


def _stack(
    axes: Axes, at: _Numbers, widths: _Numbers, parts: Sequence[_Numbers], colours: Sequence[Any]
) -> None:
    """Draw stacked bars."""
    below = [0.0] * len(at)
    for part, colour in zip(parts, colours, strict=True):
        axes.bar(at, part, width=widths, bottom=below, align="edge", color=colour)
        below = [base + each for base, each in zip(below, part, strict=True)]


# ---- run -------------------------------------------------------------------------------------------------------------


async def observe(hadoop: Cluster, proxy: ProxyDaemon, pollers: int, period_s: float) -> Course:
    """Poll while causing the events in sequence, and return the results."""
    duration_s = round(4 * QUIET_S + OUTAGE_S + 15.0)
    looks: list[tuple[float, Mapping[str, float]]] = []
    events: list[Disruption] = []
    zero_s = time.monotonic() + _LEAD_S
    async with asyncio.TaskGroup() as tasks:
        beside = [
            tasks.create_task(_count(hadoop, zero_s, looks)),
            tasks.create_task(_change(hadoop, pollers)),
            tasks.create_task(_cause(hadoop, proxy, zero_s, events)),
        ]
        rows = await _poll(proxy.address, pollers, period_s, duration_s, zero_s)
        for task in beside:
            task.cancel()
    polls, p99_s = by_second(pa.Table.from_batches(rows.batches(0.0), POLLS).to_pylist(), duration_s)
    return Course(
        pollers=pollers,
        period_s=period_s,
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        polls=polls,
        p99_s=p99_s,
        calls=rates(looks),
        events=tuple(events),
    )


async def _poll(address: str, pollers: int, period_s: float, duration_s: float, zero_s: float) -> Rows:
    """Poll from `zero_s` on; each poller has its own path, and every second path exists."""
    requests = [[request_of(_path_of(number), "bench")] for number in range(pollers)]
    rows, times = Rows(), Times(begins_s=0.0, ends_s=duration_s, timeout_s=GIVE_UP_S)
    schedule = schedule_of(requests, period_s, rows, times, now=lambda: time.monotonic() - zero_s)
    await schedule.run(endpoint(address))
    return rows


async def _cause(hadoop: Cluster, proxy: ProxyDaemon, zero_s: float, events: list[Disruption]) -> None:
    """Cause the events in sequence, each after a quiet time."""
    zookeeper = hadoop.zookeeper.process

    def restart() -> None:
        proxy.stop()
        proxy.start()

    def cut_zookeeper() -> None:
        zookeeper.kill()
        time.sleep(OUTAGE_S)
        zookeeper.start()

    def fail_over() -> None:
        hadoop.transition_to_standby(0)
        hadoop.transition_to_active(1)

    for what, act in (
        ("restart of the proxy", restart),
        (f"{OUTAGE_S:g} s without ZooKeeper", cut_zookeeper),
        ("NameNode failover", fail_over),
    ):
        await asyncio.sleep(QUIET_S)
        from_s = time.monotonic() - zero_s
        await asyncio.to_thread(act)
        events.append(Disruption(what, from_s, time.monotonic() - zero_s))


async def _count(hadoop: Cluster, zero_s: float, looks: list[tuple[float, Mapping[str, float]]]) -> None:
    """Read the NameNodes' call counters each second."""

    def look() -> dict[str, float]:
        calls = defaultdict[str, float](float)
        for namenode in hadoop.namenodes:
            for name, count in calls_of(namenode.http).items():
                calls[name.removeprefix("upkeep:")] += count
        return calls

    while True:
        calls = await asyncio.to_thread(look)
        looks.append((time.monotonic() - zero_s, calls))
        await asyncio.sleep(1.0)


async def _change(hadoop: Cluster, pollers: int) -> None:
    """Change existing paths in sequence at the NameNode, not through the proxy."""
    async with hdfs_of(hadoop) as hdfs:
        number = 0
        while True:
            number += 2
            with suppress(HadoopError, aiohttp.ClientError, TimeoutError):  # while no NameNode is active
                await hdfs.set_permission(_path_of(number % pollers & ~1), f"7{number % 8}{number // 8 % 8}")
            await asyncio.sleep(1 / CHANGES_PER_S)


async def _make(hadoop: Cluster, pollers: int) -> None:
    """Create the filter and the paths that exist."""
    async with hdfs_of(hadoop) as hdfs:
        await hdfs.mkdirs(f"{ROOT}/data")
        await each_bounded(map(_path_of, range(0, pollers, 2)), hdfs.mkdirs, at_once=AT_ONCE)
    await add_filters(hadoop, f"{ROOT}/filters", [Filter("events", f"{ROOT}/data/*", hadoop.superuser)])


def _path_of(number: int) -> str:
    return f"{ROOT}/data/{number:05}"


if __name__ == "__main__":
    main()
