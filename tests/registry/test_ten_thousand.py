"""A search among 10,000 records."""

import statistics
import time
import tracemalloc
from typing import Final

import pytest

from nncache.registry.endpoint_query import EndpointQuery
from nncache.registry.operations import Registry
from nncache.registry.pacing import at_once
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.tree_reading import read_tree
from tests.registry.samples import WEBHDFS

RECORDS: Final = 10_000
FOUND: Final = 100
TIMES: Final = 9
TOP: Final = "/users/joe/web"
HBASE: Final = ServiceRecord(external=(uri_endpoint("org.apache.hbase", "REST", "http://h:1/"),))


@pytest.mark.long
async def test_ten_thousand_records(registry: Registry, capsys: pytest.CaptureFixture[str]) -> None:
    """Listed, read by page and searched for one in a hundred; prints the times and the memory."""
    await registry.mknode(TOP, create_parents=True)

    async def bind(number: int) -> None:
        await registry.bind(f"{TOP}/i{number}", WEBHDFS if number % (RECORDS // FOUND) else HBASE)

    await at_once(bind, range(RECORDS))
    times, cpu_s = list[float](), time.process_time()
    for _ in range(TIMES):
        begun = time.monotonic()
        reading = await read_tree(registry, "/", EndpointQuery("api", "org.apache.hbase"))
        times.append(time.monotonic() - begun)
        assert len(reading.entries) == FOUND
    cpu_s = (time.process_time() - cpu_s) / TIMES
    tracemalloc.start()
    everything = await read_tree(registry, "/")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(everything.entries) == RECORDS
    assert len((await read_tree(registry, "/", after=f"{TOP}/i5", limit=50)).entries) == 50
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what is asked for
            f"\nfind among {RECORDS:,} records: {statistics.median(times) * 1000:.0f} ms, "
            f"{cpu_s * 1000:.0f} ms of CPU time; a list of all takes {peak / 1e6:.0f} MB at most"
        )
