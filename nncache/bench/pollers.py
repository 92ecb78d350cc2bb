"""Connections that poll while another load is measured: open-loop schedules, in this or a separate process."""

import asyncio
import gc
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from multiprocessing.connection import Connection
from typing import Final

import pyarrow as pa
import uvloop

from nncache.bench.polling.client import request_of
from nncache.bench.polling.clock import endpoint
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Schedule, Times
from nncache.bench.shared.plan import Poller
from nncache.bench.shared.tables import POLLS

POLLERS: Final = 64
PERIOD_S: Final = 0.05
PATHS: Final = 100
ROOT: Final = "/bench-polled"
_TIMES_ASKED: Final = 3  # before polling: a miss, a hit that is remembered, a hit on the fast path
_ASKED_EVERY_S: Final = 0.002
_TIMEOUT_S: Final = 20.0
_FOR_EVER_S: Final = 86_400.0


def path_of(number: int) -> str:
    """Return one of the paths that are polled."""
    return f"{ROOT}/{number % PATHS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The results of the polls; points in time are on the monotonic clock, which all processes share."""

    due: Sequence[float] = field(default_factory=list)  # due time of each poll
    took_s: Sequence[float] = field(default_factory=list)  # from the due time to the answer
    # the part of it that is this process's own delay in sending
    late_s: Sequence[float] = field(default_factory=list)
    failed: int = 0  # polls with no answer, or with an answer that is not a status
    forwarded: int = 0  # answers that did not come from memory
    cpu_s: float = 0.0  # of this process

    def between(self, begin: float, end: float, times: Sequence[float]) -> list[float]:
        """Return the elements of `times`, which has one for each poll, of the polls due in the window."""
        return [each for at, each in zip(self.due, times, strict=True) if begin <= at < end]


def schedule_of(
    requests: Sequence[Sequence[bytes]],
    period_s: float,
    rows: Rows,
    times: Times,
    *,
    now: Callable[[], float] = time.monotonic,
) -> Schedule:
    """Return a schedule in which each poller sends its requests in turn, one in each period."""
    pollers = (
        (Poller(number, "joe", tuple(range(len(each))), period_s * number / len(requests)), tuple(each))
        for number, each in enumerate(requests)
    )
    return Schedule(pollers, period_s * len(requests[0]), times, now=now, rows=rows)


def polled(rows: Rows, cpu_s: float) -> Polled:
    """Return the results of the polls."""
    free: dict[int, float] = {}
    due, took, late = list[float](), list[float](), list[float]()
    failed = forwarded = 0
    for row in pa.Table.from_batches(rows.batches(0.0), POLLS).to_pylist():
        due.append(row["due_s"])
        took.append(row["replied_s"] - row["due_s"])
        late.append(row["sent_s"] - max(row["due_s"], free.get(row["poller"], 0.0)))
        free[row["poller"]] = row["replied_s"]
        failed += row["status"] != HTTPStatus.OK
        forwarded += row["status"] == HTTPStatus.OK and row["served"] != "hit"
    return Polled(due=due, took_s=took, late_s=late, failed=failed, forwarded=forwarded, cpu_s=cpu_s)


async def poll(address: str, count: int, end: Connection) -> Polled:
    """Request all paths, report that, and poll until `end` is readable; then wait for outstanding answers."""
    requests = [request_of(path_of(number), address) for number in range(PATHS)]
    begins_s, server = time.monotonic() + PERIOD_S, endpoint(address)
    asking = Times(begins_s=begins_s, ends_s=begins_s + _TIMES_ASKED * PATHS * _ASKED_EVERY_S)
    await schedule_of([requests], _ASKED_EVERY_S, Rows(), asking).run(server)
    end.send(None)
    each = [requests[number % PATHS :] + requests[: number % PATHS] for number in range(count)]
    rows, begins_s, cpu_s = Rows(), time.monotonic() + PERIOD_S, time.process_time()
    times = Times(begins_s=begins_s, ends_s=begins_s + _FOR_EVER_S, timeout_s=_TIMEOUT_S)
    schedule = schedule_of(each, PERIOD_S, rows, times)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(end.fileno())
        schedule.stop()

    loop.add_reader(end.fileno(), stop)
    await schedule.run(server)
    return polled(rows, time.process_time() - cpu_s)


def run(pipe: Connection, address: str, count: int = POLLERS) -> None:
    """Report the start of polling to the parent, poll until its message, and send back a `Polled`."""
    gc.disable()
    found = uvloop.run(poll(address, count, pipe))
    os.set_blocking(pipe.fileno(), True)  # the loop made it non-blocking, and the result may be large
    pipe.send(found)
