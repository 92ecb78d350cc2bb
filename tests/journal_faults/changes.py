"""Changes that continue while parts of HDFS break, and a check that a proxy's answers from memory keep up with them."""

import asyncio
import http.client
import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import aiohttp

from nncache.hadoop.errors import HadoopError
from nncache.hadoop.events import EventBatch, MetadataKind, MetadataUpdate
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed.asker import Asker
from tests.journal_faults.pair import FaultyPair
from tests.real.proxied_cluster import MAX_STALENESS_S

WRITERS: Final = 3
PAUSE_S: Final = 0.03
"""Pause of each writer between two changes."""

CALL_S: Final = 15.0
MODES: Final = 0o1000
"""Number of versions of a directory: its mode is its version."""

_MISSING: Final = -1


@dataclass(slots=True)
class Changed:
    """A directory that a writer changes repeatedly: its mode counts up. Another user reads it.

    Attributes:
        acknowledged: time and version of each acknowledged change, in order.
    """

    path: str
    acknowledged: list[tuple[float, int]] = field(default_factory=list)

    def oldest_allowed(self, asked_at: float) -> int:
        """Return the oldest version that may answer, from memory, a question asked at this time."""
        known = (version for at, version in self.acknowledged if at < asked_at - MAX_STALENESS_S)
        return max(known, default=_MISSING)


class Changes:
    """Writers, each of which changes one directory after another.

    A writer abandons a directory after a failed call: the call may still take effect, after later ones.

    Attributes:
        made: number of acknowledged changes.
        stale: answers from memory that are older than Bounded allows.
        hits: number of answers from memory.
    """

    def __init__(self, pair: FaultyPair, below: str) -> None:
        self._pair = pair
        self._below = below
        self._all: list[Changed] = []
        self._latest: deque[Changed] = deque(maxlen=2 * WRITERS)
        self.made = 0
        self.hits = 0
        self.stale: list[str] = []

    def lost(self, log: Iterable[EventBatch]) -> int:
        """Return how many acknowledged changes of modes are missing from the log: HDFS has lost them."""
        logged = {
            (event.path, int(event.permission, 8))
            for batch in log
            for event in batch.events
            if isinstance(event, MetadataUpdate) and event.kind is MetadataKind.PERMS
        }
        return sum(
            version > 0 and (each.path, version) not in logged
            for each in self._all
            for _, version in each.acknowledged
        )

    # -- in a thread each

    def make(self, ending: threading.Event) -> None:
        """Make changes until `ending` is set."""

        async def work() -> None:
            first, *others = (f"http://{each.http}" for each in self._pair.namenodes)
            async with (
                WebHdfs(first, self._pair.superuser, others=others, timeout_s=CALL_S) as hdfs,
                asyncio.TaskGroup() as writers,
            ):
                for number in range(WRITERS):
                    writers.create_task(self._write(hdfs, number, ending))

        asyncio.run(work())

    def look(self, proxy: str, ending: threading.Event) -> None:
        """Ask the proxy for the directories' statuses until `ending` is set."""
        with Asker(proxy) as asker:
            while not ending.is_set():
                for each in tuple(self._latest):
                    with suppress(OSError, http.client.HTTPException):
                        self._look_at(asker, each)
                ending.wait(0.005)

    async def _write(self, hdfs: WebHdfs, writer: int, ending: threading.Event) -> None:
        for number in _count_until(ending):
            above = f"{self._below}/w{writer}"
            changed = Changed(f"{above}/d{number}")
            try:
                await hdfs.mkdirs(above)  # which other users may traverse
                for version in range(MODES):
                    if not version:
                        await hdfs.mkdirs(changed.path, "0")
                    else:
                        await hdfs.set_permission(changed.path, f"{version:o}")
                    changed.acknowledged.append((time.monotonic(), version))
                    self.made += 1
                    if not version:
                        self._all.append(changed)
                        self._latest.append(changed)
                    await asyncio.sleep(PAUSE_S)
                    if ending.is_set():
                        return
            except (HadoopError, aiohttp.ClientError, TimeoutError):
                await asyncio.sleep(PAUSE_S)

    def _look_at(self, asker: Asker, changed: Changed) -> None:
        target = f"/webhdfs/v1{changed.path}?op=GETFILESTATUS&user.name=alice"
        reply = asker.ask("GET", target)
        if not reply.is_hit:
            return
        self.hits += 1
        version = _MISSING
        if reply.status == http.client.OK:
            version = int(json.loads(reply.body)["FileStatus"]["permission"], 8)
        if version < (oldest := changed.oldest_allowed(reply.started_at)):
            self.stale.append(
                f"{changed.path} is answered with version {version}, {oldest} is older than allowed"
            )


def _count_until(ending: threading.Event) -> Iterator[int]:
    number = 0
    while not ending.is_set():
        yield number
        number += 1
