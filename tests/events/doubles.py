"""Fakes in virtual time: a source of events made of a list, clients that may be slow, and streams between them."""

import asyncio
import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Self

from nncache.events.feed import FilterFeed
from nncache.events.source import (
    AfterTxid,
    EventsGap,
    EventsOutage,
    FilterGone,
    FilterRedefined,
    Item,
    NextEvents,
    SourceUnavailableError,
    StreamBegun,
)
from nncache.events.stream import MAX_CATCHING_UP, EventStream, StreamEnd
from nncache.hadoop.events import EventBatch, Unlink
from nncache.net.shares import Shares
from tests.events.reader import read_stream


class FilterLog:
    """The records of one filter, as ZooKeeper would keep them; the source of streams.

    `kept` has the number of events of each transaction that is still available, all after `floor`.
    """

    def __init__(self) -> None:
        self.chain = "c1"
        self.floor = 10
        self.end = 10
        self.kept: dict[int, int] = {}
        self.away = ""
        self.subscribers: set[str] | None = {"alice"}
        self.is_silent = False
        self.modified_after: int | None = None
        self.has_bug = False  # a reader of the events gets an exception
        self.followings: list[AfterTxid | None] = []  # the position of each `follow`
        self.rights_read = 0
        self.closed = 0
        self._news = asyncio.Event()

    def publish(self, txid: int, events: int = 1) -> None:
        """Add a transaction."""
        self.kept[txid] = events
        self.end = txid
        self.tell()

    def lose(self, through: int) -> None:
        """Drop the transactions up to this one."""
        self.kept = {txid: events for txid, events in self.kept.items() if txid > through}
        self.floor = max(self.floor, through)
        self.end = max(self.end, through)
        self.tell()

    def tell(self) -> None:
        """Wake all waiters."""
        self._news.set()
        self._news = asyncio.Event()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for a change; False after a timeout."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._news.wait()
        except TimeoutError:
            return False
        return True

    def follow(self, filter_name: str, after: AfterTxid | None) -> "_Following":
        """Return the filter's events."""
        self.followings.append(after)
        return _Following(self, after)

    def readers(self, filter_name: str) -> "_Readers":
        """Return the filter's readers."""
        return _Readers(self)

    async def close(self) -> None:
        """Count the call."""
        self.closed += 1

    def batch(self, txid: int) -> EventBatch:
        """Return the events of a transaction."""
        return EventBatch(txid, tuple(Unlink(f"/{txid}/{number}", 1) for number in range(self.kept[txid])))


class _Following:
    def __init__(self, log: FilterLog, after: AfterTxid | None) -> None:
        self._log = log
        self._after = after
        self._has_begun = False
        self._reported_away = ""
        self._reported_modified: int | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        log = self._log
        while True:
            await asyncio.sleep(0.001)  # a round trip
            if log.has_bug:
                raise RuntimeError("a bug")
            if log.subscribers is None:
                await asyncio.sleep(1)
                return FilterGone()
            if log.away:
                if log.away != self._reported_away:
                    self._reported_away, self._has_begun = log.away, False
                    return EventsOutage(log.away)
                await log.wait(60)
                continue
            self._reported_away = ""
            if (item := self._step()) is not None:
                return item
            await log.wait(60)

    def _step(self) -> Item | None:
        log = self._log
        after = self._after or AfterTxid(log.end)
        if not self._has_begun:
            self._has_begun = True
            if after.chain not in {None, log.chain}:
                self._after = AfterTxid(log.end, log.chain)
                return EventsGap("made again", None, None, self._after)
            self._after = AfterTxid(after.txid, log.chain)
            return StreamBegun(self._after)
        if after.txid < log.floor:
            self._after, self._has_begun = AfterTxid(log.floor, log.chain), False
            return EventsGap("gone", after.txid + 1, log.floor, self._after)
        modified = log.modified_after
        limit = log.end
        if modified is not None and modified >= after.txid and modified != self._reported_modified:
            if not [txid for txid in log.kept if after.txid < txid <= modified]:
                self._reported_modified = modified
                self._after = AfterTxid(modified, log.chain)
                return FilterRedefined(self._after, "/a", "joe", "/b", "joe")
            limit = modified
        behind = sorted(txid for txid in log.kept if after.txid < txid <= limit)[:3]
        if not behind:
            return None
        self._after = AfterTxid(behind[-1], log.chain)
        return NextEvents(tuple(log.batch(txid) for txid in behind), self._after)


class _Readers:
    def __init__(self, log: FilterLog) -> None:
        self._log = log

    async def read(self) -> AbstractSet[str] | None:
        self._log.rights_read += 1
        await asyncio.sleep(0.001)
        if self._log.is_silent:
            raise SourceUnavailableError("silent")
        return None if self._log.subscribers is None else set(self._log.subscribers)

    async def changed(self, timeout_s: float) -> bool:
        return await self._log.wait(timeout_s)


@dataclass
class FakeSink:
    """A client: the bytes that it was sent, and whether it reads."""

    sent: bytearray = field(default_factory=bytearray)
    is_cut: bool = False
    is_gone: bool = False
    gives_up: bool = False  # as after the reply's own timeout
    on_write: Callable[[bytes], None] = lambda data: None
    _takes: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._takes.set()

    def stall(self) -> None:
        """Stop reading."""
        self._takes.clear()

    def take(self) -> None:
        """Read everything."""
        self._takes.set()

    async def write(self, data: bytes) -> None:
        """Receive bytes; block while the client does not read."""
        if self.is_gone:
            raise ConnectionResetError("gone")
        self.sent += data
        self.on_write(data)
        await self._takes.wait()
        if self.gives_up:
            raise ConnectionAbortedError("too slow")

    def cut(self) -> None:
        """Record that the connection was cut."""
        self.is_cut = True

    def messages(self) -> list[tuple[str, Any, str]]:
        """Return the messages that a client has read: type, data, and the last id at that point."""
        return [(event, json.loads(data), last_id) for event, data, last_id in read_stream(bytes(self.sent))]

    def txids(self) -> list[int]:
        """Return the transaction ids of the events."""
        return [data["txid"] for event, data, _ in self.messages() if event == "UNLINK"]

    def words(self) -> list[str]:
        """Return the types of the messages."""
        return [event for event, _, _ in self.messages()]


class FakeCluster:
    """A filter's log, its feed and its streams."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.log = FilterLog()
        self.feed = FilterFeed("f", self.log, self.log.subscribers)
        self.tasks = tasks
        self.running = tasks.create_task(self.feed.run())
        self.slots = Shares(MAX_CATCHING_UP)

    def stream(
        self, after: int | AfterTxid | None = None, user: str = "alice", sink: FakeSink | None = None
    ) -> "Streamed":
        """Start a stream."""
        sink = sink or FakeSink()
        position = AfterTxid(after) if isinstance(after, int) else after
        stream = EventStream(sink, self.feed, self.log, user, position, self.slots, "peer")
        return Streamed(stream, sink, self.tasks.create_task(stream.run()))


@dataclass
class Streamed:
    """A running stream."""

    stream: EventStream
    sink: FakeSink
    task: asyncio.Task[StreamEnd]
