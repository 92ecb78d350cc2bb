"""Ask one NameNode after another until one of them takes the call.

What may be sent a second time is decided by `nncache.hadoop.retry` alone. A call that is not a read goes out on a
connection made for it, so that "closed in the meantime" can't be mistaken for "not carried out", and it is
never repeated once it was sent and no reply came.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.errors import NoActiveNameNodeError as NoActiveKnownError
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.hadoop.retry import FailureKind, may_retry
from nncache.proxy.clients.body import RequestBody
from nncache.proxy.errors import (
    NoActiveNameNodeError,
    NotSentError,
    ServiceLoginError,
    UpstreamError,
    UpstreamTimeoutError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import NO_TERM, RequestHead
from nncache.proxy.upstream.direct_exchange import SentCall
from nncache.proxy.upstream.exchange import Exchange
from nncache.proxy.upstream.pool import Connection, Connections
from nncache.proxy.upstream.service_login import ServiceLogin

_READ_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})  # safe by RFC 9110, section 9.2.1
_FORBIDDEN: Final = 403  # what StandbyException and RetriableException come with
_PAUSES_S: Final = (0.0, 0.05, 0.1, 0.2, 0.4)  # before each next round over the NameNodes; the last repeats
_NOT_LOGGED_IN: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FOUND}
"""To one who is not logged in: the second where the client's `User-Agent` is taken for that of a browser, and browsers
log in elsewhere (JWTRedirectAuthenticationHandler); a NameNode has no other use for that status."""
_LOOK_AGAIN_S: Final = 1.0  # a NameNode is asked every so often even if the pool sees none active
_MAX_CUTS: Final = 3  # a read that ends its connection each time is not asked for ever


@dataclass(slots=True)
class Counts:
    """What has come of all calls so far."""

    calls: int = 0
    repeated: int = 0
    not_sent: int = 0
    refused: int = 0
    cut: int = 0
    timed_out: int = 0


class UpstreamCall:
    """One call and what has become of it so far.

    Attributes:
        is_negotiate: it carries a ticket, which a NameNode takes once.
        is_read: asking again has no effect but another answer.
        wanted_bytes: of the reply's body, read before the call counts as answered.
        only_json: read them only if they are JSON.
        is_followed: it is for a client's request (`nncache.proxy.messages.CallSent`).
        is_pending: it was sent, and what came of it is not known (yet).
        silent: NameNodePool that took it and gave no answer in time; none of them is asked a second time.
        silence: how the last of them is reported.
        used: NameNodePool that have seen its ticket: to each of them it would be a replay (RFC 4120, section 3.2.3).
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
        self.on_continue = on_continue  # told when the NameNode wants the body
        self.begun = begun  # the head was sent on it already
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
        """Whether the call may be sent again after a failure of that kind."""
        if self.body is not None and self.body.is_begun:
            return False  # what was read of the body is gone
        return may_retry(self.is_read, kind, len(self.silent)) and self.cuts <= _MAX_CUTS


class UpstreamResponse:
    """A NameNode's final reply, its body perhaps still to be read. End it with `close`."""

    __slots__ = (
        "_connection",
        "_connections",
        "_is_closed",
        "_sending",
        "exchange",
        "namenode",
        "term",
    )

    def __init__(self, exchange: Exchange, connection: Connection, connections: Connections) -> None:
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
        """Whether the NameNode says that it is not the one to ask, or not yet."""
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
        """Mark that nothing happens until the client does its part; see `Connection.waiting_for_client`."""
        return self._connection.waiting_for_client(cut, spent_s)

    async def close(self, error: BaseException | None = None) -> None:
        """Give the connection back, or end it when the call is not over; also if this is cancelled.

        Once is enough. The error is what ended the call.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._sending is not None and not self._sending.done():
                self._sending.cancel()
                # It may be reading from the client, and there must be only one who does.
                await asyncio.wait([self._sending])
        finally:
            exchange = self.exchange
            self._connections.release(
                self._connection, reusable=exchange.is_reusable, status=exchange.status, error=error
            )


class FailoverClient:
    """Finds the NameNode that answers."""

    def __init__(
        self,
        pool: NameNodePool,
        limits: LimitSettings,
        clock: Callable[[], float],
        connections: Connections,
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
        """The active NameNode, when known."""
        return None if self._pool.active is None else self._pool.active.namenode

    async def ask(self, call: UpstreamCall) -> UpstreamResponse:
        """Return the final reply, the wanted part of its body read.

        Raises:
            UpstreamError: no NameNode gave one.
            OverloadedError: no connection became free in time.
            ClientError: the client's body broke off.
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
                    raise  # nothing is wrong with the NameNode
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
                    return answer  # the NameNode's own words say best what is wrong
                await answer.close()
            if not self._order(call) and (last := call.silence or failure) is not None:
                raise last
            await self._wait_for_active(call, deadline, call.silence or failure)

    def _order(self, call: UpstreamCall) -> tuple[NameNode, ...]:
        """Return the NameNodes that may be asked: first the one that has the call already, else the active one."""
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
        """Return whether the NameNode says that it is not the one to ask, or not yet.

        A 403 to a HEAD has no body that could say so: a GET of the same is asked for one. With a ticket that is not
        possible, and the 403 stands.
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
        """Ask with the service's own credential; once more after another login where that is not accepted.

        Such a refusal is nothing of the client's: with it nothing was done, and no client hears of it.
        """
        assert self._login is not None, "a call as the service needs its login"
        head = await self._login.signed(call.head, namenode)
        answer = await self._send(namenode, call, head)
        if answer.exchange.status in _NOT_LOGGED_IN:
            await answer.close()
            self._login.refused(head, namenode)
            if call.body is not None and call.body.is_begun:  # what was read of it is gone
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
        exchange = Exchange(connection, head, call.body, timeout_s=self._limits.upstream_timeout_s)
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
            return  # a kept connection that had been closed, or a NameNode that was not the active one any more
        left_s = deadline - self._clock()
        if left_s <= 0:
            raise failure or NoActiveNameNodeError("every NameNode says that it is not the active one")
        await asyncio.sleep(min(_PAUSES_S[min(call.rounds, len(_PAUSES_S)) - 1], left_s))
        try:
            await self._pool.wait_active(min(_LOOK_AGAIN_S, left_s))
        except NoActiveKnownError as exc:
            if self._clock() >= deadline:
                if failure is None or isinstance(failure, NotSentError):
                    raise NoActiveNameNodeError(str(exc)) from exc
                raise failure from exc

    def term_of(self, namenode: NameNode) -> int:
        """Return its term; NO_TERM if it is not the active one."""
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
    """Whether a request negotiates by itself (SPNEGO, RFC 4559): with the same bytes it can do so only once."""
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
