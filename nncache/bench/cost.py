"""The cost of a request for a server: rounds of load, the CPU time of each, and a table of them.

CPU time is that of the serving process and its children, so other load on the machine has little effect. The servers
take turns, so that its effect is the same for all.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TypeVar

import click
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Chart

from nncache.bench.servers.counters import use_of
from nncache.bench.servers.running import RunningServer
from nncache.bench.wrk import Counted

Loaded = TypeVar("Loaded")


class Name(StrEnum):
    """A server under load."""

    NAMENODE = "NameNode"
    NGINX = "nginx"
    HAPROXY = "HAProxy"
    NNCACHE = "nncache"
    FLOOR = "floor"


COLOURS = {
    Name.NNCACHE: "#1f6feb",
    Name.NGINX: "#8a9199",
    Name.HAPROXY: "#b3b9bf",
    Name.NAMENODE: "#d9a441",
    Name.FLOOR: "#57ab5a",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A server in front of a NameNode."""

    name: str
    running: RunningServer
    namenode_pid: int

    def cpu_s(self) -> tuple[float, float]:
        """Return the CPU seconds of the server and of the NameNode since start."""
        return self.running.cpu_s(), use_of(self.namenode_pid)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRound:
    """The result of one server under one kind of load for a few seconds."""

    what: str  # the kind of load
    server: str
    requests: int  # answered while CPU was measured; for growth on nncache, those from memory only
    failed: int  # lost connections, timeouts and replies with an unexpected status
    cpu_s: float  # of the server
    namenode_cpu_s: float = 0.0  # of the NameNode in the same time
    p50_s: float = 0.0  # of a request, if the clients measure it
    size: int = 0  # of the parameter that grows; 0: none grows
    number: int = 0  # of the round; the members of a round are measured directly after each other
    misses: float = 0.0  # share of the requests that reached the NameNode, if counted
    entries: int = 0  # in the server's cache at the end; 0 if it does not report them

    @property
    def each_s(self) -> float:
        """The server's CPU seconds for each request."""
        return self.cpu_s / max(1, self.requests)

    @property
    def namenode_each_s(self) -> float:
        """The NameNode's CPU seconds for each request."""
        return self.namenode_cpu_s / max(1, self.requests)

    @property
    def per_cpu_s(self) -> float:
        """Requests for each CPU second of the server."""
        return self.requests / self.cpu_s if self.cpu_s else 0.0


def measured(
    target: Target,
    load: Callable[[], Counted],
    what: str,
    number: int = 0,
    idle: tuple[float, float] = (0.0, 0.0),
) -> LoadRound:
    """Load a server and return the result, without the CPU that it and the NameNode use when `idle` (cores)."""
    before, begun = target.cpu_s(), time.monotonic()
    counted = load()
    after, took_s = target.cpu_s(), time.monotonic() - begun
    return LoadRound(
        what=what,
        server=target.name,
        requests=counted.requests,
        failed=counted.failed,
        cpu_s=max(0.0, after[0] - before[0] - idle[0] * took_s),
        namenode_cpu_s=max(0.0, after[1] - before[1] - idle[1] * took_s),
        p50_s=counted.p50_s,
        number=number,
    )


def in_rounds(
    loaded: Sequence[Loaded], rounds: int, measure: Callable[[Loaded, int], LoadRound]
) -> Iterator[LoadRound]:
    """Measure each server once in each round, in alternating order, so that a drift of the machine favours none."""
    for number in range(1, rounds + 1):
        for each in loaded if number % 2 else loaded[::-1]:
            done = measure(each, number)
            size = f" with {done.size:,}" if done.size else ""
            cost = f"{done.each_s * 1e6:,.2f} µs of CPU for each of {done.requests:,} requests"
            click.echo(f"{done.what}, round {number} of {rounds}, {done.server}{size}: {cost}")
            yield done


def panels(titles: Sequence[str], height: float) -> tuple[Chart, Sequence[Axes]]:
    """Return a chart with panels in one column, and the panels."""
    chart = Chart(figsize=(8.0, 0.6 + height * len(titles)), layout="constrained")
    found = list[Axes](chart.subplots(len(titles), 1, squeeze=False)[:, 0])
    for axes, title in zip(found, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    return chart, found


def by_server(rounds: Iterable[LoadRound]) -> dict[tuple[str, str], dict[int, list[LoadRound]]]:
    """Return the rounds by kind of load and server, and in each by size, smallest first."""
    found: dict[tuple[str, str], dict[int, list[LoadRound]]] = defaultdict(lambda: defaultdict(list))
    for each in sorted(rounds, key=lambda each: (each.size, each.number)):
        found[each.what, each.server][each.size].append(each)
    return {key: dict(sizes) for key, sizes in found.items()}


def each_s(rounds: Iterable[LoadRound]) -> float:
    """Return the median of the CPU seconds for each request."""
    return median(each.each_s for each in rounds)


def table(rounds: Sequence[LoadRound]) -> list[str]:
    """Return the lines of a table with the median and the worst round of each server under each load."""
    lines = [f"{'':48}{'server':>26}{'size':>10}{'CPU for each':>14}{'worst':>12}{'NameNode':>12}{'p50':>11}"]
    for (what, server), sizes in by_server(rounds).items():
        for size, of_size in sizes.items():
            namenode_s = median(each.namenode_each_s for each in of_size)
            times = each_s(of_size), max(each.each_s for each in of_size), namenode_s
            cells = [
                f"{seconds * 1e6:>9,.2f} µs" for seconds in (*times, median(each.p50_s for each in of_size))
            ]
            lines.append(f"{what:48}{server:>26}{size or '':>10}{'':2}{''.join(cells)}")
    return lines
