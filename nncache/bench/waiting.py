"""The delays and the cost of clients that wait with `Prefer: wait`: `make bench-waiting`.

Many clients wait at a real nncache, first without changes and then for new files: in sequence, in waves, and a single
file for all of them.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import click
import psutil
import uvloop

from nncache.bench import pollers
from nncache.bench.pollers import Polled
from nncache.bench.polling.client import allow_connections, request_of
from nncache.bench.polling.clock import endpoint
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Times
from nncache.bench.polling.waiting import WaitSchedule
from nncache.bench.servers.counters import settled_calls, use_of
from nncache.bench.servers.nncache import Channel, nncache
from nncache.bench.servers.running import RunningServer
from nncache.bench.shared.driver import (
    BenchResult,
    Figure,
    answer_of,
    apart,
    benchmark,
    changing,
    cluster,
    grown,
    hdfs_of,
    make_directories,
    next_of,
    none_of,
    quantile,
)
from nncache.bench.shared.plan import Poller
from nncache.testbed import Cluster

MAX_P99_S: Final = 1.0
"""Limit from the NameNode's acknowledgement of a file to the answer of each waiting client; the aim is 0.2 s."""
MAX_BYTES: Final = 8_192  # of the proxy's memory, for each waiting client, including its connection
MAX_OTHERS_P99_S: Final = 0.1  # of other clients' polls while the waiting clients are answered
ANSWER_TIMEOUT_S: Final = 10.0  # timeout of the answers after the last acknowledgement

ROOT: Final = "/bench-waiting"
GLOB: Final = f"{ROOT}/*/*/_SUCCESS"
CALLERS: Final = 2
"""Users that ask for each path."""
USERS: Final = 50  # in total, shared by all paths
ASKED_PER_S: Final = 1_000  # requests per second of one process: a steady arrival of clients, not a burst

_PROCESSES: Final = 2
_POLLERS: Final = 8
_WAVES: Final = 10
_WAVE_EVERY_S: Final = 1.0
_TIMEOUT_S: Final = 60.0
_LOOK_S: Final = 0.05
_OF_THE_GATE: Final = frozenset({"GetEditsFromTxidNumOps", "RollEditLogNumOps", "MsyncNumOps"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Files that clients wait for concurrently, and the times of their creation."""

    name: str  # of the directory
    waves: Sequence[tuple[float, Sequence[int]]]  # (seconds after the first wave, numbers of the files)
    what: str  # description for readers

    @property
    def paths(self) -> int:
        """The number of files."""
        return sum(len(numbers) for _, numbers in self.waves)

    def path(self, number: int) -> str:
        """Return the path of one of the files."""
        return f"{ROOT}/{self.name}/{number:05}/_SUCCESS"

    def request(self, client: int, address: str) -> bytes:
        """Return a client's request; the clients of one path belong to CALLERS users."""
        number = client % self.paths
        user = f"user{(number + client // self.paths % CALLERS) % USERS}"
        return request_of(self.path(number), address, user=user)


def evenly(paths: int, over_s: float) -> list[tuple[float, Sequence[int]]]:
    """Return waves of one file each, spread evenly over this duration in seconds."""
    return [(number * over_s / paths, (number,)) for number in range(paths)]


def in_waves(paths: int) -> list[tuple[float, Sequence[int]]]:
    """Return waves of nearly equal size, one each second."""
    return [(number * _WAVE_EVERY_S, range(number, paths, _WAVES)) for number in range(_WAVES)]


async def _wait_for(pipe: Connection, address: str, series: Series, clients: range) -> None:
    """Run the waiting clients until the time received; send the time at which each saw its file, and CPU seconds."""
    those = (
        Poller(client, "", (client % series.paths,), at / ASKED_PER_S) for at, client in enumerate(clients)
    )
    asking = ((poller, (series.request(poller.number, address),)) for poller in those)
    begins_s, cpu_s = time.monotonic(), time.process_time()
    times = Times(begins_s=begins_s, ends_s=begins_s + 3_600)
    waiting = WaitSchedule(asking, times, now=time.monotonic, rows=Rows(), until_found=True)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(waiting.run(endpoint(address)))
        until: float = await asyncio.to_thread(pipe.recv)
        with suppress(TimeoutError):
            async with asyncio.timeout(until - time.monotonic()):
                await waiting.all_found.wait()
        pipe.send((waiting.found, time.process_time() - cpu_s))
        running.cancel()


def wait_for(pipe: Connection, address: str, series: Series, clients: range) -> None:
    """Run the waiting clients in this process; see `_wait_for` for the messages."""
    allow_connections(len(clients))
    gc.disable()
    uvloop.run(_wait_for(pipe, address, series, clients))


@dataclass(frozen=True, slots=True)
class _Proxy:
    """nncache in front of a NameNode, and its resource usage."""

    hadoop: Cluster
    running: RunningServer
    clients: int

    @property
    def memory(self) -> int:
        """Its proportional set size, in bytes (smaps of proc(5))."""
        return int(psutil.Process(self.running.processes["proxy"]).memory_full_info().pss)

    @property
    def cpu_s(self) -> float:
        """CPU seconds since start."""
        return use_of(self.running.processes["proxy"])[0]

    def waiting(self, stack: ExitStack, series: Series) -> list[Connection]:
        """Start all clients, and return their pipes once the proxy holds all of them."""
        all_clients = (range(first, self.clients, _PROCESSES) for first in range(_PROCESSES))
        address = self.running.address
        waiting = (apart(wait_for, address, series, clients, ready_s=None) for clients in all_clients)
        pipes = [stack.enter_context(each) for each in waiting]
        until = time.monotonic() + _TIMEOUT_S
        while (held := self.running.metrics()["nncache_waiters"]) < self.clients:
            if time.monotonic() > until:
                raise TimeoutError(f"{held:.0f} of {self.clients} clients are held: the machine is too busy")
            time.sleep(_LOOK_S)
        return pipes


@benchmark("bench-waiting")
@click.option("--clients", "count", default=10_000, type=click.IntRange(2), help="That wait.")
@click.option("--paths", default=1_000, type=click.IntRange(1), help="For which they do.")
@click.option(
    "--over", "over_s", default=20.0, type=click.FloatRange(1), help="Seconds in which all files appear."
)
@click.option(
    "--quiet", "quiet_s", default=10.0, type=click.FloatRange(1), help="Seconds in which nothing changes."
)
@click.option("--channel", default=str(Channel.ZOOKEEPER), type=click.Choice([str(each) for each in Channel]))
def main(count: int, paths: int, over_s: float, quiet_s: float, channel: str) -> BenchResult:
    """Measure the delays and the cost of waiting clients."""
    allow_connections(count)
    plan = (
        Series(name="evenly", waves=evenly(paths, over_s), what=f"{paths:,} files in {over_s:g} s"),
        Series(name="waves", waves=in_waves(paths), what=f"{_WAVES} waves of {paths / _WAVES:g} files"),
        Series(name="one", waves=evenly(1, 1.0), what="one file for all"),
    )
    with ExitStack() as running:
        hadoop = running.enter_context(cluster(with_zookeeper=channel == Channel.ZOOKEEPER))
        of_files = (series.path(number) for series in plan for number in range(series.paths))
        make_directories(hadoop, (path.rpartition("/")[0] for path in of_files))
        make_directories(hadoop, (pollers.path_of(number) for number in range(pollers.PATHS)))
        server = running.enter_context(nncache(hadoop, (GLOB, f"{pollers.ROOT}/*"), Channel(channel)))
        proxy = _Proxy(hadoop, server, count)
        figures = list[Figure]()
        for number, series in enumerate(plan):
            with ExitStack() as stack:
                before, cpu_s, began = proxy.memory, proxy.cpu_s, time.monotonic()
                pipes = proxy.waiting(stack, series)
                if not number:
                    figures.append(Figure("all clients are held after", time.monotonic() - began, "s"))
                    figures.append(Figure("CPU of the proxy until then", proxy.cpu_s - cpu_s, "s"))
                    figures += rest(proxy, quiet_s)
                    each = (proxy.memory - before) / count
                    figures.append(Figure("memory for each client that waits", each, "bytes", most=MAX_BYTES))
                figures += deliver(proxy, series, pipes)
    return BenchResult(figures=figures)


def rest(proxy: _Proxy, quiet_s: float) -> list[Figure]:
    """Return the cost of the clients while they wait and nothing changes."""
    http = proxy.hadoop.namenodes[0].http
    first, before = settled_calls(http), proxy.running.metrics()  # without the initial requests
    cpu_s, probes = proxy.cpu_s, sum(proxy.running.upkeep().values())
    time.sleep(quiet_s)
    cpu_s = proxy.cpu_s - cpu_s
    after, probes = proxy.running.metrics(), sum(proxy.running.upkeep().values()) - probes
    made = settled_calls(http) - first
    edits = sum(count for name, count in made.items() if name in _OF_THE_GATE)
    calls = max(grown("upstream_calls_total", before, after), made.total() - edits)
    return [
        none_of(f"calls of the NameNode in {quiet_s:g} s of waiting, but the gate's own", calls),
        Figure("calls of the gate meanwhile", edits + probes, least=1),
        Figure("CPU of the proxy meanwhile", cpu_s, "s"),
    ]


def deliver(proxy: _Proxy, series: Series, pipes: Sequence[Connection]) -> list[Figure]:
    """Create the files that the clients wait for; return the delays of the clients and of other clients' polls."""
    with apart(pollers.run, proxy.running.address, _POLLERS) as polling:
        before, cpu_s = proxy.running.metrics(), proxy.cpu_s
        acked = asyncio.run(make(proxy.hadoop, series))
        for pipe in pipes:
            pipe.send(time.monotonic() + ANSWER_TIMEOUT_S)
        seen, clients_cpu_s = dict[int, float](), 0.0
        for pipe in pipes:
            at, used_s = next_of(pipe, ANSWER_TIMEOUT_S + _TIMEOUT_S)
            seen |= at
            clients_cpu_s += used_s
        cpu_s, after = proxy.cpu_s - cpu_s, proxy.running.metrics()
        polled: Polled = answer_of(polling, None, _TIMEOUT_S)
    late = [at - acked[client % series.paths] for client, at in seen.items()]
    last = max(seen.values(), default=max(acked))
    others = polled.between(min(acked), last, polled.took_s)
    named = {
        "p50 after the acknowledgement": quantile(late, 0.5),
        "worst after the acknowledgement": quantile(late, 1.0),
        "from the first file to the last": max(acked) - min(acked),
        "from the first file to the last answer": last - min(acked),
        "CPU of the proxy": cpu_s,
        "CPU of the clients": clients_cpu_s,
        "the event loop late by at most": after["nncache_event_loop_lag_max_seconds"],
        "polls of others, p50": quantile(others, 0.5),
        "polls of others, worst": quantile(others, 1.0),
    }
    return [
        none_of(f"{series.what}: clients of {proxy.clients:,} without an answer", proxy.clients - len(seen)),
        Figure(f"{series.what}: p99 after the acknowledgement", quantile(late, 0.99), "s", most=MAX_P99_S),
        Figure(f"{series.what}: polls of others, p99", quantile(others, 0.99), "s", most=MAX_OTHERS_P99_S),
        none_of(f"{series.what}: stalls of the event loop", grown("event_loop_stalls_total", before, after)),
        Figure(f"{series.what}: calls of the NameNode", grown("upstream_calls_total", before, after)),
        *(Figure(f"{series.what}: {name}", value, "s") for name, value in named.items()),
    ]


async def make(hadoop: Cluster, series: Series) -> list[float]:
    """Create the files in waves; return the monotonic time of the NameNode's acknowledgement of each."""
    acked = [0.0] * series.paths
    async with changing(hdfs_of(hadoop), hadoop.superuser) as edits:

        async def make_one(number: int) -> None:
            path = series.path(number)
            await edits.create(path)
            acked[number] = time.monotonic()
            await edits.complete(path)

        began = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            for at_s, numbers in series.waves:
                await asyncio.sleep(max(0.0, began + at_s - time.monotonic()))
                for number in numbers:
                    tasks.create_task(make_one(number))
    return acked


if __name__ == "__main__":
    main()
