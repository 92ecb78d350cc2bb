"""The job that makes the changes of a workload on time, and writes down each with its acknowledgement.

A process of its own, so that no other work makes a time stamp late. Changes are made one after the other, straight at
the NameNode, past any proxy.
"""

import asyncio
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import aiohttp

from nncache.bench.namespace import BenchNamespace, State
from nncache.bench.polling.clock import boottime
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.shared import tables
from nncache.bench.shared.plan import Change, Plan
from nncache.hadoop.errors import HadoopError

LONG_AGO_S: Final = -1e9  # when what was there before the first change came to be


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be changed where."""

    plan: Plan
    namenode: NameNodeAt
    warm_up_s: float
    duration_s: float
    directory: Path  # where the tables go

    def changes(self) -> list[Change]:
        """Return all changes, those of the warm-up too."""
        return list(self.plan.changes(self.plan.existing(), -self.warm_up_s, self.duration_s))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of the changes."""

    changes: int  # made, those of the warm-up too
    refused: tuple[str, ...]  # changes that the NameNode did not make, each with its words
    asked: int  # GETFILESTATUS calls of the changer's own in the measured time
    cpu_s: float  # CPU seconds in the measured time


class Changer:
    """Makes the changes; `rows` are those of the table `changes`."""

    def __init__(self, order: Order, namespace: BenchNamespace) -> None:
        self._order = order
        self._namespace = namespace
        self.rows: list[dict[str, object]] = []
        self.refused: list[str] = []  # changes that the NameNode did not make
        self.asked = 0  # GETFILESTATUS calls of our own in the measured time
        self.cpu_s = 0.0  # of this process, in the measured time

    async def note_first(self) -> None:
        """Take down what there is before the first change."""
        for path_id, state in enumerate(await self._namespace.states()):
            self._note(-1, path_id, "initial", (LONG_AGO_S,) * 3, state)

    async def change_all(self, zero_s: float) -> None:
        """Make all changes when they are due; time 0 is `zero_s` of this host's clock."""
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

    async def _make(self, number: int, change: Change, zero_s: float) -> None:
        sent_s = boottime()
        await self._namespace.carry_out(change)
        acked_s = boottime()
        times = change.at_s, sent_s - zero_s, acked_s - zero_s
        for path_id in self._order.plan.touched(change.kind, change.path_id):
            self._note(number, path_id, change.kind, times, await self._namespace.state(path_id))

    async def _take_stock(self, zero_s: float) -> None:
        """Count what is done in the measured time."""
        await _until(zero_s)
        asked, cpu_s = self._namespace.asked, time.process_time()
        await _until(zero_s + self._order.duration_s)
        self.asked, self.cpu_s = self._namespace.asked - asked, time.process_time() - cpu_s

    def _note(
        self, number: int, path_id: int, kind: str, times: tuple[float, float, float], state: State
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
    """Take down what there is, say so, read when time 0 is (CLOCK_BOOTTIME), make the changes, send an `Outcome`."""
    asyncio.run(_change(pipe, order))
