"""What one request costs an otherwise idle proxy, in CPU and memory.

CPU is the event loop's thread's own, from /proc: it does not depend on what else the machine does. What the
loop uses without any request (it polls the NameNode's edits) is measured just before and taken off.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator
from typing import Final

from tests.hostile.shapes import SHAPES
from tests.http_client import HttpClient, webhdfs
from tests.overload import places
from tests.overload.figures import RequestCost
from tests.overload.real_cluster import Setting, Site
from tests.real.proc import forget_peak, loop_cpu_s, status_bytes

_RARE_POLLS: Final = {"poll_interval_s": 0.5}
"""Of the edits: what is taken off is small then."""

_BYTES: Final = 64_700
"""Of a request, nearly: the proxy takes 65,536 at most."""

_REPETITIONS: Final = 5
_IDLE_S: Final = 3.0
_SETTLE_S: Final = 0.1
"""After the reply, for what the request left to be done."""

_PATIENCE_S: Final = 60.0
_SLOW_S: Final = 1.0
"""A request that took so much is not repeated: its cost is clear."""


def request_costs(site: Site) -> Iterator[RequestCost]:
    """Yield the cost of each shape on a proxy that has some entries and nothing else to do."""
    with site.real_cluster(Setting(flags=_RARE_POLLS)) as real_cluster:
        address, pid = real_cluster.proxy.address, real_cluster.proxy.process.running_pid
        asyncio.run(_fill(address))
        idle_share = _idle_share(pid)
        for shape, make in SHAPES.items():
            yield asyncio.run(_cost(address, pid, shape, make(_BYTES), idle_share))


def _idle_share(pid: int) -> float:
    time.sleep(_IDLE_S)  # for what the start has left to be done
    began, used = time.monotonic(), loop_cpu_s(pid)
    time.sleep(_IDLE_S)
    return (loop_cpu_s(pid) - used) / (time.monotonic() - began)


async def _fill(address: str) -> None:
    client = HttpClient(address, places.POLLERS[0])
    for path in (*places.PRESENT, *places.ABSENT):
        await client.exchange(webhdfs("GET", path, "GETFILESTATUS", "poller0"))
    client.hang_up()


async def _cost(address: str, pid: int, shape: str, data: bytes, idle_share: float) -> RequestCost:
    used_s: list[float] = []
    grown, status = 0, 0
    while len(used_s) < _REPETITIONS and max(used_s, default=0.0) < _SLOW_S:
        forget_peak(pid)
        resident = status_bytes(pid, "VmRSS")
        began, used = time.monotonic(), loop_cpu_s(pid)
        status = await _status(address, data)
        await asyncio.sleep(_SETTLE_S)
        idle = idle_share * (time.monotonic() - began)
        used_s.append(max(0.0, loop_cpu_s(pid) - used - idle))
        grown = max(grown, status_bytes(pid, "VmHWM") - resident)
    return RequestCost(
        shape=shape,
        request_bytes=len(data),
        status=status,
        cpu_s=statistics.median(used_s),
        grown_bytes=grown,
        repetitions=len(used_s),
    )


async def _status(address: str, data: bytes) -> int:
    """Return the status of the reply; 0 where none came."""
    client = HttpClient(address, places.ATTACKER)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return (await client.exchange(data)).status
    except (OSError, EOFError, ValueError, TimeoutError):
        return 0
    finally:
        client.hang_up()
