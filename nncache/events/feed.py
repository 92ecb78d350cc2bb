"""One filter, followed once for all of its streams.

A stream does not recover missed events from the feed: it reads them from the source by itself
(`nncache.events.stream`). So the feed need not handle gaps, and no stream waits for a slower one.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from operator import attrgetter
from typing import Final, NoReturn, assert_never

from nncache.events.messages import EventFrame, frame_of, joined, modified
from nncache.events.source import (
    AfterTxid,
    EventsGap,
    EventSource,
    EventsOutage,
    FilterGone,
    FilterRedefined,
    Item,
    NextEvents,
    SourceUnavailableError,
    StreamBegun,
)
from nncache.proxy.clients.paced_work import PacedWork

_log = logging.getLogger(__name__)

KEPT_BYTES: Final = 1024 * 1024
"""Maximum size of the newest messages that are kept for streams a little behind."""

PER_ITERATION: Final = 64
"""Number of streams that write in one iteration of the event loop, which takes about five milliseconds."""

_txid: Final = attrgetter("txid")

REREAD_S: Final = 1.0
"""Seconds between two reads of the filter's readers, with or without a notification."""


class FilterFeed:
    """The newest events of one filter, and who may read them.

    Invariants:
        F1  `_kept` has every transaction after `_start` up to `end`, in order, of one chain.
        F2  `_kept` takes at most KEPT_BYTES.
        F3  Each change wakes all listeners, PER_ITERATION of them in each iteration of the loop.
        F4  `_next` is the last result of `next_after`, unless a frame was kept or dropped since.

    Attributes:
        end: the position that the feed has reached; None: it has not started.
        away: the reason of the present outage; "": none.
        readers: the users who may read it; None: there is no such filter.
        streams: number of streams that use it.
        has_failed: whether an internal error has ended it.
    """

    def __init__(self, name: str, source: EventSource, readers: AbstractSet[str] | None) -> None:
        self.name = name
        self._source = source
        self.listeners: set[Callable[[], None]] = set()
        self.readers = readers
        self.end: AfterTxid | None = None
        self.away = ""
        self.streams = 0
        self._wakeups = PacedWork(_tell_one, PER_ITERATION)
        self.has_failed = False
        self._start = -1
        self._kept: list[EventFrame] = []  # by transaction, for a binary search
        self._kept_bytes = 0
        # With the position before it: most streams are at the same position.
        self._next: tuple[tuple[int, int], EventFrame] | None = None

    def covers(self, after: AfterTxid) -> bool:
        """Whether all transactions after a position are kept, or have not arrived yet.

        A position ahead of the feed is covered in the same chain: its stream has read on, and the feed will follow.
        """
        if self.end is None or after.chain not in {None, self.end.chain} or after.txid < self._start:
            return False
        return after.txid <= self.end.txid or after.chain is not None

    def next_after(self, after: AfterTxid, modified_after: int = -1) -> EventFrame | None:
        """Return the next transactions after a covered position, `joined`; None: they have not arrived yet.

        If `modified_after` equals the position, a modification right after it is left out: it was sent already.
        """
        where = after.txid, modified_after
        if self._next is not None and self._next[0] == where:
            return self._next[1]
        kept = self._kept
        place = bisect_right(kept, after.txid, key=_txid)
        if after.txid != modified_after:
            while place and kept[place - 1].is_modified and kept[place - 1].txid == after.txid:
                place -= 1
        frame = next(joined(kept[each] for each in range(place, len(kept))), None)
        self._next = None if frame is None else (where, frame)
        return frame

    async def run(self) -> None:
        """Follow the filter until cancelled. Never raises another exception."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow())
                tasks.create_task(self._watch_readers())
        except Exception:  # noqa: BLE001 - it is logged, and ends the streams of this filter only
            _log.exception("internal error while following filter %s: its streams end", self.name)
            self.has_failed = True
            self._tell()

    async def _follow(self) -> NoReturn:
        following = self._source.follow(self.name, None)
        while True:
            self._take(await anext(following))
            await asyncio.sleep(0)  # several items may have been read together, and each takes milliseconds

    def _take(self, item: Item) -> None:
        match item:
            case StreamBegun(after):
                self.away = ""
                if after != self.end:
                    self._restart(after)
            case NextEvents(batches, through):
                self.away = ""
                for batch in batches:
                    self._keep(frame_of(self.name, batch))
                self.end = through
            case FilterRedefined(after):
                self.away = ""
                self._keep(modified(self.name, item))
                self.end = after
            case EventsGap():
                pass  # the next item says where the stream continues; streams read missed events themselves
            case EventsOutage(reason):
                self.away = reason
            case FilterGone():
                self.readers = None
            case _:
                assert_never(item)
        self._tell()

    def _restart(self, after: AfterTxid) -> None:
        self.end, self._start = after, after.txid
        self._kept.clear()
        self._kept_bytes, self._next = 0, None

    def _keep(self, frame: EventFrame) -> None:
        self._next = None
        self._kept.append(frame)
        self._kept_bytes += len(frame.data)
        dropped = 0
        while self._kept_bytes > KEPT_BYTES:
            oldest = self._kept[dropped]
            dropped += 1
            self._kept_bytes -= len(oldest.data)
            self._start = oldest.txid
        del self._kept[:dropped]

    async def _watch_readers(self) -> NoReturn:
        look = self._source.readers(self.name)
        while True:
            try:
                self.readers = await look.read()
            except SourceUnavailableError:  # no events arrive from ZooKeeper either
                await asyncio.sleep(REREAD_S)
                continue
            self._tell()
            await look.changed(REREAD_S)

    def _tell(self) -> None:
        for listener in self.listeners:
            self._wakeups.add(listener)


def _tell_one(listener: Callable[[], None], _: int) -> int:
    listener()
    return 1
