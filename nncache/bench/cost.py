"""What a request costs a server: rounds of load, its CPU time in each, and a table of them.

CPU is that of the serving process and its children, so that how busy the machine is counts little, and the servers take
turns, so that it counts for all.
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
from nncache.bench.servers.running import Running
from nncache.bench.wrk import Counted

Loaded = TypeVar("Loaded")


class Name(StrEnum):
    """A server that is loaded."""

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
    """A server that runs before a NameNode."""

    name: str
    running: Running
    namenode_pid: int

    def cpu_s(self) -> tuple[float, float]:
        """Return the CPU seconds that it and the NameNode have used so far."""
        return self.running.cpu_s(), use_of(self.namenode_pid)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one server did under one kind of load for some seconds."""

    what: str  # was asked, and how
    server: str
    requests: int  # answered while CPU was measured; of growth on nncache those from memory alone
    failed: int  # lost connections, timeouts and replies of another status
    cpu_s: float  # of the server
    namenode_cpu_s: float = 0.0  # of the NameNode meanwhile
    p50_s: float = 0.0  # of a request, where the clients measure it
    size: int = 0  # of what grows; 0 where nothing does
    number: int = 0  # of the round; those of one number were measured one right after the other
    misses: float = 0.0  # share of the requests that reached the NameNode, where that is counted
    entries: int = 0  # that it held at the end; 0 where it does not say

    @property
    def each_s(self) -> float:
        """CPU seconds of the server for each request."""
        return self.cpu_s / max(1, self.requests)

    @property
    def namenode_each_s(self) -> float:
        """The same of the NameNode."""
        return self.namenode_cpu_s / max(1, self.requests)

    @property
    def per_cpu_s(self) -> float:
        """Requests for each CPU-second of the server."""
        return self.requests / self.cpu_s if self.cpu_s else 0.0


def measured(
    target: Target,
    load: Callable[[], Counted],
    what: str,
    number: int = 0,
    idle: tuple[float, float] = (0.0, 0.0),
) -> Round:
    """Load a server; return what it did, and what that cost beyond what it and the NameNode take of a CPU anyway."""
    before, begun = target.cpu_s(), time.monotonic()
    counted = load()
    after, took_s = target.cpu_s(), time.monotonic() - begun
    return Round(
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
    loaded: Sequence[Loaded], rounds: int, measure: Callable[[Loaded, int], Round]
) -> Iterator[Round]:
    """Measure each once in each round: up and down by turns, so that a drift of the machine favours none."""
    for number in range(1, rounds + 1):
        for each in loaded if number % 2 else loaded[::-1]:
            done = measure(each, number)
            size = f" with {done.size:,}" if done.size else ""
            cost = f"{done.each_s * 1e6:,.2f} µs of CPU for each of {done.requests:,} requests"
            click.echo(f"{done.what}, round {number} of {rounds}, {done.server}{size}: {cost}")
            yield done


def panels(titles: Sequence[str], height: float) -> tuple[Chart, Sequence[Axes]]:
    """Return a chart of panels, one below the other, and these."""
    chart = Chart(figsize=(8.0, 0.6 + height * len(titles)), layout="constrained")
    found = list[Axes](chart.subplots(len(titles), 1, squeeze=False)[:, 0])
    for axes, title in zip(found, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
    return chart, found


def by_server(rounds: Iterable[Round]) -> dict[tuple[str, str], dict[int, list[Round]]]:
    """Return the rounds by what was asked and server, of these by size, smallest first."""
    found: dict[tuple[str, str], dict[int, list[Round]]] = defaultdict(lambda: defaultdict(list))
    for each in sorted(rounds, key=lambda each: (each.size, each.number)):
        found[each.what, each.server][each.size].append(each)
    return {key: dict(sizes) for key, sizes in found.items()}


def each_s(rounds: Iterable[Round]) -> float:
    """Return the median of the CPU seconds for each request."""
    return median(each.each_s for each in rounds)


def table(rounds: Sequence[Round]) -> list[str]:
    """Return a table: the median and the worst round of each server under each load."""
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
