"""The client of the NameNodes: send a call, and return the active NameNode's reply.

`failover.py` finds the NameNode, `exchange.py` exchanges the messages, `pool.py` holds the
connections. docs/decisions/0029 says why nncache implements its own.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import ProxyError, ReplyTooLargeError
from nncache.proxy.headers import SecureCookies, reply_headers
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import (
    CallSent,
    Decorate,
    Headers,
    RequestHead,
    Settle,
    SettledReply,
    UpstreamReply,
    nothing_to_settle,
)
from nncache.proxy.upstream.direct_exchange import DirectExchange, ReplyReader, SentCall, StartedCall
from nncache.proxy.upstream.exchange import CallExchange
from nncache.proxy.upstream.failover import FailoverClient, UpstreamCall, UpstreamResponse
from nncache.proxy.upstream.namenode_protocol import encode_request
from nncache.proxy.upstream.pool import ConnectionPool
from nncache.proxy.upstream.service_login import ServiceLogin

_LOG = logging.getLogger(__name__)

MAX_FETCHED_BYTES: Final = 1024 * 1024
MAX_SETTLED_BYTES: Final = 64 * 1024
_CONTINUE_LINE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardStats:
    """Forwarded calls since start, and the present connections to NameNodes."""

    calls: int
    repeated: int  # attempts after the first of a call
    not_sent: int  # attempts for which no connection could be opened
    refused: int  # attempts answered by StandbyException or RetriableException
    cut: int  # attempts whose connection closed before the reply was complete
    timed_out: int  # attempts that the NameNode did not answer in time
    outcome_unknown: int  # calls that were sent and got no reply
    broken_replies: int  # replies that were cut after their first byte was sent to the client
    connections_in_use: int
    connections_idle: int
    waiting_for_connection: int  # calls
    clients_cut: int  # clients that blocked a connection while calls waited for one
    secure_cookies_removed: int  # fields removed from replies on connections without TLS


class Upstream:
    """Sends calls to the NameNodes. An async context manager: it owns the tasks that calls need.

    Attributes:
        cookies: decides which cookies of a reply a client may receive.
    """

    def __init__(
        self,
        pool: NameNodePool,
        limits: LimitSettings,
        clock: Callable[[], float],
        web: NameNodeWeb = PLAIN,
        login: ServiceLogin | None = None,
    ) -> None:
        """Create a client of the pool's NameNodes, reached by `web`; `login` is for calls as the service."""
        self._login = login
        self._limits = limits
        self._clock = clock
        self._connections = ConnectionPool(limits, clock, web)
        self._tasks = asyncio.TaskGroup()  # request bodies; settlements that outlive their request
        self._asking = FailoverClient(pool, limits, clock, self._connections, self._tasks, login)
        self.cookies = SecureCookies()
        self._outcome_unknown = 0
        self._broken_replies = 0

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        if self._login is not None:
            await self._login.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._tasks.__aexit__(kind, exc, trace)
        finally:
            if self._login is not None:
                await self._login.__aexit__(None, None, None)
        self._connections.close()

    def follow(self, call_sent: CallSent) -> None:
        """Call `call_sent` for each call that is sent for a client's request."""
        self._connections.call_sent = call_sent

    def stats(self) -> ForwardStats:
        """Return the figures since start."""
        counts, connections = self._asking.counts, self._connections.counts()
        return ForwardStats(
            calls=counts.calls,
            repeated=counts.repeated,
            not_sent=counts.not_sent,
            refused=counts.refused,
            cut=counts.cut,
            timed_out=counts.timed_out,
            outcome_unknown=self._outcome_unknown,
            broken_replies=self._broken_replies,
            connections_in_use=connections.in_use,
            connections_idle=connections.idle,
            waiting_for_connection=connections.waiting,
            clients_cut=connections.clients_cut,
            secure_cookies_removed=self.cookies.removed,
        )

    async def fetch(
        self, head: RequestHead, begun: StartedCall | None = None, *, is_followed: bool = True
    ) -> UpstreamReply:
        """Make a call without a body, or continue one that was sent, and return its whole reply of at most 1 MiB.

        It `is_followed` if it is for a client's request.

        Raises:
            UpstreamError: no NameNode replied, or the reply was larger.
            OverloadedError: no connection became free in time.
        """
        sent = None if begun is None else begun.take()
        answer = await self._asking.ask(
            UpstreamCall(head, wanted_bytes=MAX_FETCHED_BYTES, is_followed=is_followed, begun=sent)
        )
        try:
            exchange = answer.exchange
            if not exchange.is_complete:
                raise ReplyTooLargeError(
                    f"a reply of more than {MAX_FETCHED_BYTES} bytes is not held in memory"
                )
            return UpstreamReply(
                status=exchange.status,
                reason=exchange.reason,
                headers=reply_headers(exchange.headers),
                body=exchange.start,
                namenode=answer.namenode,
                term=answer.term,
                replied_at=self._clock(),
            )
        finally:
            await answer.close()

    def prepare(self, head: RequestHead, holder: str, reader: ReplyReader) -> DirectExchange | None:
        """Prepare a GET on an idle connection to the active NameNode; None: no connection is free for the holder."""
        active = self._asking.active
        if active is None:
            return None
        text = encode_request(head, host=active.http, chunked=False)
        connection = self._connections.acquire_kept(active, holder)
        if connection is None:
            return None
        term_of, clock = self._asking.term_of, self._clock
        return DirectExchange(connection, self._connections, head, text, reader, term_of, clock)

    def send(self, exchange: DirectExchange) -> bool:
        """Send a prepared exchange; False: it could not be sent."""
        is_sent = exchange.send()
        self._asking.counts.calls += is_sent
        return is_sent

    async def stream(
        self, request: Request, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> RawResponse:
        """Make a call, and stream its body and the reply's.

        `settle` is awaited exactly once for a call that was sent, before the first byte of the reply is sent to
        the client. It completes even if the client disconnects. It is not called if nothing was sent.

        Raises:
            UpstreamError: no NameNode replied.
            OverloadedError: no connection became free in time.
            ClientError: the client's body was cut short.
        """
        call = UpstreamCall(
            head,
            wanted_bytes=MAX_SETTLED_BYTES,
            body=request.body,
            only_json=True,
            on_continue=lambda: _tell_to_continue(request),
            begun=_begun_of(request),
        )
        try:
            answer = await self._asking.ask(call)
        except BaseException:  # a cancelled call may have taken effect like any other
            if call.is_pending:
                self._outcome_unknown += 1
                await self._settle(settle, None)
            raise
        try:
            settled = self._settled(answer)
            if answer.exchange.is_complete:
                await answer.close()  # the next call waits neither for `settle` nor for this client to read
            await self._settle(settle, settled)
            response = self._response_to(request, answer.exchange, settled, decorate(settled))
            await self._pass_on(request, answer, response)
            return response
        except ProxyError as error:
            await answer.close(error)
            raise
        finally:
            await answer.close()

    def _settled(self, answer: UpstreamResponse) -> SettledReply:
        exchange = answer.exchange
        return SettledReply(
            status=exchange.status,
            reason=exchange.reason,
            headers=reply_headers(exchange.headers),
            body=exchange.start if exchange.is_complete and exchange.is_json else None,
            namenode=answer.namenode,
            term=answer.term,
            replied_at=self._clock(),
        )

    def _response_to(
        self, request: Request, exchange: CallExchange, settled: SettledReply, extra: Headers
    ) -> RawResponse:
        fields = self.cookies.for_client(settled.headers, is_secure=request.connection.is_over_tls)
        is_whole = exchange.is_complete and request.method != "HEAD"
        return RawResponse(
            settled.status,
            settled.reason,
            (*fields, *extra),
            body=exchange.start if is_whole else None,
            length=exchange.content_length,
            limits=self._limits,
        )

    async def _pass_on(self, request: Request, answer: UpstreamResponse, response: RawResponse) -> None:
        """Stream the reply to the client. After its first byte a failure cannot be reported: it cuts the reply."""
        exchange = answer.exchange
        response.prepare(request)
        try:
            if not exchange.is_complete:
                await self._write(answer, response, exchange.start)
            while not exchange.is_complete:
                await self._write(answer, response, await exchange.receive_part())
            await answer.close()
            await response.write_eof()
        except ConnectionError:
            response.cut()  # the client has disconnected: there is no one to tell
        except ProxyError as exc:
            if not response.has_begun:
                raise
            _LOG.warning("A reply to %s broke off: %s", request.peer, exc)
            self._broken_replies += 1
            response.cut()
            await answer.close(exc)

    async def _write(self, answer: UpstreamResponse, response: RawResponse, part: bytes) -> None:
        with answer.waiting_for_client(response.cut, response.spent_s):
            await response.write(part)

    async def _settle(self, settle: Settle, reply: SettledReply | None) -> None:
        if settle is not nothing_to_settle:
            await self._shielded(settle(reply))

    async def _shielded(self, work: Awaitable[None]) -> None:
        """Await work that continues in its task, in the same order, even if this request is cancelled."""
        fault = await asyncio.shield(self._tasks.create_task(_captured(work)))
        if fault is not None:
            raise fault


async def _captured(work: Awaitable[None]) -> Exception | None:
    """Return an exception as a value, so that it fails its own request and not the task group."""
    try:
        await work
    except Exception as exc:  # noqa: BLE001 - raised again by the waiting request
        return exc
    return None


def _begun_of(request: Request) -> SentCall | None:
    return request.begun.take() if isinstance(request.begun, StartedCall) else None


def _tell_to_continue(request: Request) -> None:
    """Forward an interim 100 to a client that asked for it (RFC 9110, section 10.1.1)."""
    transport = request.transport
    if request.first(b"expect").lower() == "100-continue" and request.is_http_1_1 and transport is not None:
        transport.write(_CONTINUE_LINE)
