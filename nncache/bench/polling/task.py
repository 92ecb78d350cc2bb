"""One Spark task: it runs its share of the pollers.

It runs in a Python process of an executor, so it needs only the standard library, pyarrow and the bench package. With
uvloop, if installed, a poll costs about half the CPU.
"""

import asyncio
import gc
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from nncache.bench.polling.client import allow_connections, request_of
from nncache.bench.polling.clock import ClockOffset, boottime, endpoint, measure
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Schedule, Times
from nncache.bench.polling.waiting import WaitSchedule
from nncache.bench.shared.plan import Poller, WorkloadPlan
from nncache.bench.shared.tables import POLLS

try:
    import uvloop
except ImportError:  # an executor may go without
    new_event_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
else:
    new_event_loop = uvloop.new_event_loop

HOST: Final = "host"
"""An additional column to `POLLS`: a task's last row holds only this, its row of `HOSTS` as JSON."""

SEEN: Final = pa.schema([*(POLLS.field(name) for name in POLLS.names), pa.field(HOST, pa.string())])
"""The columns that a task yields."""


class TaskError(Exception):
    """A task cannot poll; the message names the necessary change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The parameters of all tasks of one mode."""

    plan: WorkloadPlan
    tasks: int  # number of tasks; task n runs the pollers n, n + tasks, n + 2 tasks and so on
    server: str  # the polled server, "host:port"
    clock: str  # the driver's clock, "host:port"
    zero_s: float  # start of the measured time, on the driver's clock
    warm_up_s: float  # duration of polling before the measured time
    duration_s: float  # of the measured time
    # pollers wait for a new answer instead of polling (`nncache.bench.polling.waiting`)
    is_waiting: bool = False

    @property
    def ends_s(self) -> float:
        """The end of the measured time, on the driver's clock."""
        return self.zero_s + self.duration_s

    def pollers(self, task: int) -> tuple[Poller, ...]:
        """Return the pollers of a task."""
        numbers = range(task, self.plan.workload.pollers, self.tasks)
        return tuple(self.plan.poller(number) for number in numbers)

    def requests(self, poller: Poller) -> tuple[bytes, ...]:
        """Return a poller's requests, one for each of its paths."""
        paths = map(self.plan.path, poller.path_ids)
        return tuple(request_of(path, self.server, user=poller.caller) for path in paths)


def make_task(orders: Orders) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `DataFrame.mapInArrow` on a table whose column `id` is the number of the task."""

    def poll(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column("id").to_pylist()]
        for number in numbers:
            yield from run(orders, number)

    return poll


def run(orders: Orders, task: int) -> Iterator[pa.RecordBatch]:
    """Poll until the end, then yield the results with the columns of `SEEN`.

    Raises:
        OSError: the host allows too few open files.
        TaskError: the measured time has already begun.
        ClockError: the driver's clock cannot be reached.
    """
    pollers = orders.pollers(task)
    allow_connections(len(pollers))
    offset = measure(orders.clock)
    gc.collect()
    gc.freeze()  # the collector need not scan objects that live as long as the task
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            rows, cpu_s = runner.run(_poll(orders, task, pollers, offset))
    finally:
        gc.unfreeze()
    offset = offset.then(measure(orders.clock))
    for batch in rows.batches(offset.error_s):
        host = pa.nulls(batch.num_rows, pa.string())
        yield pa.RecordBatch.from_arrays([*batch.columns, host], schema=SEEN)
    yield _host_row(task, len(pollers), offset, cpu_s)


async def _poll(
    orders: Orders, task: int, pollers: tuple[Poller, ...], offset: ClockOffset
) -> tuple[Rows, float]:
    """Return the rows, and the CPU seconds of the measured time."""
    zero_s = orders.zero_s + offset.offset_s  # on this host's clock

    def now() -> float:
        return boottime() - zero_s

    rows = Rows()
    asking = ((poller, orders.requests(poller)) for poller in pollers)
    times = Times(begins_s=-orders.warm_up_s, ends_s=orders.duration_s)
    schedule: Schedule | WaitSchedule
    if orders.is_waiting:
        schedule = WaitSchedule(asking, times, now=now, rows=rows)
    else:
        schedule = Schedule(asking, orders.plan.workload.period_s, times, now=now, rows=rows)
    if now() > 0:
        raise TaskError(
            f"task {task} was ready {now():.1f} s after the measured time had begun: begin later, or warm up longer"
        )
    async with asyncio.TaskGroup() as tasks:
        cpu = tasks.create_task(_cpu_s(now, orders.duration_s))
        await schedule.run(endpoint(orders.server))
    return rows, cpu.result()


async def _cpu_s(now: Callable[[], float], duration_s: float) -> float:
    """Return the CPU seconds that this process uses from 0 to the end of the measured time."""
    await asyncio.sleep(-now())
    before_s = time.process_time()
    await asyncio.sleep(duration_s - now())
    return time.process_time() - before_s


def _host_row(task: int, pollers: int, offset: ClockOffset, cpu_s: float) -> pa.RecordBatch:
    row = {
        "task": task,
        "host": socket.gethostname(),
        "pollers": pollers,
        "clock_offset_s": offset.offset_s,
        "clock_error_s": offset.error_s,
        "cpu_s": cpu_s,
    }
    return pa.RecordBatch.from_pylist([{HOST: json.dumps(row)}], SEEN)
