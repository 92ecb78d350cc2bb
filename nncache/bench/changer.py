"""The job that makes a workload's changes on time, and records each with the time of its acknowledgement.

It runs in a separate process, so that no other work delays a time stamp. It makes the changes in sequence, directly at
the NameNode, not through a proxy.
"""

import asyncio
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import aiohttp

from nncache.bench.namespace import BenchNamespace, PathState
from nncache.bench.polling.clock import boottime
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.shared import tables
from nncache.bench.shared.plan import PlannedChange, WorkloadPlan
from nncache.hadoop.errors import HadoopError

LONG_AGO_S: Final = -1e9  # time of the initial state, before the first change


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The changes to make, and the NameNode to make them at."""

    plan: WorkloadPlan
    namenode: NameNodeAt
    warm_up_s: float
    duration_s: float
    directory: Path  # of the tables to write

    def changes(self) -> list[PlannedChange]:
        """Return all changes, including those of the warm-up."""
        return list(self.plan.changes(self.plan.existing(), -self.warm_up_s, self.duration_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of the changes."""

    changes: int  # made, including those of the warm-up
    refused: tuple[str, ...]  # changes that the NameNode did not make, each with its error message
    asked: int  # the changer's own GETFILESTATUS calls in the measured time
    cpu_s: float  # CPU seconds in the measured time


class Changer:
    """Makes the changes; `rows` are those of the table `changes`."""

    def __init__(self, order: Order, namespace: BenchNamespace) -> None:
        self._order = order
        self._namespace = namespace
        self.rows: list[dict[str, object]] = []
        self.refused: list[str] = []  # changes that the NameNode did not make
        self.asked = 0  # own GETFILESTATUS calls in the measured time
        self.cpu_s = 0.0  # of this process, in the measured time

    async def note_first(self) -> None:
        """Record the state of all paths before the first change."""
        for path_id, state in enumerate(await self._namespace.states()):
            self._note(-1, path_id, "initial", (LONG_AGO_S,) * 3, state)

    async def change_all(self, zero_s: float) -> None:
        """Make each change when it is due; time 0 is `zero_s` on this host's clock."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._take_stock(zero_s))
            for number, change in enumerate(self._order.changes()):
                try:
                    await self._namespace.prepare(change)
                    await _until(zero_s + change.at_s)
                    await self._make(number, change, zero_s)
                except (HadoopError, aiohttp.ClientError) as exc:
                    path = self._namespace.plan.path(change.path_id)
                    self.refused.append(f"{change.kind} {path}: {exc}")

    async def _make(self, number: int, change: PlannedChange, zero_s: float) -> None:
        sent_s = boottime()
        await self._namespace.carry_out(change)
        acked_s = boottime()
        times = change.at_s, sent_s - zero_s, acked_s - zero_s
        for path_id in self._order.plan.touched(change.kind, change.path_id):
            self._note(number, path_id, change.kind, times, await self._namespace.state(path_id))

    async def _take_stock(self, zero_s: float) -> None:
        """Measure the calls and the CPU time of the measured time."""
        await _until(zero_s)
        asked, cpu_s = self._namespace.asked, time.process_time()
        await _until(zero_s + self._order.duration_s)
        self.asked, self.cpu_s = self._namespace.asked - asked, time.process_time() - cpu_s

    def _note(
        self, number: int, path_id: int, kind: str, times: tuple[float, float, float], state: PathState
    ) -> None:
        due_s, sent_s, acked_s = times
        self.rows.append(
            {
                "change_id": number,
                "path_id": path_id,
                "kind": str(kind),
                "due_s": due_s,
                "sent_s": sent_s,
                "acked_s": acked_s,
                "status": state.status,
                "digest": state.digest,
                "file_id": state.file_id,
            }
        )


async def _until(at_s: float) -> None:
    await asyncio.sleep(max(0.0, at_s - boottime()))


async def _change(pipe: Connection, order: Order) -> None:
    async with BenchNamespace(order.plan, order.namenode) as namespace:
        changer = Changer(order, namespace)
        await changer.note_first()
        pipe.send(None)
        await changer.change_all(await asyncio.to_thread(pipe.recv))
    tables.write(changer.rows, tables.CHANGES, order.directory / "changes.parquet")
    made = len({row["change_id"] for row in changer.rows}) - 1
    pipe.send(Outcome(changes=made, refused=tuple(changer.refused), asked=changer.asked, cpu_s=changer.cpu_s))


def change(pipe: Connection, order: Order) -> None:
    """Record the initial state, signal it, receive time 0 (CLOCK_BOOTTIME), make the changes, send an `Outcome`."""
    asyncio.run(_change(pipe, order))
