"""What a request costs a server: rounds of load, its CPU time in each, and a table of them.

CPU is that of the serving process and its children, so that how busy the machine is counts little, and the servers take
turns, so that it counts for all.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from nncache.bench.servers.counters import use_of
from nncache.bench.servers.running import Progress, Running


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
    """A server, and the processes whose CPU time counts."""

    name: Name
    address: str
    pids: Sequence[int]
    namenode_pid: int
    progress: Callable[[], Progress] | None = None

    @classmethod
    def of(cls, name: Name, running: Running, namenode_pid: int) -> "Target":
        """Return a server that runs."""
        return cls(name, running.address, tuple(running.processes.values()), namenode_pid, running.progress)

    def cpu_s(self) -> float:
        """Return the CPU seconds that it has used so far."""
        return sum(use_of(pid)[0] for pid in self.pids)

    def resident(self) -> int:
        """Return the bytes of memory that it takes."""
        return sum(use_of(pid)[1] for pid in self.pids)


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
    def per_cpu_s(self) -> float:
        """Requests for each CPU-second of the server."""
        return self.requests / self.cpu_s if self.cpu_s else 0.0


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
            namenode_s = median(each.namenode_cpu_s / max(1, each.requests) for each in of_size)
            times = each_s(of_size), max(each.each_s for each in of_size), namenode_s
            cells = [
                f"{seconds * 1e6:>9,.2f} µs" for seconds in (*times, median(each.p50_s for each in of_size))
            ]
            lines.append(f"{what:48}{server:>26}{size or '':>10}{'':2}{''.join(cells)}")
    return lines
