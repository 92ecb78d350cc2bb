"""GETFILESTATUS with `Prefer: wait`: what a request for a path waits for, and how it is kept meanwhile.

Nothing is answered with what was known when the wait began: at its end `Reads` answers, as it would answer a request
that comes just then. What a NameNode said to a question that was put for several waiters goes to those alone in whose
very name it was.
"""

import logging
from collections.abc import Callable, Hashable
from http import HTTPStatus
from math import inf
from typing import Final, NamedTuple, TypeAlias

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Reason
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.watches import Watch
from nncache.net.http1.conditional import Conditions
from nncache.net.shares import holder_of
from nncache.proxy.cache_status import Bypass, ForwardReason, shows_path
from nncache.proxy.clients.cached_reply import body_of
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.request import HeldAnswer, Request
from nncache.proxy.clients.response import internal_error_reply
from nncache.proxy.decide.answers import Answers
from nncache.proxy.decide.ports import Clock, Fetch
from nncache.proxy.decide.reads import (
    Collapsed,
    FromMemory,
    FromNameNode,
    NotAdmitted,
    PassOn,
    Read,
    ReadAnswer,
    Reads,
    Unanswered,
)
from nncache.proxy.decide.waits import How, Terms, Waited, Waiter
from nncache.proxy.errors import NoActiveNameNodeError, ProxyError
from nncache.proxy.identity import unread_fields
from nncache.proxy.reading import Reading
from nncache.proxy.traffic import Exchange, Result, Traffic

_log = logging.getLogger(__name__)

_PATHS: Final = 4
"""How often the path of a request is kept that is held: in its target, as it is spelled, and as it is watched."""

PathWaiter: TypeAlias = Waiter[Read, ReadAnswer]


class Key(NamedTuple):
    """Whose questions are alike: nothing of the reply tells them apart.

    Attributes:
        spelling: of the path, as it is requested.
        caller: who asks.
        credential: the name of what says so to the NameNode, beside the target; "": nothing does.
        unread: a digest of other fields that it gets, by which it may know who asks; b"": there are none.
    """

    spelling: str
    caller: Caller
    credential: str
    unread: bytes


class PathQuestions:
    """`nncache.proxy.decide.waits.Questions` about the status of a path."""

    def __init__(self, cache: MetadataCache, reads: Reads, fetch: Fetch, clock: Clock) -> None:
        self._cache = cache
        self._reads = reads
        self._fetch = fetch
        self._clock = clock

    def terms_of(self, read: Read, conditions: Conditions) -> Terms | None:
        """Say how a request may wait; None: not each change of the path will be seen."""
        followed = {None, Reason.TWO_STEP_WRITE}
        if read.refresh or self._cache.why_no_trace(read.plain.path, self._clock()) not in followed:
            return None
        credential = "" if read.credential is None else read.credential.name
        return Terms(
            key=Key(read.plain.as_requested, read.caller, credential, unread_fields(read.head.headers)),
            holder=holder_of(read.head.peer),
            kept_bytes=conditions.kept_bytes + _PATHS * len(read.head.target),
            lease=read.lease,
            credential="" if read.lease is None else credential,
            left_s=inf if read.lease is None else read.lease.ends_at - self._clock(),
        )

    def watch(self, read: Read, woken: Callable[[], None]) -> Watch:
        """Watch the path."""
        return self._cache.store.watches.add(read.plain.path, woken)

    def unwatch(self, _: Hashable, watch: Watch) -> None:
        """Watch it no more."""
        self._cache.store.watches.remove(watch)

    async def ask(self, read: Read, how: How) -> ReadAnswer:
        """Answer as `Reads` does; what that passes on is asked here if it waits, so that several can have the reply."""
        why: ForwardReason = Bypass.CACHE_ERROR
        if how is not How.PAST_CACHE:
            answer = await self._reads.answer(read)
            if how is How.AT_ONCE or not isinstance(answer, PassOn):
                return answer
            why = answer.why
        try:
            reply = await self._fetch(read.head, None)
        except ProxyError as error:
            return Unanswered(error, why)
        return FromNameNode(reply, why, is_stored=False)

    def unanswered(self, error: ProxyError) -> ReadAnswer:
        """Return the answer where there is none."""
        is_ours = not isinstance(error, NoActiveNameNodeError)
        return Unanswered(error, Bypass.CACHE_ERROR if is_ours else Reason.MISS)

    def path_of(self, read: Read) -> str:
        """Return the path."""
        return read.plain.path

    def is_met(self, answer: ReadAnswer, read: Read, conditions: Conditions) -> bool:
        """Whether the answer is one for which the client would not wait any longer."""
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
        """Whether the answer shows its caller the path, and a change of it will be noticed.

        It will where the next read is answered from memory. What does not exist begins with an event, also while a
        two-step write is to make it. An open file grows without one.
        """
        match answer:
            case FromMemory() | Collapsed():
                return True
            case FromNameNode(reply, why, _, is_known):
                is_awaited = why is Reason.TWO_STEP_WRITE and reply.term == self._cache.term
                return is_known or (
                    is_awaited
                    and reply.status == HTTPStatus.NOT_FOUND
                    and shows_path(reply.status, reply.body)
                )
            case _:
                return False

    def is_for_others(self, answer: ReadAnswer) -> bool:
        """Whether it is the NameNode's, to a question that was put for all, or in memory and good."""
        match answer:
            case FromMemory(hit):
                return self._cache.is_good(hit, self._clock())
            case _:
                return not isinstance(answer, Collapsed | NotAdmitted)


class HeldRequest(HeldAnswer):
    """A request that is held without its task: what its answer is made of, until its connection sends it.

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
        reading: Reading,
        conditions: Conditions,
    ) -> None:
        self._request: Request | None = request  # until it is held
        self._answers = answers
        self._traffic = traffic
        self._exchange = exchange
        self._reading = reading
        self._conditions = conditions
        self._client: ClientConnection | None = None  # holds it
        self._wait: PathWaiter | None = None

    def keep(self, wait: PathWaiter) -> bool:
        """Have it held, if its connection can."""
        request, self._request = self._request, None
        if request is None or not request.connection.hold(request, self):
            return False
        wait.answered = self.answered
        self._wait, self._client = wait, request.connection
        return True

    def leave(self) -> None:
        """Have it answered soon: the client has closed its half."""
        assert self._wait is not None
        self._wait.end()

    def abandon(self) -> None:
        """Answer it no more: the client is gone."""
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
        exchange.started += waited.held_s  # what is timed is the work
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
        except Exception:  # noqa: BLE001 - as in any call of a protocol, it costs its own connection and no other
            _log.exception("internal error while an answer was sent")
            client.end()
