"""Reads that may be kept, asked without a parser, a task or a queue.

As `nncache.proxy.plain_calls` passes on what is never kept, so this asks about paths of which nothing is known: under
the ticket that the cache gives for it, as a flight that others may join. The reply goes to the cache first, then to the
client. What does not go smoothly becomes an ordinary flight, with all that has come: nothing is asked a second time.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Protocol

from nncache.cache.decisions import Fetch
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import StatusRequest
from nncache.hadoop.election_view import NameNode
from nncache.proxy.cache_status import ForwardReason, forwarded, shows_path
from nncache.proxy.call_limits import CallLimits
from nncache.proxy.credentials import Credential
from nncache.proxy.errors import ProxyError
from nncache.proxy.flights import Flight, Flights
from nncache.proxy.identity import caller_of
from nncache.proxy.messages import NO_TERM, RequestHead, UpstreamReply
from nncache.proxy.plain_blocks import fields_of
from nncache.proxy.ports import Clock
from nncache.proxy.reads import Asked
from nncache.proxy.secure_cookies import SecureCookies
from nncache.proxy.traffic import Exchange, Result, result_of
from nncache.proxy.upstream.plain_exchange import PlainExchange, PlainReader
from nncache.proxy.upstream.plain_reply import PlainReply

_log = logging.getLogger(__name__)


class PlainClient(Protocol):
    """Who asks."""

    @property
    def is_over_tls(self) -> bool:
        """Whether it is connected over TLS."""

    def replied(self, text: bytes) -> None:
        """Send these bytes, the whole reply."""

    def unfinished(self) -> None:
        """Have the call, and the connection, served by the ordinary path."""


class PlainUpstream(Protocol):
    """`nncache.proxy.upstream.client.Upstream`, as far as it is needed here."""

    def begin_plain(self, request: bytes, holder: str, reader: PlainReader) -> PlainExchange | None:
        """Send a GET at once, if that can be done now."""

    def term_of(self, namenode: NameNode) -> int:
        """Return a NameNode's term; NO_TERM if it is not the active one."""


class PlainFrontEnd(Protocol):
    """`nncache.proxy.front_end.FrontEnd`, as far as it is needed here.

    Attributes:
        join_wait_s: how long a client waits for what the cache makes of its reply.
        cookies: say which cookies of a reply may go to a client.
    """

    cookies: SecureCookies
    call_limits: CallLimits
    flights: Flights
    join_wait_s: float

    def plain_ended(self, exchange: Exchange, why: ForwardReason) -> None:
        """Count a call that was forwarded."""


@dataclass(slots=True)
class Question:
    """A plain GETFILESTATUS.

    Attributes:
        text: the request, all that came of the client.
        fields: of its header fields, what goes to the NameNode, as on the wire.
        credential: what authenticates it, beside what its target says.
        request: what goes there in all, as on the wire.
        peer: the client's address.
        holder: under which name that has its share (`nncache.net.shares.holder_of`).
        caller: who asks, as the request says; limits go by it.
        is_fresh: the caller wants the NameNode's own answer.
        seen: what is counted of it.
    """

    text: bytes
    target: str
    plain: StatusRequest
    fields: bytes
    credential: Credential | None
    request: bytes
    peer: str
    holder: str
    caller: str
    is_fresh: bool
    seen: Exchange


class PlainFill:
    """One such read under way.

    Invariants:
        F1  Its question is asked or taken (`nncache.proxy.flights`) exactly once.
        F2  It is counted exactly once, unless those who go on with it count it.
    """

    __slots__ = ("_asked", "_client", "_exchange", "_fills", "_is_over", "_question", "_reply", "_timer")

    def __init__(self, fills: "PlainFills", question: Question, client: PlainClient) -> None:
        self._fills = fills
        self._question = question
        self._client: PlainClient | None = client  # None: gone, or served by the ordinary path
        self._exchange: PlainExchange | None = None  # None: not begun, or over
        self._asked: Asked | None = None
        self._reply: PlainReply | None = None
        self._timer: asyncio.TimerHandle | None = None  # runs while the cache has not taken the reply
        self._is_over = False

    @property
    def head(self) -> bytes:
        """The request."""
        return self._question.text

    def begun(self, exchange: PlainExchange, asked: Asked) -> None:
        """Take note of the question, and of what brings the reply."""
        self._exchange, self._asked = exchange, asked

    def replied(self, reply: PlainReply) -> None:
        """Give the NameNode's reply to the cache, then to the client, who waits a while for the cache.

        As on the ordinary path, `Cache-Status` can say then whether it is kept, and the client's next read finds it.
        """
        exchange, self._exchange = self._exchange, None
        assert exchange is not None
        assert self._asked is not None
        self._reply = reply
        flight = self._asked.flight
        self._fills.take(self._question, exchange, flight, reply)
        if flight.done.done():
            self._end()
        else:
            flight.done.add_done_callback(lambda _: self._end())
            self._timer = asyncio.get_running_loop().call_later(self._fills.join_wait_s, self._end)

    def unfinished(self) -> None:
        """Leave the rest to the ordinary path."""
        assert self._client is not None, "who abandons a fill hands its exchange over"
        self._client.unfinished()

    def hand_over(self) -> Asked:
        """Return the question as it stands; those who go on with it count it."""
        asked = self._go_on()
        self._is_over = True
        self._stop_timer()
        self._fills.under_way -= 1
        return asked

    def abandon(self) -> None:
        """Go on without the client, who is gone: others may have joined."""
        is_answered = self._exchange is None
        asked = self._go_on()
        self._client = None
        if not is_answered:
            asked.flight.done.add_done_callback(lambda _: self._end())

    def _go_on(self) -> Asked:
        """Have the flight wait for the reply by itself, if that has not come."""
        exchange, self._exchange = self._exchange, None
        assert self._asked is not None
        if exchange is not None:
            self._fills.ask(self._question, exchange, self._asked.flight)
        return self._asked

    def _end(self) -> None:
        """Count it, and let the client have its reply."""
        if self._is_over:
            return
        self._is_over = True
        self._stop_timer()
        assert self._asked is not None
        client, reply, why = self._client, self._reply, self._asked.why
        if reply is not None:
            seen = self._question.seen
            seen.status, seen.body_bytes = reply.status, len(reply.body)
        is_stored = self._fills.ended(self._question, self._asked, is_abandoned=client is None)
        if client is not None and reply is not None:
            is_shown = is_stored or shows_path(reply.status, reply.body)
            if reply.sets_secure_cookie and not client.is_over_tls:
                reply = self._fills.cookies.plain_reply_for(reply)
            client.replied(reply.encode(forwarded(why, is_shown=is_shown, is_stored=is_stored)))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class PlainFills:
    """Asks such questions."""

    def __init__(
        self, front_end: PlainFrontEnd, cache: MetadataCache, upstream: PlainUpstream, clock: Clock
    ) -> None:
        self._front_end = front_end
        self._cache = cache
        self._upstream = upstream
        self.cookies = front_end.cookies
        self._clock = clock
        self.join_wait_s = front_end.join_wait_s
        self.requests = 0  # ended here
        self.under_way = 0
        self.errors = 0  # exceptions of our own, each logged (FailToNameNode)

    def concerns(self, plain: StatusRequest, *, is_fresh: bool) -> bool:
        """Whether the cache would have it asked at once, for any caller."""
        return is_fresh or self._cache.store.is_untouched(plain.path)

    def begin(self, question: Question, client: PlainClient) -> PlainFill | None:
        """Ask, if that can be done at once."""
        limits = self._front_end.call_limits
        if not limits.enter(question.holder, question.caller):
            return None
        fill = PlainFill(self, question, client)
        exchange = self._upstream.begin_plain(question.request, question.holder, fill)
        if exchange is not None:
            asked = self._asked_of(question)
            if asked is not None:
                fill.begun(exchange, asked)
                self.under_way += 1
                return fill
            exchange.abandon()
        limits.leave(question.holder, question.caller)
        return None

    def _asked_of(self, question: Question) -> Asked | None:
        """Take a ticket, in the turn of the loop in which the question was sent; None if there is no use in it."""
        plain = question.plain
        try:
            caller = caller_of(plain, question.credential, question.peer)
            now = question.seen.started  # when it was found that it may be kept
            decision = self._cache.lookup(plain.path, caller, now, refresh=question.is_fresh)
            assert isinstance(decision, Fetch), "of what is untouched nothing is served, nor waited for"
        except Exception:  # noqa: BLE001 - FailToNameNode: the ordinary path has it, whatever it is
            self.errors += 1
            _log.exception("internal error while reading %s; it goes the ordinary way", plain.path)
            return None
        flight = self._front_end.flights.begin(decision.ticket, plain, question.credential)
        return Asked(flight, decision.reason)

    def take(self, question: Question, exchange: PlainExchange, flight: Flight, reply: PlainReply) -> None:
        """Give a flight its reply."""
        self._front_end.call_limits.leave(question.holder, question.caller)
        namenode, term = exchange.namenode, exchange.term
        self._front_end.flights.take(
            flight,
            UpstreamReply(
                status=reply.status,
                reason=reply.reason.decode("ascii"),
                headers=reply.headers,
                replayed=reply.replayed,
                body=reply.body,
                namenode=namenode,
                term=term if term == self._upstream.term_of(namenode) else NO_TERM,
                replied_at=self._clock(),
            ),
        )

    def ask(self, question: Question, exchange: PlainExchange, flight: Flight) -> None:
        """Have a flight wait for the reply that the exchange has not brought yet; it counts that call from here on."""
        self._front_end.call_limits.leave(question.holder, question.caller)
        peer = question.peer
        fields = (*fields_of(question.fields), (b"X-Forwarded-For", peer.encode("ascii", "replace")))
        head = RequestHead("GET", question.target, fields, peer, question.caller)
        self._front_end.flights.ask(flight, head, exchange.hand_over())

    def ended(self, question: Question, asked: Asked, *, is_abandoned: bool) -> bool:
        """Count a call that ended here; whether the cache is known to keep the reply."""
        self.requests += 1
        self.under_way -= 1
        flight, seen = asked.flight, question.seen
        is_stored = flight.done.done() and flight.done.result().conclusion.is_shareable
        answer = flight.answered.result() if flight.answered.done() else None
        seen.result = Result.STORED if is_stored else Result.FORWARDED
        if isinstance(answer, ProxyError):
            seen.result = result_of(answer)
        if is_abandoned:
            seen.result = Result.ABANDONED
        self._front_end.plain_ended(seen, asked.why)
        return is_stored
