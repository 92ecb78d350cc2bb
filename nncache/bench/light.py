"""The throughput of a light cluster, compared with a real one on the same machine: `make bench-light`.

Concurrent clients call each operation, first at a real NameNode with its DataNode, then at a light cluster that stores
nothing on disk, then at one with `--directory`. The CPU figures are the servers'; the clients use the same cores.
"""

import asyncio
import math
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import click

from nncache.bench.servers.counters import use_of
from nncache.bench.shared.driver import BenchResult, Figure, benchmark
from nncache.coordination.task_group import each_bounded
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import LightClusterProgram
from nncache.testbed.spec import FULL_SPEED_JVM, own_user

FIRST_ANSWER_S: Final = 1.0
RESIDENT_MB: Final = 80.0
_CLIENTS: Final = 8
_ENTRIES: Final = 20
_DATA: Final = bytes(1_000)

Call = Callable[[WebHdfs, int], Coroutine[Any, Any, object]]

OPERATIONS: Final[dict[str, Call]] = {
    "MKDIRS": lambda client, number: client.mkdirs(f"/b/d{number}"),
    "CREATE": lambda client, number: client.create(f"/b/f{number}", _DATA),
    "GETFILESTATUS": lambda client, number: client.status(f"/b/f{number}"),
    "LISTSTATUS": lambda client, _: client.list("/listed"),
    "SETPERMISSION": lambda client, number: client.set_permission(f"/b/f{number}", "600"),
    "RENAME": lambda client, number: client.rename(f"/b/f{number}", f"/b/g{number}"),
    "DELETE": lambda client, number: client.delete(f"/b/g{number}"),
}


@dataclass(frozen=True)
class MeasuredCluster:
    """A measured cluster: its NameNodes, superuser, processes by kind, and the time from start to first answer."""

    name: str
    https: Sequence[str]
    superuser: str
    processes: Mapping[str, Sequence[int]]
    first_answer_s: float

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU seconds since start, by kind of process."""
        return {kind: sum(use_of(pid)[0] for pid in pids) for kind, pids in self.processes.items()}

    def resident_mb(self) -> float:
        """Return the resident memory of all processes, in MB."""
        return sum(use_of(pid)[1] for pids in self.processes.values() for pid in pids) / 1e6


@dataclass(frozen=True)
class Row:
    """The throughput and the CPU time per call of one operation at one server."""

    server: str
    operation: str
    per_s: float
    cpu_us: float
    cpu_of: Mapping[str, float]  # `cpu_us` by kind of process


@contextmanager
def real() -> Iterator[MeasuredCluster]:
    """Start a real NameNode with its DataNode."""
    began = time.monotonic()
    with Cluster.start(ClusterSpec(namenode_jvm=FULL_SPEED_JVM)) as cluster:
        took = time.monotonic() - began
        pids = [process.running_pid for process in cluster.processes]
        yield MeasuredCluster(
            "HDFS 3.5.0", [cluster.namenodes[0].http], cluster.superuser, {"all": pids}, took
        )


@contextmanager
def _light(name: str, *options: str) -> Iterator[MeasuredCluster]:
    began = time.monotonic()
    with LightClusterProgram(*options) as cluster:
        asyncio.run(_ask(cluster.http, own_user()))
        took, pids = time.monotonic() - began, [cluster.process.running_pid]
        yield MeasuredCluster(name, [cluster.http], own_user(), {"all": pids}, took)


async def _ask(http: str, user: str) -> None:
    async with WebHdfs(f"http://{http}", user) as client:
        await client.status("/")


async def measure(server: MeasuredCluster, calls: int) -> list[Row]:
    """Call each operation at the NameNodes in turn; the first round warms up JIT compilers and does not count."""
    rows: list[Row] = []
    async with AsyncExitStack() as close:
        clients = [
            await close.enter_async_context(WebHdfs(f"http://{http}", server.superuser))
            for http in server.https
        ]
        client = clients[0]
        for number in range(_ENTRIES):
            await client.mkdirs(f"/listed/{number}")
        for _ in range(2):
            rows.clear()
            await client.mkdirs("/b")
            for name, call in OPERATIONS.items():

                def ask(number: int, call: Call = call) -> Coroutine[Any, Any, object]:
                    return call(clients[number % len(clients)], number)

                before, began = server.cpu_s(), time.monotonic()
                await each_bounded(range(calls), ask, at_once=_CLIENTS)
                took, after = time.monotonic() - began, server.cpu_s()
                cpu_of = {kind: (after[kind] - before[kind]) / calls * 1e6 for kind in after}
                rows.append(Row(server.name, name, calls / took, sum(cpu_of.values()), cpu_of))
            await client.delete("/b", recursive=True)
    return rows


@benchmark("bench-light")
@click.option(
    "--calls", default=1_000, type=click.IntRange(1), help="Of each operation, in each of two rounds."
)
def main(calls: int) -> BenchResult:
    """Compare a light cluster with a real one."""
    rows, figures = list[Row](), list[Figure]()
    with tempfile.TemporaryDirectory() as directory:
        servers = (real(), _light("light"), _light("light --directory", "--directory", directory))
        for start in servers:
            with start as server:
                fresh_mb = server.resident_mb()
                rows += asyncio.run(measure(server, calls))
                name, used_mb = server.name, server.resident_mb()
            most_s, most_mb = (FIRST_ANSWER_S, RESIDENT_MB) if name == "light" else (math.inf, math.inf)
            start_s = server.first_answer_s
            figures += [
                Figure(f"{name}: seconds from its start to its first answer", start_s, "s", most=most_s),
                Figure(f"{name}: resident then", fresh_mb, "MB", most=most_mb),
                Figure(f"{name}: resident after all operations", used_mb, "MB"),
            ]
    table = [
        f"{row.server}: {row.operation} {row.per_s:,.0f}/s, {row.cpu_us:,.0f} µs of CPU each" for row in rows
    ]
    return BenchResult(figures=figures, table=table, rounds=rows)


if __name__ == "__main__":
    main()
