"""GETFILESTATUS with `Prefer: wait`: what a request for a path waits for, and how it is held.

A wait never ends with the state from its beginning: at its end `StatusReads` answers the request like a new one. The
NameNode's reply to a question that several waiters share reaches only waiters with the same caller and credential.
"""

import logging
from collections.abc import Callable, Hashable
from http import HTTPStatus
from math import inf
from typing import Final, NamedTuple, TypeAlias

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import MissReason
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.watches import PathWatch
from nncache.net.http1.conditional import Conditions
from nncache.net.shares import holder_of
from nncache.proxy.cache_status import Bypass, ForwardReason, shows_path
from nncache.proxy.clients.cached_reply import body_of
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.request import HeldAnswer, Request
from nncache.proxy.clients.response import internal_error_reply
from nncache.proxy.decide.answers import Answers
from nncache.proxy.decide.ports import Clock, FetchCall
from nncache.proxy.decide.reads import (
    Collapsed,
    ForwardWithoutTrace,
    FromMemory,
    FromNameNode,
    NotAdmitted,
    ReadAnswer,
    StatusRead,
    StatusReads,
    Unanswered,
)
from nncache.proxy.decide.waits import AskMode, Waited, Waiter, WaitTerms
from nncache.proxy.errors import ProxyError, TooManyCallsError, TooManyRequestsError, UpstreamUnavailableError
from nncache.proxy.identity import unread_fields
from nncache.proxy.reading import ParsedRequest
from nncache.proxy.traffic import Exchange, Result, Traffic

_log = logging.getLogger(__name__)

_PATHS: Final = 4
"""Copies of the path in memory for each held request: in its target, as it is spelled, and as it is watched."""

PathWaiter: TypeAlias = Waiter[StatusRead, ReadAnswer]


class WaitKey(NamedTuple):
    """The identity of a question: requests with equal keys get equal replies.

    Attributes:
        spelling: the path as the request spells it.
        caller: the caller.
        credential: the name of its credential; "": none.
        unread: a digest of other fields that may authenticate the caller to the NameNode; b"": none.
    """

    spelling: str
    caller: Caller
    credential: str
    unread: bytes


class PathQuestions:
    """`nncache.proxy.decide.waits.WaitQuestions` about the status of a path."""

    def __init__(self, cache: MetadataCache, reads: StatusReads, fetch: FetchCall, clock: Clock) -> None:
        self._cache = cache
        self._reads = reads
        self._fetch = fetch
        self._clock = clock

    def terms_of(self, read: StatusRead, conditions: Conditions) -> WaitTerms | None:
        """Return the terms of a wait; None: the cache will not see every change of the path."""
        followed = {None, MissReason.TWO_STEP_WRITE}
        if read.refresh or self._cache.why_no_trace(read.plain.path, self._clock()) not in followed:
            return None
        credential = "" if read.credential is None else read.credential.name
        return WaitTerms(
            key=WaitKey(read.plain.as_requested, read.caller, credential, unread_fields(read.head.headers)),
            holder=holder_of(read.head.peer),
            kept_bytes=conditions.kept_bytes + _PATHS * len(read.head.target),
            lease=read.lease,
            credential="" if read.lease is None else credential,
            left_s=inf if read.lease is None else read.lease.ends_at - self._clock(),
        )

    def watch(self, read: StatusRead, woken: Callable[[], None]) -> PathWatch:
        """Watch the path."""
        return self._cache.store.watches.add(read.plain.path, woken)

    def unwatch(self, _: Hashable, watch: PathWatch) -> None:
        """Stop watching the path."""
        self._cache.store.watches.remove(watch)

    async def ask(self, read: StatusRead, how: AskMode) -> ReadAnswer:
        """Answer as `StatusReads` does. If a held read would be forwarded, fetch the reply here: waiters share it."""
        why: ForwardReason = Bypass.CACHE_ERROR
        if how is not AskMode.PAST_CACHE:
            answer = await self._reads.answer(read)
            if how is AskMode.AT_ONCE or not isinstance(answer, ForwardWithoutTrace):
                return answer
            why = answer.why
        try:
            reply = await self._fetch(read.head, None)
        except ProxyError as error:
            return Unanswered(error, why)
        return FromNameNode(reply, why, is_stored=False)

    def unanswered(self, error: ProxyError) -> ReadAnswer:
        """Return the answer of a question that failed."""
        is_ours = not isinstance(error, UpstreamUnavailableError)
        return Unanswered(error, Bypass.CACHE_ERROR if is_ours else MissReason.MISS)

    def path_of(self, read: StatusRead) -> str:
        """Return the path, for the log."""
        return read.plain.path

    def is_met(self, answer: ReadAnswer, read: StatusRead, conditions: Conditions) -> bool:
        """Whether the answer is one that the client waits for."""
        match answer:
            case FromMemory(hit):
                reply = hit.entry.reply
                return conditions.is_met(reply.status, body_of(reply, read.plain.as_requested))
            case Collapsed(known):
                return conditions.is_met(known.reply.status, body_of(known.reply, read.plain.as_requested))
            case FromNameNode(reply=upstream):
                return conditions.is_met(upstream.status, upstream.body)
            case _:
                return False

    def is_sure(self, answer: ReadAnswer) -> bool:
        """Whether the answer shows its caller the path, and a later change will be noticed.

        A change is noticed if the answer is cached. A missing path is created with an event, also while a two-step
        write is to create it. An open file grows without an event.
        """
        match answer:
            case FromMemory() | Collapsed():
                return True
            case FromNameNode(reply, why, _, is_known):
                is_awaited = why is MissReason.TWO_STEP_WRITE and reply.term == self._cache.term
                return is_known or (
                    is_awaited
                    and reply.status == HTTPStatus.NOT_FOUND
                    and shows_path(reply.status, reply.body)
                )
            case _:
                return False

    def is_shareable(self, answer: ReadAnswer) -> bool:
        """Whether waiters may share the answer: it is a call's outcome, or a hit that is still valid."""
        match answer:
            case FromMemory(hit):
                return self._cache.is_good(hit, self._clock())
            case _:
                return not isinstance(answer, Collapsed | NotAdmitted)

    def is_of_asker(self, answer: ReadAnswer) -> bool:
        """Whether a limit has refused the question: it counts by address as well."""
        return isinstance(answer, Unanswered) and isinstance(
            answer.error, TooManyCallsError | TooManyRequestsError
        )


class HeldRequest(HeldAnswer):
    """A request that is held without its task, with all data that its answer needs.

    Invariants:
        H1  It is counted once: when it is answered or abandoned.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_conditions",
        "_exchange",
        "_reading",
        "_request",
        "_traffic",
        "_wait",
    )

    def __init__(
        self,
        request: Request,
        answers: Answers,
        traffic: Traffic,
        exchange: Exchange,
        reading: ParsedRequest,
        conditions: Conditions,
    ) -> None:
        self._request: Request | None = request  # None once it is held
        self._answers = answers
        self._traffic = traffic
        self._exchange = exchange
        self._reading = reading
        self._conditions = conditions
        self._client: ClientConnection | None = None  # the connection that holds it
        self._wait: PathWaiter | None = None

    def keep(self, wait: PathWaiter) -> bool:
        """Hold the request on its connection; False: the connection cannot hold it."""
        request, self._request = self._request, None
        if request is None or not request.connection.hold(request, self):
            return False
        wait.answered = self.answered
        self._wait, self._client = wait, request.connection
        return True

    def leave(self) -> None:
        """Answer the request soon: the client has half-closed its connection."""
        assert self._wait is not None
        self._wait.end()

    def abandon(self) -> None:
        """Drop the request: the client has disconnected."""
        wait, self._wait, self._client = self._wait, None, None
        if wait is not None:
            wait.abandon()
            self._exchange.result = Result.ABANDONED
            self._traffic.ended(self._exchange)

    def answered(self, waited: Waited[ReadAnswer]) -> None:
        """Send the answer, and count the request. Never raises."""
        client, self._client, self._wait = self._client, None, None
        assert client is not None
        exchange = self._exchange
        exchange.started += waited.held_s  # the time of the wait does not count
        try:
            response = self._answers.with_conditions(
                exchange, self._reading, waited, self._conditions, is_secure=client.is_over_tls
            )
        except Exception:  # noqa: BLE001 - the last line of defence: logged, counted, answered
            _log.exception("internal error while answering a request that was held")
            exchange.result = Result.FAILED
            response = internal_error_reply()
        exchange.status, exchange.body_bytes = response.status, response.known_length
        self._traffic.ended(exchange)
        try:
            client.answered(response)
        except Exception:  # noqa: BLE001 - it ends its own connection only, as in any callback of a protocol
            _log.exception("internal error while an answer was sent")
            client.end()
