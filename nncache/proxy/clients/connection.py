"""One client's connection: its requests in order, and the bytes that wait after the request in progress.

A request is answered in one of these ways, and none starts before the previous request has ended:

- immediately, if its whole head is known (`nncache.proxy.clients.fastpath`);
- immediately, or by a call without a task, from its parsed head (`nncache.proxy.decide.direct_calls`);
- by a task that runs the handler;
- later, if the handler holds it (`nncache.proxy.decide.path_waits`); its task has ended by then.

Bytes that arrive during a request wait, even if a known head is among them.
"""

import asyncio
import logging
import select
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, cast

from nncache.net.balancers.balancers import Balancers
from nncache.net.http1.head import Fault, Head, HeadBuffer, HeadError, is_one_head, read_head
from nncache.net.http1.per_request_fields import value_in
from nncache.proxy.clients.body import RequestBody
from nncache.proxy.clients.request import CallInFlight, HeldAnswer, Request
from nncache.proxy.clients.response import RawResponse, raw_error_reply, reset, taken_bytes
from nncache.proxy.errors import (
    ClientError,
    ClientGoneError,
    HeadTooLargeError,
    MalformedRequestError,
    MethodNotAllowedError,
    ProxyError,
    SlowRequestError,
    TargetTooLongError,
    TooManyConnectionsError,
    VersionNotSupportedError,
)
from nncache.proxy.limits import LimitSettings

if TYPE_CHECKING:
    from nncache.proxy.clients.server import Server

_log = logging.getLogger(__name__)

MAX_TICKET_BYTES: Final = 1_024
"""Limit of the bytes that TLS itself writes after a handshake, in the iteration of the event loop in which the first
request arrives: two tickets for session resumption (RFC 8446, section 4.6.1; 510 bytes with OpenSSL 3.0)."""

_LINGER_S: Final = 2.0  # time in which a refused client may still send before the close (RFC 9112, 9.6)
_DISCARD_S: Final = 10.0  # maximum time to discard the rest of a body

_REFUSALS: Final[dict[Fault, type[ClientError]]] = {
    Fault.MALFORMED: MalformedRequestError,
    Fault.LINE_TOO_LONG: TargetTooLongError,
    Fault.TOO_LARGE: HeadTooLargeError,
    Fault.OTHER_VERSION: VersionNotSupportedError,
    Fault.CONNECT: MethodNotAllowedError,
}


class KnownHeads(Protocol):
    """`nncache.proxy.clients.fastpath.FastPath`, or several (`nncache.federation.mounted`)."""

    @property
    def is_sampled(self) -> bool:
        """Whether the last answer must be passed to `observe` once it is written."""

    @property
    def ends_connection(self) -> bool:
        """Whether the connection must close after the last answer."""

    def answer(self, head: bytes) -> bytes | None:
        """Return the reply to this head; None: the head is not known, or its answer is no longer valid."""

    def observe(self, head: bytes, peer: str) -> None:
        """Pass the last answer to the observers, after it was written."""


class ClientConnection(asyncio.Protocol):
    """One connection.

    Attributes:
        transport: None before it is connected, and once it is lost.
        holder: the client whose share the connection uses (`nncache.net.shares.holder_of`).
        peer: the client's address, or that of a load balancer in front; "" before it is connected, unless known.
        balancers: the load balancers that name the client in each request; None: the peer is the client.
        is_paused: whether the client does not read.
        on_lost: called when the client may have disconnected, while a handler waits for something else.

    Invariants:
        C1  At most one of `_call`, `_request`, `_held` is set; while one is, or while the connection waits for its
            turn, no other request starts or is answered.
        C2  `_incoming` holds bytes after the request in progress, or a part of a head. After a request in progress
            it holds at most `max_head_bytes` and the bytes of one read; then reading is paused.
        C3  The fast path answers nothing while the client does not read, and no request is sent on without a task
            before the client has read everything but TLS's own first bytes.
        C4  A connection closes after a reply only if the reply said `Connection: close`, or the client half-closed.
    """

    __slots__ = (
        "_call",
        "_drained",
        "_fast_path",
        "_head_timer",
        "_held",
        "_incoming",
        "_is_admitted",
        "_is_ending",
        "_is_half_closed",
        "_is_new",
        "_is_reading",
        "_is_waiting",
        "_limits",
        "_loop",
        "_owner",
        "_request",
        "_taken_bytes",
        "_task",
        "_timer",
        "_used_at",
        "balancers",
        "holder",
        "is_paused",
        "on_lost",
        "peer",
        "transport",
    )

    def __init__(self, owner: "Server", fast_path: KnownHeads, limits: LimitSettings, peer: str = "") -> None:
        self._owner = owner
        self._fast_path = fast_path
        self._limits = limits
        self._loop = owner.loop
        self.transport: asyncio.Transport | None = None
        self.holder = ""
        self.peer = peer
        self.balancers: Balancers | None = None
        self.is_paused = False
        self.on_lost: Callable[[], None] | None = None
        self._is_admitted = True
        self._is_new = True  # no request has been answered or forwarded yet
        self._call: CallInFlight | None = None
        self._request: Request | None = None
        self._task: asyncio.Task[None] | None = None  # handles that request
        self._held: HeldAnswer | None = None
        self._is_waiting = False  # for its turn
        self._incoming = HeadBuffer()
        self._is_reading = True
        self._is_half_closed = False  # the client will send nothing more
        self._is_ending = False  # nothing more is read from the client
        self._taken_bytes = -1  # by the client, when its closed connection was last looked at; -1: not closed
        self._drained: asyncio.Future[None] | None = None  # until the client reads again
        self._used_at = 0.0
        # Set once the connection is older than its idle timeout; until then `Server.idle` checks it.
        self._timer: asyncio.TimerHandle | None = None
        # Set while a head is not complete, the client reads a refusal, or the rest from a closed connection.
        self._head_timer: asyncio.TimerHandle | None = None

    # ---- the transport's side --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start serving the client, or refuse it."""
        self._owner.connected(self, cast("asyncio.Transport", transport))

    def serve(self, transport: asyncio.Transport, holder: str, peer: str) -> None:
        """Serve the client of this transport."""
        self.transport, self.holder, self.peer = transport, holder, peer
        self._used_at = self._loop.time()
        self._owner.idle.begin(self, self._loop)

    def reject(self, transport: asyncio.Transport, holder: str, peer: str, *, may_stay: bool) -> None:
        """Refuse the client's first request; without `may_stay`, close the connection immediately."""
        self.transport, self.holder, self.peer = transport, holder, peer
        self._is_admitted = False
        if may_stay:
            self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self._close)
        else:
            self._close()

    def data_received(self, data: bytes) -> None:
        """Answer a request immediately, or start it, perhaps in a later iteration."""
        if self._is_ending:
            return
        if self._is_busy or self._incoming:
            self._buffer_bytes(data)
        elif not self._is_admitted:
            most = self._limits.max_connections
            self._refuse(
                TooManyConnectionsError(f"too many connections: at most {most}, of each address its share")
            )
        elif not self._serve_known(data):
            self._begin_or_queue(data)

    def _begin_or_queue(self, data: bytes) -> None:
        """Start a request that is not known, now or when its turn comes."""
        if self._owner.may_enter():
            self._begin_alone(data)
        else:
            self._incoming.add(data)
            self._is_waiting = True
            self._owner.wait(self)
        self._regulate()

    def eof_received(self) -> bool:
        """Finish the request in progress, then close; True: the transport stays open (over TLS it always closes)."""
        transport, request = self.transport, self._request
        assert transport is not None
        if self._is_ending or (request is not None and not request.has_arrived):
            return False
        self._is_half_closed = True
        if self._held is not None:
            self._held.leave()
        elif self.on_lost is not None:
            self.on_lost()
        if not self._is_busy:
            self._owner.end_soon(transport)
        return not self.is_over_tls

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - asyncio's port
        """End everything that belongs to the connection."""
        self.transport = None
        self._owner.idle.end(self)
        for timer in (self._timer, self._head_timer):
            if timer is not None:
                timer.cancel()
        if self._incoming:
            self._incoming.take()
        call, self._call = self._call, None
        if call is not None:
            call.abandon()
        held, self._held = self._held, None
        if held is not None:
            held.abandon()
        if self._request is not None and self._request.body is not None and not self._request.has_arrived:
            self._request.body.fail(ClientGoneError("the client left before its body was complete"))
        if self._drained is not None:
            self._wake(ConnectionResetError("the client has left"))
        if self.on_lost is not None:
            self.on_lost()
        self._owner.lost(self, is_admitted=self._is_admitted)

    def pause_writing(self) -> None:
        """Record that the client does not read."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Record that the client reads again."""
        self.is_paused = False
        self._wake(None)

    def _wake(self, error: ConnectionError | None) -> None:
        drained, self._drained = self._drained, None
        if drained is not None and not drained.done():
            if error is None:
                drained.set_result(None)
            else:
                drained.set_exception(error)

    async def drain(self) -> None:
        """Wait until the client reads.

        Raises:
            ConnectionResetError: the client has disconnected.
        """
        if self.transport is None:
            raise ConnectionResetError("the client has left")
        if self.is_paused:
            self._drained = self._loop.create_future()
            await self._drained

    # ---- requests ---------------------------------------------------------------------------------------

    @property
    def _is_busy(self) -> bool:
        """Whether a request is in progress, or waits for its turn."""
        return not (
            self._request is None and self._call is None and self._held is None and not self._is_waiting
        )

    def _serve_known(self, data: bytes) -> bool:
        """Answer a known head, if the client reads; False: not answered."""
        transport, fast_path = self.transport, self._fast_path
        assert transport is not None
        if self.is_paused:
            return False
        reply = fast_path.answer(data)
        if reply is None:
            return False
        self._is_new = False
        self._used_at = self._loop.time()
        transport.write(reply)
        if fast_path.is_sampled:
            fast_path.observe(data, self._client_of(data))
        if fast_path.ends_connection:
            self._is_ending = True
            self._close()
        return True

    def _buffer_bytes(self, data: bytes) -> None:
        """Take bytes of the current request's body, bytes after that request, or the rest of a head."""
        request = self._request
        if request is not None and request.body is not None and not request.body.is_over:
            data = self._feed(request.body, data)
        if data:
            self._incoming.add(data)
            if not self._is_busy:
                self._begin_next()
        self._regulate()

    def _feed(self, body: RequestBody, data: bytes) -> bytes:
        """Pass received bytes to a body, and return those after it."""
        behind = body.feed(data)
        if body.has_failed:  # its end is not known
            self._is_ending = True
            return b""
        return behind

    def _regulate(self) -> None:
        """Read from the client while there is room for received bytes (C2)."""
        body = None if self._request is None else self._request.body
        if body is not None and not body.is_over:
            is_full = body.is_full
        elif self._held is not None or self._is_waiting:
            is_full = len(self._incoming) > 0
        else:
            is_full = self._is_busy and len(self._incoming) > self._limits.max_head_bytes
        if is_full is self._is_reading and self.transport is not None:
            self._is_reading = not is_full
            if is_full:
                self.transport.pause_reading()
            else:
                self.transport.resume_reading()

    def _begin_alone(self, data: bytes) -> None:
        """Start the request that an idle client has sent in one piece."""
        if is_one_head(data):
            self._begin(data, whole=data)
        else:
            self._incoming.add(data)
            self._begin_next()

    def _begin_next(self) -> None:
        """Start the next request, if its head is complete."""
        head = self._incoming.take_head()
        if head is not None:
            self._begin(head)
        elif self._incoming.is_hopeless:
            is_text = self._incoming[:1].isalpha()
            what = "a line ends without CRLF" if is_text else "the request line is malformed"
            self._refuse(MalformedRequestError(what))
        elif self._incoming:
            self._watch_head()

    def _begin(self, head: bytes, whole: bytes | None = None) -> None:
        """Read a request's head, and start the request or refuse it."""
        self._stop_head_timer()
        limits = self._limits
        try:
            read = read_head(head, max_bytes=limits.max_head_bytes, max_fields=limits.max_header_fields)
        except HeadError as error:
            refusal = _REFUSALS[error.fault](str(error))
            self._refuse(refusal, error.method, error.target, head)
            return
        self._start(read, whole, self._client_of(head))

    def _client_of(self, head: bytes) -> str:
        """Return the address of the client that has sent a request."""
        return self.peer if self.balancers is None else self.balancers.client_of(head, self.peer)

    def _start(self, head: Head, whole: bytes | None, client: str) -> None:
        body = None if head.length == 0 else RequestBody(head.length, self._limits, self._regulate)
        request = Request(head, body, self, whole if body is None else None, client)
        if body is not None:
            self._request = request
            if behind := self._feed(body, self._incoming.take()):
                self._incoming.add(behind)
            if self._is_half_closed and not body.is_over:  # the rest of the body cannot arrive any more
                self._request, self._is_ending = None, True
                self._close()
                return
        elif head.method == "GET" and not self._incoming and self._has_read_all():
            begun = self._owner.begin(request)
            self._is_new = False
            if isinstance(begun, RawResponse):
                self.replied(request, begun)
                return
            if begun is not None:
                self._call = begun
                return
        self._is_new = False
        self._go_on_with(request)

    def _go_on_with(self, request: Request) -> None:
        """Start a task in which the handler answers a request."""
        self._request = request
        self._task = self._loop.create_task(self._respond(request))

    def _has_read_all(self) -> bool:
        """Whether the client has read everything but TLS's own first bytes (C3)."""
        assert self.transport is not None
        unread = self.transport.get_write_buffer_size()
        return not unread or (unread <= MAX_TICKET_BYTES and self.is_over_tls and self._is_new)

    async def _respond(self, request: Request) -> None:
        """Handle one request until its reply is sent, unless it is held."""
        goes_on = False
        try:
            response = await self._owner.respond(request)
            if response is None:
                return
            await response.send(request)
            goes_on = response.keep_alive
            if request.body is not None and not request.body.is_over:
                await request.body.discard(min(_DISCARD_S, self._limits.body_timeout_s))
        except ConnectionError:  # the client's
            goes_on = False
        except asyncio.CancelledError:
            reset(self.transport)
            raise
        except Exception:  # noqa: BLE001 - outside of any handler; no timer would end it
            _log.exception("a client's connection can't be served")
            reset(self.transport)
        finally:
            if request.begun is not None:
                request.begun.abandon()
            if self._request is request:
                self._request = self._task = None
        self._after_reply(goes_on=goes_on)

    def _after_reply(self, *, goes_on: bool) -> None:
        """Serve the next request after a reply, or close the connection."""
        self._used_at = self._loop.time()
        if self.transport is None:
            return
        if not goes_on or self._is_ending:
            self._is_ending = True
            self._close()
            return
        if self._incoming:
            self._begin_next()
        if self._is_half_closed and not (self._is_busy or self._is_ending):
            self._owner.end_soon(self.transport)
        else:
            self._regulate()

    @property
    def ends_with_its_reply(self) -> bool:
        """Whether the connection will close after the reply that starts now, whatever the request asks for."""
        return self._owner.is_draining or self._is_ending

    @property
    def is_over_tls(self) -> bool:
        """Whether the client is connected over TLS."""
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is not None

    @property
    def incoming_bytes(self) -> int:
        """Number of bytes received after the request in progress (C2)."""
        return len(self._incoming)

    # ---- a request without a task ------------------------------------------------------------------------

    def replied(self, request: Request, response: RawResponse) -> None:
        """Send the whole reply to a request without a task."""
        assert self.transport is not None
        self._call = None
        self.transport.write(response.text_for(request))
        self._after_reply(goes_on=response.keep_alive)

    def unfinished(self) -> None:
        """Leave the call in flight to the handler."""
        call, self._call = self._call, None
        assert call is not None
        call.request.begun = call.hand_over()
        self._go_on_with(call.request)
        self._regulate()

    # ---- its turn ----------------------------------------------------------------------------------------

    def has_closed(self) -> bool:
        """Whether the client has closed or half-closed; nothing is read while it waits, so the kernel is asked."""
        if self.transport is None:
            return True
        end = self.transport.get_extra_info("socket")
        if end is None or end.fileno() < 0:
            return False
        events = select.poll()
        events.register(end.fileno(), select.POLLRDHUP)
        return bool(events.poll(0))

    def go_on(self) -> bool:
        """Serve the request that waited for its turn; True: its head was not known."""
        self._is_waiting = False
        data = self._incoming.take()
        if not data or self.transport is None:
            return False
        is_unknown = self._owner.is_draining or not self._serve_known(data)  # draining: the reply says so
        if is_unknown:
            self._begin_alone(data)
        self._regulate()
        return is_unknown

    def end(self) -> None:
        """Abort the connection."""
        if self.transport is not None:
            self.transport.abort()

    # ---- a request that is held --------------------------------------------------------------------------

    def hold(self, request: Request, held: HeldAnswer) -> bool:
        """Hold the request in progress until `answered`; False: other bytes came with it, or it must not wait."""
        ends = self.transport is None or self.ends_with_its_reply or self._is_half_closed
        ends |= not (request.keep_alive and request.is_http_1_1)
        if ends or self.is_paused or request.whole is None or self._incoming:
            return False
        self._request = self._task = None
        self._held = held
        return True

    def answered(self, response: RawResponse) -> None:
        """Send the answer to the held request, and continue with bytes that the client has sent since."""
        assert self.transport is not None
        self._held = None
        self.transport.write(response.text(is_last=self._owner.is_draining))
        self._after_reply(goes_on=response.keep_alive)

    # ---- the end -----------------------------------------------------------------------------------------

    def drain_soon(self) -> None:
        """Close an idle connection; otherwise the request in progress is the last, and its reply says so."""
        if not self._is_busy and self.transport is not None and not self._is_ending:
            self._close()

    def cut(self) -> None:
        """Reset the connection, and cancel the request in progress."""
        reset(self.transport)
        if self._task is not None:
            self._task.cancel()

    @property
    def task(self) -> "asyncio.Task[None] | None":
        """The task that handles the request in progress."""
        return self._task

    def _refuse(self, error: ProxyError, method: str = "", target: str = "", head: bytes = b"") -> None:
        """Send an error reply, then give the client time to read it before the connection closes.

        The other arguments describe the request, as far as it was read.
        """
        transport = self.transport
        if transport is None or self._is_ending:
            return
        self._is_ending = True
        self._incoming.take()
        self._stop_head_timer()
        client, request_id = self._client_of(head), value_in(head, b"x-request-id")
        self._owner.traffic.refused(error, client, method=method, target=target, request_id=request_id)
        transport.write(raw_error_reply(error, has_body=method != "HEAD"))
        if transport.can_write_eof():
            transport.write_eof()
        self._head_timer = self._loop.call_later(_LINGER_S, self._close)

    def _close(self) -> None:
        """Close the connection; it is aborted if the client does not read the rest at the minimum rate."""
        transport = self.transport
        if transport is None:
            return
        transport.close()
        if self._taken_bytes < 0 and (self.is_over_tls or transport.get_write_buffer_size() > 0):
            # A client that is idle does not answer TLS's close.
            self._end_soon(self._limits.head_timeout_s if self.is_over_tls else self._limits.body_timeout_s)

    def _end_soon(self, wait_s: float) -> None:
        self._stop_head_timer()
        self._used_at, self._taken_bytes = self._loop.time(), taken_bytes(self.transport)
        self._head_timer = self._loop.call_later(wait_s, self._end)

    def _end(self) -> None:
        """Abort the closed connection, unless its client still reads at the minimum rate."""
        least = (self._loop.time() - self._used_at) * self._limits.min_body_rate_bytes_s
        if taken_bytes(self.transport) - self._taken_bytes >= least:
            self._end_soon(self._limits.body_timeout_s)
        else:
            self.end()

    def _watch_head(self) -> None:
        """Limit the time and the size of a head that is not complete."""
        limits = self._limits
        if len(self._incoming) > limits.max_head_bytes:
            what = f"has more than {limits.max_head_bytes} bytes"
            if self._incoming.has_request_line:
                self._refuse(HeadTooLargeError(f"the head {what}"))
            else:
                self._refuse(TargetTooLongError(f"the request line {what}"))
        elif self._head_timer is None:
            self._head_timer = self._loop.call_later(limits.head_timeout_s, self._give_head_up)

    def _give_head_up(self) -> None:
        self._head_timer = None
        self._refuse(SlowRequestError(f"no complete head within {self._limits.head_timeout_s:g} s"))

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def check_idle(self) -> None:
        """Close the connection if it was idle for `idle_timeout_s`; else check it again later."""
        assert self.transport is not None
        is_idle = not (self._is_busy or self._incoming)
        idle_s = self._loop.time() - self._used_at if is_idle else 0.0
        if idle_s < self._limits.idle_timeout_s:
            self._timer = self._loop.call_later(self._limits.idle_timeout_s - idle_s, self.check_idle)
        else:
            self._close()
