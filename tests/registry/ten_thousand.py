"""`python -m tests.registry.ten_thousand`: a search among 10,000 records, on a cluster of its own."""

import asyncio
import os
import statistics
import sys
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click
from rich.console import Console

from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.pacing import at_once
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record
from nncache.registry.tree_reading import read_tree
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.registry.samples import WEBHDFS, real_registry

RECORDS: Final = 10_000
FOUND: Final = 100
MOST_S: Final = 0.2
TIMES: Final = 9
TOP: Final = "/users/joe/web"
HBASE: Final = ServiceRecord(external=(uri_endpoint("org.apache.hbase", "REST", "http://h:1/"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was measured.

    Attributes:
        find_s: how long each search took.
        find_cpu_s: of the client's own processor time, on average.
        list_peak_bytes: memory that a list of all takes at most.
        record_bytes: of the two kinds of znodes.
    """

    find_s: tuple[float, ...]
    find_cpu_s: float
    list_peak_bytes: int
    record_bytes: tuple[int, int]

    def lines(self) -> Iterator[str]:
        """Yield what is printed."""
        times = ", ".join(f"{each * 1000:.0f}" for each in sorted(self.find_s))
        yield f"find among {RECORDS:,} records: {times} ms; {self.find_cpu_s * 1000:.0f} ms of CPU time each"
        yield f"a znode has {self.record_bytes[0]} or {self.record_bytes[1]} bytes"
        yield f"a list of all takes {self.list_peak_bytes / 1e6:.0f} MB at most"

    def shortfalls(self) -> Iterator[str]:
        """Yield what is not as it must be."""
        middle = statistics.median(self.find_s)
        if middle > MOST_S:
            yield f"find takes {middle * 1000:.0f} ms in the middle, not {MOST_S * 1000:.0f} ms at most"


async def measure(cluster: Cluster) -> Figures:
    """Register the records, search for one in a hundred, and list them all."""
    async with real_registry(cluster) as registry:
        await registry.mknode(TOP, create_parents=True)

        async def bind(number: int) -> None:
            await registry.bind(f"{TOP}/i{number}", WEBHDFS if number % (RECORDS // FOUND) else HBASE)

        await at_once(bind, range(RECORDS))
        times, cpu = [], time.process_time()
        for _ in range(TIMES):
            begun = time.monotonic()
            reading = await read_tree(registry, "/", EndpointQuery("api", "org.apache.hbase"))
            times.append(time.monotonic() - begun)
            assert len(reading.entries) == FOUND
        cpu = (time.process_time() - cpu) / TIMES
        tracemalloc.start()
        everything = await read_tree(registry, "/")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(everything.entries) == RECORDS
        assert len((await read_tree(registry, "/", after=f"{TOP}/i5", limit=50)).entries) == 50
    sizes = len(encode_record(WEBHDFS)), len(encode_record(HBASE))
    return Figures(find_s=tuple(times), find_cpu_s=cpu, list_peak_bytes=peak, record_bytes=sizes)


@click.command()
def main() -> None:
    """Print times, memory and sizes; exit code 1 if a search takes too long."""
    spec = ClusterSpec(hadoop_version=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION, with_zookeeper=True)
    with Cluster.start(spec, progress=Console(stderr=True).print) as cluster:
        figures = asyncio.run(measure(cluster))
    for line in figures.lines():
        click.echo(f"  {line}")
    shortfalls = tuple(figures.shortfalls())
    for what in shortfalls:
        click.echo(f"FALLS SHORT: {what}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
