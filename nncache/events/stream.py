"""One client's stream of a filter's events.

A stream takes the events after its position from the filter's feed, while the feed keeps them. Otherwise it reads them
from the source, as any subscriber does, until it reaches the events that the feed keeps. So a client that resumes, or
that is too slow for the feed, costs ZooKeeper only a few reads; these reads also detect gaps.
"""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol, assert_never

from nncache.events.feed import FilterFeed
from nncache.events.messages import EventFrame, ended, frame_of, joined, missing, modified, outage, started
from nncache.events.source import (
    AfterTxid,
    EventsGap,
    EventSource,
    EventsOutage,
    FilterGone,
    FilterRedefined,
    Item,
    NextEvents,
    StreamBegun,
)
from nncache.events.sse import HEARTBEAT, encode_retry
from nncache.net.shares import Shares
from nncache.proxy.admission import AuthLease

HEARTBEAT_S: Final = 15.0
"""Seconds without a message before a heartbeat. The specification advises 15, for proxies that end idle connections."""

RETRY_MS: Final = 2_000
"""Milliseconds after which a client reconnects; about the time of a restart of the proxy."""

MAX_CATCHING_UP: Final = 16
"""Streams that read from the source concurrently: each can hold 16 MiB (`invalidation.channel.reader.AT_ONCE`)."""

TAKE_S: Final = 30.0
"""Seconds in which a client must read all messages of one catch-up."""

LOOK_S: Final = 1.0
"""Seconds between two checks whether a stream that catches up must end, and between two attempts to get a slot."""


class StreamEnd(StrEnum):
    """How a stream ended."""

    LEFT = "left"
    MISSING = "missing"
    NOT_PERMITTED = "not-permitted"
    EXPIRED = "expired"
    SLOW = "slow"
    STOPPED = "stopped"
    FAILED = "failed"


STREAM_ENDS: Final[Mapping[str, str]] = {
    StreamEnd.LEFT: "the client left",
    StreamEnd.MISSING: "events were missing; the stream names which",
    StreamEnd.NOT_PERMITTED: "the user is no longer one of the filter's subscribers, or the filter was removed",
    StreamEnd.EXPIRED: "the cookie had ended, by itself or with its secret; the stream says so",
    StreamEnd.SLOW: "the client read too slowly, and was cut off",
    StreamEnd.STOPPED: "the proxy stopped",
    StreamEnd.FAILED: "an internal error",
}
"""The meaning of each end, for the documentation."""

_EXPIRED: Final = "the session has ended: authenticate again, with a Kerberos ticket, to go on"


class Sink(Protocol):
    """The receiver of messages."""

    async def write(self, data: bytes) -> None:
        """Send messages.

        Raises:
            ConnectionAbortedError: the client does not read; its connection was cut.
            ConnectionError: the client has disconnected.
        """

    def cut(self) -> None:
        """Reset the connection, so that the reply does not look whole."""


class EventStream:
    """The stream of one client.

    Invariants:
        S1  A message is written whole, and only while the user is among the known readers and the lease is valid;
            only the message that the session has ended may follow.
        S2  Each transaction after the first position is written once and in order, or `missing` is the last message.
        S3  For a client that does not read, only the message being written is in memory, except in at most
            MAX_CATCHING_UP streams.

    Attributes:
        sent: number of events written.
    """

    def __init__(
        self,
        sink: Sink,
        feed: FilterFeed,
        source: EventSource,
        user: str,
        after: AfterTxid | None,
        slots: Shares,
        holder: str,
        lease: AuthLease | None = None,
    ) -> None:
        """Prepare a stream.

        Args:
            sink: the client.
            feed: the filter's feed.
            source: the source of events that the feed no longer keeps.
            user: the user who reads.
            after: the position to start from; None: the present.
            slots: the MAX_CATCHING_UP slots of streams that catch up.
            holder: the client whose share of the slots the stream uses.
            lease: the validity of the user's authentication; None: valid while the stream lasts.
        """
        self._sink = sink
        self._feed = feed
        self._source = source
        self._user = user
        self._after = after
        self._slots = slots
        self._holder = holder
        self._lease = lease
        self._news = asyncio.Event()
        self._ending: StreamEnd | None = None  # set by `end`
        self._reported_away = ""
        self._modified_after = -1  # the transaction after which the last sent modification was made
        self._beat_at = 0.0  # when the next heartbeat is due
        self.sent = 0

    def end(self, why: StreamEnd) -> None:
        """End the stream after the message that is being written."""
        self._ending = self._ending or why
        self._news.set()

    def look(self) -> None:
        """Check soon whether the stream must end."""
        self._news.set()

    async def run(self) -> StreamEnd:
        """Write messages until the stream ends; return how it ended."""
        self._feed.listeners.add(self._news.set)
        try:
            await self._write(encode_retry(RETRY_MS))
            if self._after is not None:
                await self._write(started(self._feed.name, self._after))
            end = await self._follow()
            if end is StreamEnd.EXPIRED:
                await self._write(ended(self._feed.name, _EXPIRED))
        except ConnectionAbortedError:
            return StreamEnd.SLOW
        except ConnectionError:
            return StreamEnd.LEFT
        else:
            return end
        finally:
            self._feed.listeners.discard(self._news.set)

    def _why_end(self) -> StreamEnd | None:
        if self._ending is not None:
            return self._ending
        if self._lease is not None and not self._lease.is_good():
            return StreamEnd.EXPIRED
        if self._feed.has_failed:
            return StreamEnd.FAILED
        readers = self._feed.readers
        return None if readers is not None and self._user in readers else StreamEnd.NOT_PERMITTED

    async def _follow(self) -> StreamEnd:
        feed = self._feed
        while True:
            self._news.clear()
            if (end := self._why_end()) is not None:
                return end
            if await self._report_outage(feed.away):
                continue
            if feed.end is None:
                await self._wait(HEARTBEAT_S)
            elif self._after is None:
                self._after = feed.end
                await self._write(started(feed.name, feed.end))
            elif not feed.covers(self._after):
                if (end := await self._catch_up(self._after)) is not None:
                    return end
            elif (frame := feed.next_after(self._after, self._modified_after)) is not None:
                await self._write_events(frame, AfterTxid(frame.txid, feed.end.chain))
            else:
                await self._wait(HEARTBEAT_S)

    async def _wait(self, timeout_s: float) -> None:
        """Wait for a change of the feed, a call of `end` or `look`, or the timeout; write a heartbeat if one is due."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(self._beat_at, loop.time() + timeout_s)):
                await self._news.wait()
        except TimeoutError:
            await self._beat()

    async def _beat(self) -> None:
        if asyncio.get_running_loop().time() >= self._beat_at:
            await self._write(HEARTBEAT)

    async def _write(self, data: bytes) -> None:
        await self._sink.write(data)
        self._beat_at = asyncio.get_running_loop().time() + HEARTBEAT_S

    async def _write_events(self, frame: EventFrame, after: AfterTxid) -> None:
        await self._write(frame.data)
        self._after = after
        self.sent += frame.events
        if frame.is_modified:
            self._modified_after = frame.txid
        await asyncio.sleep(0)  # a write to a fast client does not yield to the event loop

    async def _report_outage(self, reason: str) -> bool:
        """Report the start of an outage, and its end, once each; return whether a message was written."""
        was, self._reported_away = self._reported_away, reason
        if reason and not was:
            await self._write(outage(self._feed.name, reason))
        elif was and not reason and self._after is not None:
            await self._write(started(self._feed.name, self._after))
        else:
            return False
        return True

    # ---- catching up -------------------------------------------------------------------------------------------

    async def _catch_up(self, after: AfterTxid) -> StreamEnd | None:
        """Read from the source until the feed covers the position; return how the stream ends, None: it continues."""
        if not self._slots.take(self._holder):
            await self._wait(LOOK_S)
            return None
        try:
            return await self._read(after)
        finally:
            self._slots.give_back(self._holder)

    async def _read(self, after: AfterTxid) -> StreamEnd | None:
        loop = asyncio.get_running_loop()
        following = self._source.follow(self._feed.name, after)
        left_s = TAKE_S  # for writing
        while (end := self._why_end()) is None:
            try:
                async with asyncio.timeout(LOOK_S):
                    item = await anext(following)
            except TimeoutError:
                await self._beat()
                continue
            began = loop.time()
            try:
                async with asyncio.timeout(left_s):
                    end = await self._take(item)
            except TimeoutError:
                self._sink.cut()
                return StreamEnd.SLOW
            left_s -= loop.time() - began
            if end is not None:
                return end
            if self._after is not None and self._feed.covers(self._after):
                return None
        return end

    def _up_to_now(self, gap: EventsGap) -> EventsGap:
        """Return the gap, extended to the feed's position.

        On a busy filter the oldest record of now is purged by the time the client reconnects. So each reconnect would
        find another gap.
        """
        behind, now = gap.after, self._feed.end
        if behind is None or now is None or now.chain != behind.chain or now.txid <= behind.txid:
            return gap
        reason = (
            f"{gap.reason}; transactions up to {now.txid} are left out: some may be gone before you are back"
        )
        return EventsGap(reason, gap.first_txid, None if gap.last_txid is None else now.txid, now)

    async def _take(self, item: Item) -> StreamEnd | None:
        if (end := self._why_end()) is not None:
            return end
        match item:
            case StreamBegun(after):
                self._after = after
                await self._report_outage("")
            case NextEvents(batches, through):
                for frame in joined(frame_of(self._feed.name, batch) for batch in batches):
                    if (end := self._why_end()) is not None:
                        return end
                    await self._write_events(frame, AfterTxid(frame.txid, through.chain))
                self._after = through
            case FilterRedefined(after):
                await self._write_events(modified(self._feed.name, item), after)
            case EventsGap():
                await self._write(missing(self._feed.name, self._up_to_now(item)))
                return StreamEnd.MISSING
            case EventsOutage(reason):
                await self._report_outage(reason)
            case FilterGone():
                return StreamEnd.NOT_PERMITTED
            case _:
                assert_never(item)
        return None
