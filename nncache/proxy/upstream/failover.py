"""Send a call to one NameNode after another until one of them accepts it.

`nncache.hadoop.retry` alone decides which calls may be sent a second time. A call that is not a read is sent on a new
connection, so that a connection closed in the meantime cannot be mistaken for a call not carried out. If it was sent
and no reply came, it is never repeated.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.hadoop.retry import FailureKind, may_retry
from nncache.proxy.clients.body import RequestBody
from nncache.proxy.errors import (
    NotSentError,
    ServiceLoginError,
    UpstreamError,
    UpstreamTimeoutError,
    UpstreamUnavailableError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import NO_TERM, RequestHead
from nncache.proxy.upstream.direct_exchange import SentCall
from nncache.proxy.upstream.exchange import CallExchange
from nncache.proxy.upstream.pool import Connection, ConnectionPool
from nncache.proxy.upstream.service_login import ServiceLogin

_READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # safe by RFC 9110, section 9.2.1
_FORBIDDEN: Final = 403  # the status of StandbyException and RetriableException
_PAUSES_S: Final = (0.0, 0.05, 0.1, 0.2, 0.4)  # before each further round; the last one repeats
_NOT_LOGGED_IN: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FOUND}
"""Statuses for a caller without a login. The second is sent if `User-Agent` looks like a browser's, and browsers log in
elsewhere (JWTRedirectAuthenticationHandler); a NameNode has no other use for it."""
_LOOK_AGAIN_S: Final = 1.0  # the NameNodes are asked again at this interval even if the pool sees none active
_MAX_CUTS: Final = 3  # a read whose connection was cut more often is not retried


@dataclass(slots=True)
class Counts:
    """Counts since start; see `nncache.proxy.upstream.client.ForwardStats`."""

    calls: int = 0
    repeated: int = 0
    not_sent: int = 0
    refused: int = 0
    cut: int = 0
    timed_out: int = 0


class UpstreamCall:
    """One call and its attempts so far.

    Attributes:
        is_negotiate: whether it carries a ticket, which a NameNode accepts once.
        is_read: whether a repetition has no effect but another answer.
        wanted_bytes: size of the part of the reply's body that is read before the call counts as answered.
        only_json: whether that part is read only if it is JSON.
        is_followed: whether it is for a client's request (`nncache.proxy.messages.CallSent`).
        is_pending: whether it was sent, and its outcome is not known (yet).
        silent: the NameNodes that received it and did not answer in time; none of them is asked a second time.
        silence: the error of the last of these.
        used: the NameNodes that have seen its ticket; a second time it would be a replay (RFC 4120, section 3.2.3).
    """

    __slots__ = (
        "begun",
        "body",
        "cuts",
        "head",
        "is_followed",
        "is_negotiate",
        "is_pending",
        "is_read",
        "on_continue",
        "only_json",
        "rounds",
        "sent",
        "silence",
        "silent",
        "used",
        "wanted_bytes",
    )

    def __init__(
        self,
        head: RequestHead,
        *,
        wanted_bytes: int,
        body: RequestBody | None = None,
        only_json: bool = False,
        is_followed: bool = True,
        on_continue: Callable[[], None] = lambda: None,
        begun: SentCall | None = None,
    ) -> None:
        self.head = head
        self.body = body
        self.wanted_bytes = wanted_bytes
        self.only_json = only_json
        self.is_followed = is_followed
        self.on_continue = on_continue  # called when the NameNode asks for the body
        self.begun = begun  # the connection on which the head was sent already
        self.is_read = head.method in _READ_METHODS
        self.is_pending = False
        self.sent = 0  # attempts that reached a NameNode
        self.cuts = 0
        self.silent: list[NameNode] = []
        self.silence: UpstreamTimeoutError | None = None
        self.is_negotiate = _has_ticket(head)
        self.used: list[NameNode] = []
        self.rounds = 0  # over all NameNodes

    def may_repeat(self, kind: FailureKind) -> bool:
        """Whether the call may be sent again after a failure of this kind."""
        if self.body is not None and self.body.is_begun:
            return False  # the part of the body that was read is lost
        return may_retry(self.is_read, kind, len(self.silent)) and self.cuts <= _MAX_CUTS


class UpstreamResponse:
    """A NameNode's final reply, whose body may be unread. The caller must call `close`."""

    __slots__ = (
        "_connection",
        "_connections",
        "_is_closed",
        "_sending",
        "exchange",
        "namenode",
        "term",
    )

    def __init__(self, exchange: CallExchange, connection: Connection, connections: ConnectionPool) -> None:
        self.exchange = exchange
        self.namenode = connection.namenode
        self.term = NO_TERM
        self._connection = connection
        self._connections = connections
        self._is_closed = False
        self._sending: asyncio.Task[None] | None = None  # of the request's body

    def send_body_in(self, tasks: asyncio.TaskGroup) -> None:
        """Start sending the request's body."""
        self._sending = tasks.create_task(self.exchange.send_body())

    @property
    def refusal(self) -> FailureKind | None:
        """The kind of a reply by which a NameNode declines the call: STANDBY or RETRIABLE; None: any other reply."""
        exchange = self.exchange
        if exchange.status != _FORBIDDEN or not exchange.is_complete:
            return None
        remote = parse_remote_exception(exchange.start)
        match remote and remote.verdict:
            case Verdict.STANDBY:
                return FailureKind.STANDBY
            case Verdict.RETRIABLE:
                return FailureKind.RETRIABLE
            case _:
                return None

    def waiting_for_client(self, cut: Callable[[], None], spent_s: float) -> AbstractContextManager[None]:
        """Mark that the connection waits for the client; see `Connection.waiting_for_client`."""
        return self._connection.waiting_for_client(cut, spent_s)

    async def close(self, error: BaseException | None = None) -> None:
        """Give the connection back, or close it if the call is not complete; also when this is cancelled.

        A second call has no effect. `error`: the error that ended the call.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._sending is not None and not self._sending.done():
                self._sending.cancel()
                # It may be reading from the client, which only one task may do.
                await asyncio.wait([self._sending])
        finally:
            exchange = self.exchange
            self._connections.release(
                self._connection, reusable=exchange.is_reusable, status=exchange.status, error=error
            )


class FailoverClient:
    """Sends calls to the NameNode that answers them."""

    def __init__(
        self,
        pool: NameNodePool,
        limits: LimitSettings,
        clock: Callable[[], float],
        connections: ConnectionPool,
        tasks: asyncio.TaskGroup,
        login: ServiceLogin | None = None,
    ) -> None:
        self._pool = pool
        self._login = login  # for calls as the service
        self._limits = limits
        self._clock = clock
        self._connections = connections
        self._tasks = tasks  # for the bodies of requests
        self.counts = Counts()

    @property
    def active(self) -> NameNode | None:
        """The active NameNode; None: not known."""
        return None if self._pool.active is None else self._pool.active.namenode

    async def ask(self, call: UpstreamCall) -> UpstreamResponse:
        """Send a call, and return its final reply with the wanted part of the body read.

        Raises:
            UpstreamError: no NameNode replied.
            OverloadedError: no connection became free in time.
            ClientError: the client's body was cut short.
        """
        self.counts.calls += call.begun is None
        deadline = self._clock() + self._limits.failover_wait_s
        while True:
            failure: UpstreamError | None = None
            for namenode in self._order(call):
                try:
                    answer = await self._ask_one(namenode, call)
                    refusal = await self._refusal(answer, call)
                except ServiceLoginError:
                    raise  # the NameNode is not at fault
                except UpstreamError as exc:
                    self._note(call, namenode, exc)
                    if not call.may_repeat(_kind_of(exc)):
                        raise
                    if isinstance(exc, UpstreamTimeoutError):
                        call.silent.append(namenode)
                        call.silence = exc
                    failure = exc
                    continue
                if refusal is None:
                    return answer
                self.counts.refused += 1
                self._pool.suspect(namenode, refusal.name)
                is_final = not call.may_repeat(refusal) or self._clock() >= deadline or not self._order(call)
                if is_final and call.silence is None:
                    return answer  # the NameNode's own reply explains the failure best
                await answer.close()
            if not self._order(call) and (last := call.silence or failure) is not None:
                raise last
            await self._wait_for_active(call, deadline, call.silence or failure)

    def _order(self, call: UpstreamCall) -> tuple[NameNode, ...]:
        """Return the NameNodes to ask, in order: first the one that has the call already, else the active one."""
        order = tuple(
            each for each in self._pool.order() if each not in call.silent and each not in call.used
        )
        if call.begun is None:
            return order
        first = call.begun.connection.namenode
        return (first, *(each for each in order if each != first))

    async def _ask_one(self, namenode: NameNode, call: UpstreamCall) -> UpstreamResponse:
        if not call.head.acts_for:
            return await self._send(namenode, call, call.head)
        return await self._ask_as_service(namenode, call)

    async def _refusal(self, answer: UpstreamResponse, call: UpstreamCall) -> FailureKind | None:
        """Return how the NameNode declines the call (`UpstreamResponse.refusal`); None: its reply is final.

        A 403 to a HEAD has no body, and so no exception: a GET of the same target is sent to get it. A ticket cannot
        be sent twice, so its 403 is final.
        """
        is_bare = call.head.method == "HEAD" and answer.exchange.status == _FORBIDDEN
        if not is_bare or call.is_negotiate or call.body is not None:
            return answer.refusal
        await answer.close()
        get = UpstreamCall(replace(call.head, method="GET"), wanted_bytes=call.wanted_bytes, only_json=True)
        response = await self._ask_one(answer.namenode, get)
        await response.close()
        return response.refusal if response.exchange.status == _FORBIDDEN else FailureKind.RETRIABLE

    async def _ask_as_service(self, namenode: NameNode, call: UpstreamCall) -> UpstreamResponse:
        """Ask with the service's own credential; if that is rejected, log in and ask once more.

        Such a refusal of the service's credential means that the call had no effect; no client gets it.
        """
        assert self._login is not None, "a call as the service needs its login"
        head = await self._login.signed(call.head, namenode)
        answer = await self._send(namenode, call, head)
        if answer.exchange.status in _NOT_LOGGED_IN:
            await answer.close()
            self._login.refused(head, namenode)
            if call.body is not None and call.body.is_begun:  # the part that was read is lost
                raise ServiceLoginError("the proxy's login at the NameNode has ended; send the request again")
            answer = await self._send(namenode, call, await self._login.signed(call.head, namenode))
            if answer.exchange.status in _NOT_LOGGED_IN:
                await answer.close()
                raise ServiceLoginError("the NameNode does not accept the proxy's login")
        answer.exchange.headers = self._login.replied(namenode, answer.exchange.headers)
        return answer

    async def _send(self, namenode: NameNode, call: UpstreamCall, head: RequestHead) -> UpstreamResponse:
        is_first = call.sent == 0
        begun, call.begun = call.begun, None
        connection = begun.connection if begun is not None else await self._acquire(namenode, call)
        exchange = CallExchange(connection, head, call.body, timeout_s=self._limits.upstream_timeout_s)
        term = self.term_of(namenode) if begun is None else begun.term
        answer = UpstreamResponse(exchange, connection, self._connections)
        try:
            if begun is None:
                exchange.send_head()
                if call.is_followed:
                    self._connections.sent(connection, head)
            call.is_pending = True
            call.sent += 1
            if call.is_negotiate:
                call.used.append(namenode)
            self.counts.repeated += not is_first
            if call.body is not None:
                answer.send_body_in(self._tasks)
            await exchange.receive_head(call.on_continue)
            if exchange.is_json or not call.only_json:
                await exchange.receive_start(call.wanted_bytes)
            call.is_pending = False
        except BaseException as error:
            await answer.close(error)
            raise
        answer.term = term if term == self.term_of(namenode) else NO_TERM
        return answer

    async def _acquire(self, namenode: NameNode, call: UpstreamCall) -> Connection:
        is_repeatable = call.is_read and call.sent == 0 and not call.is_negotiate
        return await self._connections.acquire(namenode, fresh=not is_repeatable, peer=call.head.peer)

    async def _wait_for_active(
        self, call: UpstreamCall, deadline: float, failure: UpstreamError | None
    ) -> None:
        call.rounds += 1
        if call.rounds == 1 and call.silence is None:
            return  # an idle connection had been closed, or the NameNode was no longer the active one
        left_s = deadline - self._clock()
        if left_s <= 0:
            raise failure or UpstreamUnavailableError("every NameNode says that it is not the active one")
        await asyncio.sleep(min(_PAUSES_S[min(call.rounds, len(_PAUSES_S)) - 1], left_s))
        try:
            await self._pool.wait_active(min(_LOOK_AGAIN_S, left_s))
        except NoActiveNameNodeError as exc:
            if self._clock() >= deadline:
                if failure is None or isinstance(failure, NotSentError):
                    raise UpstreamUnavailableError(str(exc)) from exc
                raise failure from exc

    def term_of(self, namenode: NameNode) -> int:
        """Return the NameNode's term; NO_TERM: it is not the active one."""
        active = self._pool.active
        if active is None or (active.namenode is not namenode and active.namenode != namenode):
            return NO_TERM
        return active.term

    def _note(self, call: UpstreamCall, namenode: NameNode, error: UpstreamError) -> None:
        self._pool.suspect(namenode, str(error))
        match _kind_of(error):
            case FailureKind.NOT_SENT:
                self.counts.not_sent += 1
            case FailureKind.TIMEOUT:
                self.counts.timed_out += 1
            case _:
                self.counts.cut += 1
                call.cuts += 1


def _has_ticket(head: RequestHead) -> bool:
    """Whether a request carries a SPNEGO ticket (RFC 4559), which is accepted only once."""
    return any(
        name.lower() == b"authorization" and value[:9].lower() == b"negotiate" for name, value in head.headers
    )


def _kind_of(error: UpstreamError) -> FailureKind:
    match error:
        case NotSentError():
            return FailureKind.NOT_SENT
        case UpstreamTimeoutError():
            return FailureKind.TIMEOUT
        case _:
            return FailureKind.CUT
