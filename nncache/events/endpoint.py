"""GET /v1/events: a filter's events as a stream, for its subscribers."""

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Awaitable
from dataclasses import dataclass
from functools import partial
from typing import Final, NoReturn

from nncache.events.callers import IdentifiedUser, Identify
from nncache.events.events_request import EventsRequest, is_events, read_events_request
from nncache.events.feed import FilterFeed
from nncache.events.source import EventSource, SourceUnavailableError
from nncache.events.stream import MAX_CATCHING_UP, EventStream, StreamEnd
from nncache.net.shares import Rates, Shares, holder_of
from nncache.proxy.clients.counted_answer import counted_answer
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse, date_field
from nncache.proxy.errors import (
    EventsUnavailableError,
    MethodNotAllowedError,
    NotASubscriberError,
    NotServedError,
    TooManyRequestsError,
    TooManyStreamsError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Headers
from nncache.proxy.traffic import Exchange, Result, Traffic

_log = logging.getLogger(__name__)

_FIELDS: Final[Headers] = (
    (b"Content-Type", b"text/event-stream"),
    (b"Cache-Control", b"no-store"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-Accel-Buffering", b"no"),  # nginx forwards each message immediately
)
_ALLOW: Final = b"GET"
_NO_CHANNEL: Final = (
    "this proxy reads no events of filters: start a publisher, and give the proxy zookeeper and nameservice"
)
_TURNED_OFF: Final = "this proxy serves no events: max_event_streams is 0"

PER_S: Final = 20.0
"""Refused requests per second that a client address may send."""

BURST: Final = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStats:
    """Figures since start.

    Attributes:
        streams: streams that are open at present.
        followed: filters that are followed at present.
        sent: events written to all streams, ended or open.
        ended: streams, by how they ended.
        not_admitted: requests beyond max_event_streams or an address's share of it, and requests of an address with
            too many refused ones.
    """

    streams: int = 0
    followed: int = 0
    sent: int = 0
    ended: dict[StreamEnd, int]
    not_admitted: int = 0


class EventsEndpoint:
    """Serves streams of events, while `run` runs."""

    def __init__(
        self,
        source: EventSource | None,
        identify: Identify,
        traffic: Traffic,
        limits: LimitSettings,
        *,
        max_streams: int,
    ) -> None:
        """Serve the source's events; without a source, or with `max_streams` of 0, answer 501."""
        self._source = source
        self._max_streams = max_streams
        self._identify = identify
        self._traffic = traffic
        self._limits = limits
        self._shares = Shares(max_streams)
        self._slots = Shares(MAX_CATCHING_UP)
        self._refused = Rates(PER_S, BURST)
        self._feeds: dict[str, tuple[FilterFeed, asyncio.Task[None]]] = {}
        self._streams: set[EventStream] = set()
        self._tasks: asyncio.TaskGroup | None = None  # of the feeds; None: `run` does not run
        self._is_stopping = False
        self._sent = 0  # by streams that have ended
        self._ended: Counter[StreamEnd] = Counter(dict.fromkeys(StreamEnd, 0))
        self._not_admitted = 0

    def before(self, others: Handler) -> Handler:
        """Return a handler of all requests; `others` answers those for other targets."""

        def handle(request: Request) -> Awaitable[RawResponse | None]:
            return self.handle(request) if is_events(request.target) else others(request)

        return handle

    async def run(self) -> NoReturn:
        """Follow the filters that have streams, until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                await asyncio.get_running_loop().create_future()
        finally:
            self._tasks = None
            self._feeds.clear()
            if self._source is not None:
                await self._source.close()
        raise AssertionError("it is cancelled")

    def stop(self) -> None:
        """End all streams, each after a whole message, and start no further one."""
        self._is_stopping = True
        for stream in self._streams:
            stream.end(StreamEnd.STOPPED)

    def key_retired(self) -> None:
        """End the streams whose cookie was signed with a retired key."""
        for stream in self._streams:
            stream.look()

    def stats(self) -> EventStats:
        """Return the figures since start."""
        return EventStats(
            streams=len(self._streams),
            followed=len(self._feeds),
            sent=self._sent + sum(stream.sent for stream in self._streams),
            ended=dict(self._ended),
            not_admitted=self._not_admitted,
        )

    async def handle(self, request: Request) -> RawResponse:
        """Answer one request."""
        return await counted_answer(self._traffic, request, self._handle)

    async def _handle(self, request: Request, exchange: Exchange) -> RawResponse:
        if request.method != "GET":
            raise MethodNotAllowedError("events are read with GET", _ALLOW)
        source = self._source
        if source is None:
            raise NotServedError(_NO_CHANNEL)
        if not self._max_streams:
            raise NotServedError(_TURNED_OFF)
        events_request = read_events_request(request.target, request.fields)
        caller = await self._identify(request, events_request)
        if not isinstance(caller, IdentifiedUser):
            return caller
        exchange.caller = f"user.name={caller.user}"
        holder = holder_of(exchange.peer)
        if self._tasks is None or self._is_stopping:
            raise EventsUnavailableError("the proxy is starting or stopping: ask again")
        if not self._shares.take(holder):
            self._not_admitted += 1
            raise TooManyStreamsError(
                f"too many streams of events are open: the proxy has {self._shares.limit}, and each address its share"
            )
        try:
            feed = await self._feed(source, events_request.filter_name, caller.user, holder)
            try:
                exchange.result = Result.STREAMED
                return await self._stream(request, source, feed, events_request, caller)
            finally:
                self._leave(feed)
        finally:
            self._shares.give_back(holder)

    def _charge(self, holder: str) -> None:
        """Charge an address for a request to read a filter; `_feed` returns the charge if it is granted."""
        wait_s = self._refused.take(holder, self._traffic.clock())
        if wait_s:
            self._not_admitted += 1
            raise TooManyRequestsError(
                f"too many questions for events that may not be read: {PER_S:g} a second", math.ceil(wait_s)
            )

    async def _feed(self, source: EventSource, name: str, user: str, holder: str) -> FilterFeed:
        """Return the feed of a filter, if the user may read it.

        Raises:
            NotASubscriberError: the user may not read it, or there is no such filter.
            TooManyRequestsError: this address has sent too many refused requests.
            EventsUnavailableError: the readers of the filter are not known at present.
        """
        self._charge(holder)
        known = self._feeds.get(name)
        readers = None if known is None else known[0].readers
        if readers is None or user not in readers:
            try:
                readers = await source.readers(name).read()
            except SourceUnavailableError as error:
                _log.debug("events of %s: %s", name, error)
                raise EventsUnavailableError("ZooKeeper does not answer: ask again") from error
        if readers is None or user not in readers:
            raise NotASubscriberError(f"there is no filter {name!r} that {user} may subscribe to")
        self._refused.give_back(holder, self._traffic.clock())
        if name in self._feeds:
            feed = self._feeds[name][0]
            feed.readers = readers
        else:
            if self._tasks is None:
                raise EventsUnavailableError("the proxy is stopping: ask again")
            feed = FilterFeed(name, source, readers)
            self._feeds[name] = feed, self._tasks.create_task(feed.run())
        feed.streams += 1
        return feed

    def _leave(self, feed: FilterFeed) -> None:
        """Stop following a filter when its last stream has ended."""
        feed.streams -= 1
        if not feed.streams and feed.name in self._feeds:
            self._feeds.pop(feed.name)[1].cancel()

    async def _stream(
        self,
        request: Request,
        source: EventSource,
        feed: FilterFeed,
        events_request: EventsRequest,
        caller: IdentifiedUser,
    ) -> RawResponse:
        response = RawResponse(200, "OK", (date_field(), *_FIELDS, *caller.adds), limits=self._limits)
        response.prepare(request)
        holder = holder_of(request.peer)
        lease = caller.lease
        stream = EventStream(
            response, feed, source, caller.user, events_request.after, self._slots, holder, lease
        )
        client, end = request.connection, StreamEnd.FAILED
        timer = None
        if lease is not None:
            left_s = max(0.0, lease.ends_at - self._traffic.clock())
            timer = asyncio.get_running_loop().call_later(left_s, stream.end, StreamEnd.EXPIRED)
        client.on_lost = partial(stream.end, StreamEnd.LEFT)
        self._streams.add(stream)
        try:
            end = await stream.run()
        finally:
            client.on_lost = None
            if timer is not None:
                timer.cancel()
            self._streams.discard(stream)
            self._sent += stream.sent
            self._ended[end] += 1
        return response
