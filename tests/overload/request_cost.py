"""The cost of one request on an otherwise idle proxy, in CPU and memory.

CPU is that of the event loop's thread, from /proc: it does not depend on other work of the machine. The loop's own
use without requests (it polls the NameNode's edits) is measured just before and subtracted.
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
"""Rare polls of the edits, so that the subtracted part is small."""

_BYTES: Final = 64_700
"""Approximate size of a request: the proxy accepts 65,536 bytes."""

_REPETITIONS: Final = 5
_IDLE_S: Final = 3.0
_SETTLE_S: Final = 0.1
"""Seconds after the reply for work that the request left behind."""

_PATIENCE_S: Final = 60.0
_SLOW_S: Final = 1.0
"""A request that takes this many CPU seconds is not repeated: its cost is clear."""


def request_costs(site: Site) -> Iterator[RequestCost]:
    """Yield the cost of each shape on a proxy with some entries and no other load."""
    with site.real_cluster(Setting(flags=_RARE_POLLS)) as real_cluster:
        address, pid = real_cluster.proxy.address, real_cluster.proxy.process.running_pid
        asyncio.run(_fill(address))
        idle_share = _idle_share(pid)
        for shape, make in SHAPES.items():
            yield asyncio.run(_cost(address, pid, shape, make(_BYTES), idle_share))


def _idle_share(pid: int) -> float:
    time.sleep(_IDLE_S)  # for work that the start left behind
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
    """Return the status of the reply; 0 if there was none."""
    client = HttpClient(address, places.ATTACKER)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            return (await client.exchange(data)).status
    except (OSError, EOFError, ValueError, TimeoutError):
        return 0
    finally:
        client.hang_up()
