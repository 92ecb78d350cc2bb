"""Requests that need no task: hits, and reads whose reply arrives soon, small and in one piece.

A request starts here, in the iteration of the event loop in which its head was read. Every other case is handed to
`nncache.proxy.decide.front_end`, with all that was read, decided and sent: nothing is done a second time.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from nncache.cache.decisions import Fetch, Forward, Join, Serve, Wait
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import is_webhdfs
from nncache.hadoop.effects import changes_nothing
from nncache.net.shares import holder_of
from nncache.proxy.cache_status import ForwardReason, why_not_asked
from nncache.proxy.clients.request import CallInFlight, Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.flights import Flight
from nncache.proxy.decide.ports import Clock
from nncache.proxy.decide.reads import Asked, FromMemory, from_namenode
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.reading import ParsedRequest, read_request
from nncache.proxy.traffic import GETFILESTATUS, Exchange, operation_name
from nncache.proxy.upstream.client import Upstream
from nncache.proxy.upstream.direct_exchange import DirectExchange, ReplyReader, StartedCall

if TYPE_CHECKING:
    from nncache.proxy.decide.front_end import FrontEnd

_log = logging.getLogger(__name__)

_LEFT_TO_THE_HANDLER: Final = frozenset({b"authorization", b"expect", b"if-none-match", b"origin", b"prefer"})
"""Request fields that need more than one immediate answer: a ticket, which a NameNode accepts only once, an interim
reply, conditions, or a page of another origin."""


class DirectCall(CallInFlight, ReplyReader):
    """A call in flight whose reply is passed to the connection of its request.

    Attributes:
        request: the request for which the call is sent.

    Invariants:
        D1  It is counted in `CallLimits` until its reply has arrived, or the call is handed over.
    """

    __slots__ = ("_calls", "_exchange", "_head", "_record", "request")

    def __init__(self, calls: "DirectCalls", request: Request, head: RequestHead, record: Exchange) -> None:
        self.request = request
        self._calls = calls
        self._head = head
        self._record = record
        self._exchange: DirectExchange | None = None  # None: not sent, or ended

    def begin(self) -> bool:
        """Send the call; False: no connection is open and free, or a limit refuses the call."""
        upstream, limits, holder = self._calls.upstream, self._calls.limits, holder_of(self._head.peer)
        exchange = upstream.prepare(self._head, holder, self)
        if exchange is None:
            return False
        if not limits.enter(holder, self._head.caller):
            exchange.give_back()
            return False
        if not upstream.send(exchange):
            limits.leave(holder, self._head.caller)
            return False
        self._exchange = exchange
        return True

    def _left(self) -> DirectExchange:
        """Stop counting the call, and return its exchange."""
        self._calls.limits.leave(holder_of(self._head.peer), self._head.caller)
        exchange, self._exchange = self._exchange, None
        assert exchange is not None
        return exchange

    def unfinished(self) -> None:
        """Leave the request to the handler."""
        self.request.connection.unfinished()


class ForwardedRead(DirectCall):
    """A read that is forwarded without a trace in the cache."""

    __slots__ = ("_why",)

    def __init__(
        self,
        calls: "DirectCalls",
        request: Request,
        head: RequestHead,
        record: Exchange,
        why: ForwardReason,
    ) -> None:
        super().__init__(calls, request, head, record)
        self._why = why

    def replied(self, reply: UpstreamReply) -> None:
        """Forward the NameNode's reply to the client."""
        self._left()
        answers, is_secure = self._calls.answers, self.request.connection.is_over_tls
        made = partial(answers.passed_on, self._record, reply, self._why, is_secure=is_secure)
        self._calls.reply(self, self._record, made)

    def hand_over(self) -> StartedCall | None:
        """Return the sent call; None: its reply has arrived."""
        self._calls.under_way -= 1
        return None if self._exchange is None else self._left().hand_over()

    def abandon(self) -> None:
        """End the call: no client waits for the reply."""
        self._left().abandon()
        self._calls.answers.note_forwarded(self._record, self._why)
        self._calls.ended(self._record, None)


class Fill(DirectCall):
    """A read whose reply may be cached, and which other requests may join.

    The cache gets the reply before the client does. So `Cache-Status` can report whether the reply was cached, and the
    client's next read finds it.

    Invariants:
        F1  `Flights.ask` or `Flights.take` is called for its flight exactly once.
        F2  It is counted exactly once, unless it is handed over: then the handler counts it.
    """

    __slots__ = ("_asked", "_is_over", "_reading", "_reply", "_timer")

    def __init__(
        self, calls: "DirectCalls", request: Request, reading: ParsedRequest, record: Exchange, asked: Asked
    ) -> None:
        super().__init__(calls, request, reading.head, record)
        self._reading = reading
        self._asked = asked
        self._reply: UpstreamReply | None = None
        self._timer: asyncio.TimerHandle | None = None  # set while the cache has not taken the reply
        self._is_over = False

    @property
    def _flight(self) -> Flight:
        return self._asked.flight

    def replied(self, reply: UpstreamReply) -> None:
        """Pass the reply to the cache; the client waits at most `join_wait_s` for the cache to take it."""
        self._left()
        self._reply = reply
        self._calls.flights.take(self._flight, reply)
        if self._flight.done.done():
            self._end()
        else:
            self._flight.done.add_done_callback(lambda _: self._end())
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._calls.join_wait_s, self._end)

    def hand_over(self) -> Asked:
        """Return the question, which continues without this call."""
        self._go_on()
        self._calls.under_way -= 1
        return self._asked

    def abandon(self) -> None:
        """Keep waiting for the reply: other requests may have joined."""
        if self._reply is None:
            self._go_on()
            self._flight.done.add_done_callback(lambda _: self._end())

    def _go_on(self) -> None:
        """Let the flight wait for the reply by itself, unless the reply has arrived."""
        if self._exchange is not None:
            self._calls.flights.ask(self._flight, self._head, self._left().hand_over())

    def _end(self) -> None:
        """Count the request, and send its reply to the client."""
        if self._is_over:
            return
        self._is_over = True
        self._stop_timer()
        calls, record, connection = self._calls, self._record, self.request.connection
        if self._reply is None or connection.transport is None:
            calls.answers.note_forwarded(record, self._asked.why)
            calls.ended(record, None)
            return
        result = self._flight.done.result() if self._flight.done.done() else None
        answer = from_namenode(self._asked, self._reply, result)
        plain, is_secure = calls.answers.plain, connection.is_over_tls
        made = partial(plain, self.request, record, self._reading, answer, is_secure=is_secure)
        calls.reply(self, record, made)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class DirectCalls:
    """Answers requests or sends their calls, without a task.

    Attributes:
        requests: number of requests that ended here, since start.
        under_way: number of calls in flight.
        errors: number of internal errors since start, each logged (FailToNameNode).
    """

    def __init__(self, front_end: "FrontEnd", cache: MetadataCache, upstream: Upstream, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._traffic = front_end.traffic
        self.upstream = upstream
        self.limits = front_end.call_limits
        self.flights = front_end.flights
        self.answers = front_end.answers
        self.join_wait_s = front_end.join_wait_s
        self.requests = 0
        self.under_way = 0
        self.errors = 0

    def begin(self, request: Request) -> DirectCall | RawResponse | None:
        """Answer a GET without a body, or send its call; None: the handler answers it.

        An exception is an internal error; no call was sent to the NameNode then.
        """
        if not is_webhdfs(request.target) or not _LEFT_TO_THE_HANDLER.isdisjoint(request.names):
            return None
        record = request.record = Exchange(request.method, request.target, request.peer, self._clock())
        record.take_ids(request.first)
        reading = request.reading = read_request(request.method, request.target, request.fields, request.peer)
        record.caller = reading.head.caller
        if (call := reading.call) is not None:
            if not changes_nothing(call):
                return None
            record.operation = operation_name(call)
            return self._sent(ForwardedRead(self, request, reading.head, record, why_not_asked(call)))
        assert reading.plain is not None
        record.operation = GETFILESTATUS
        decision = self._cache.lookup(
            reading.plain.path, reading.caller, record.started, refresh=reading.refresh
        )
        match decision:
            case Serve(hit):
                return self._hit(request, reading, record, FromMemory(hit))
            case Forward(reason):
                request.decision = decision
                return self._sent(ForwardedRead(self, request, reading.head, record, reason))
            case Fetch(ticket, reason):
                asked = Asked(self.flights.begin(ticket, reading.plain, reading.credential), reason)
                sent = self._sent(Fill(self, request, reading, record, asked))
                if sent is None:
                    self.flights.ask(asked.flight, reading.head)
                    request.begun = asked
                return sent
            case Join() | Wait():
                request.decision = decision
                return None
            case _:
                assert_never(decision)

    def _sent(self, call: DirectCall) -> DirectCall | None:
        """Return the call if it was sent; None if it could not be sent immediately."""
        try:
            if not call.begin():
                return None
        except Exception:  # noqa: BLE001 - FailToNameNode: nothing was sent; the handler takes over
            self.errors += 1
            _log.exception("internal error while a call was sent; it goes on with a task")
            return None
        self.under_way += 1
        return call

    def _hit(
        self, request: Request, reading: ParsedRequest, record: Exchange, hit: FromMemory
    ) -> RawResponse:
        is_secure = request.connection.is_over_tls
        response = self.answers.plain(request, record, reading, hit, is_secure=is_secure)
        self.under_way += 1
        self.ended(record, response)
        return response

    def reply(self, call: DirectCall, record: Exchange, make: Callable[[], RawResponse]) -> None:
        """Count a request, and send the reply that `make` returns; after an internal error the handler answers."""
        try:
            response = make()
        except Exception:  # noqa: BLE001 - FailToNameNode
            self.errors += 1
            _log.exception("internal error while a reply was made; it goes on with a task")
            call.unfinished()
            return
        self.ended(record, response)
        call.request.connection.replied(call.request, response)

    def ended(self, record: Exchange, response: RawResponse | None) -> None:
        """Count a request that ended here; `response` is None if the client has disconnected."""
        self.under_way -= 1
        self.requests += 1
        if response is not None:
            record.status, record.body_bytes = response.status, response.known_length
        self._traffic.ended(record)
