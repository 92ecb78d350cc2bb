"""Read the edits as a publisher does, and record the edits read, the gaps, and where reading began."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nncache.coordination.task_group import run_until_first
from nncache.hadoop.events import EventBatch
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenode_web import PLAIN
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.errors import GapKind, InvalidationError, MissingEventsError
from nncache.invalidation.journal.access import journal_access
from nncache.invalidation.journal.choice import edits_of
from nncache.invalidation.settings import EditsSettings, PollingSettings
from tests.inotify.subscriber_log import Begins, Event, Gap, SubscriberLog
from tests.journal_faults.pair import FaultyPair
from tests.patience import until
from tests.real.beside import beside

RETRY_S: Final = 0.2
"""Pause between two runs."""


def event_of(batch: EventBatch) -> Event:
    """Return a transaction in the form that is compared."""
    return Event(batch.txid, repr((batch.events, batch.changes)), ())


def _place(task: "asyncio.Task[object]") -> str:
    """Return where a task waits, from its outermost coroutine to the innermost."""
    places = list[str]()
    waiting: object = task.get_coro()
    while (frame := getattr(waiting, "cr_frame", None)) is not None:
        places.append(f"{frame.f_code.co_qualname}:{frame.f_lineno}")
        waiting = getattr(waiting, "cr_await", None)
    return " > ".join(places)


async def _until_set(ending: threading.Event) -> None:
    """Wait until `ending` is set. A thread that waited for it would delay the error that ends a reader."""
    while not ending.is_set():  # noqa: ASYNC110 - not an event: see above
        await asyncio.sleep(0.01)


class EditsReader:
    """A reader that begins each run where the last one ended, as `nncache.invalidation.publisher.resume` does.

    Attributes:
        log: the edits and gaps that it read, in order.
        through_txid: everything up to this transaction was read, or is in a gap; -1 until it has begun.
        runs: number of runs that began.
        ends: why runs ended, or could not begin, in order.
    """

    def __init__(self, pair: FaultyPair, edits_source: str) -> None:
        http, rpc = ((*(getattr(each, name) for each in pair.namenodes),) for name in ("http", "rpc"))
        self._namenodes = NameNodeSettings(
            nameservice=pair.spec.nameservice, namenode_http=http, namenode_rpc=rpc, user=pair.superuser
        )
        self._edits = EditsSettings(edits_source=edits_source, shared_edits_dir=pair.journal_of_readers)
        self._source: EditsSource | None = None  # this and _loop: None until it reads
        self._loop: asyncio.AbstractEventLoop | None = None
        self.log: list[SubscriberLog] = []
        self.through_txid = -1
        self.runs = 0
        self.ends: list[str] = []

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read in a thread while the block runs. The block begins when the first run has."""
        with beside(self._run) as work:

            def has_begun() -> bool:
                work.check()
                return self.through_txid >= 0

            until(has_begun, lambda: f"reading does not begin: {self._state()}")
            yield

    def await_through(self, txid: int) -> None:
        """Wait until everything up to this transaction was read."""
        until(
            lambda: self.through_txid >= txid,
            lambda: f"nothing is read behind {self.through_txid}, not {txid}: {self._state()}",
        )

    def _state(self) -> str:
        """Return why the last runs ended, the state of each JournalNode, and where each task waits."""
        places = [] if self._loop is None else map(_place, asyncio.all_tasks(self._loop))
        return "\n".join((f"{self.ends[-3:]}, {self._source and self._source.stats().journal}", *places))

    def _run(self, ending: threading.Event) -> None:
        asyncio.run(self._read_until(ending))

    async def _read_until(self, ending: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        pool = NameNodePool(self._namenodes, time.monotonic)
        self._source = source = edits_of(
            pool,
            self._edits,
            PollingSettings(),
            journal_access(self._edits, self._namenodes, None, PLAIN),
            time.monotonic,
            at_first_sight=False,
        )
        try:
            await run_until_first(pool.run, lambda: self._follow(source), lambda: _until_set(ending))
        finally:
            await source.shut_down()
            await pool.close()

    async def _follow(self, source: EditsSource) -> None:
        while True:
            try:
                await self._follow_run(source)
            except InvalidationError as exc:
                self.ends.append(f"{type(exc).__name__}: {exc}")
                if isinstance(exc, MissingEventsError):
                    self._heed(exc)
            source.stop()
            await asyncio.sleep(RETRY_S)

    async def _follow_run(self, source: EditsSource) -> None:
        await source.start(None if self.through_txid < 0 else self.through_txid)
        self.runs += 1
        if self.through_txid < 0:
            while not (read := await source.read()).is_durable:
                pass
            self.log.append(Begins(read.through_txid))
            self.through_txid = read.through_txid
        while True:
            read = await source.read()
            self.log += map(event_of, read.batches)
            self.through_txid = max(self.through_txid, read.through_txid)

    def _heed(self, exc: MissingEventsError) -> None:
        """Record lost edits as a gap, and continue after it. After any other end of a run the edits are read again."""
        match exc.kind:
            case GapKind.PURGED if exc.last_txid is not None:
                self.log.append(Gap(self.through_txid + 1, exc.last_txid))
                self.through_txid = exc.last_txid
            case GapKind.WENT_BACK:
                self.log.append(Gap(None, None))
                self.through_txid = -1
            case _:
                return
