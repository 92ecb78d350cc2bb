"""One client's connection: what is answered before aiohttp builds a request of it. (proxy/client_connection.py)

A subclass of aiohttp's `RequestHandler` (read in 3.14.5; the tests of this module fail when its insides change).
`data_received` answers a repeated head from the fast path only when that can't overtake or split anything: no
request is in progress or queued, the parser holds no part of one, and the client reads what it is sent.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from aiohttp import HttpVersion11, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestPayloadError, _ErrInfo

from proxy.errors import (
    ClientError,
    HeadTooLargeError,
    ProxyError,
    SlowRequestError,
    TargetTooLongError,
    TooManyConnectionsError,
)
from proxy.fastpath import FastPath
from proxy.limits import LimitSettings
from proxy.replies import error_reply, raw_error_reply
from proxy.vetting import ascii_request_line, max_field_bytes, max_line_bytes, refusal_of

_HEAD_END: Final = b"\r\n\r\n"
_LINGER_S: Final = 2.0  # how long a refused client may still send before the connection goes (RFC 9112, 9.6)


class Admission(Protocol):
    """Counts connections; `proxy.server` implements it."""

    def admit(self) -> bool:
        """Count one more; whether it may be served."""

    def may_be_told(self) -> bool:
        """Whether one that may not be served can stay for a moment, to be told so."""

    def leave(self, *, admitted: bool) -> None:
        """Count one less."""


class ClientConnection(web.RequestHandler):
    """One connection of a client.

    Invariants:
        H1  `_at_boundary` implies that the parser holds no part of a head and no body is under way.
        H2  `_whole_head` is the exact head of the request in progress, or None.
    """

    __slots__ = (
        "_admission",
        "_at_boundary",
        "_closing_timer",
        "_fast_path",
        "_head_bytes",
        "_head_timer",
        "_is_admitted",
        "_is_line_complete",
        "_last_payload",
        "_limits",
        "_whole_head",
        "is_half_closed",
    )

    def __init__(
        self,
        manager: web.Server,
        loop: asyncio.AbstractEventLoop,
        *,
        admission: Admission,
        fast_path: FastPath,
        limits: LimitSettings,
    ) -> None:
        super().__init__(
            manager,
            loop=loop,
            keepalive_timeout=limits.idle_timeout_s,
            access_log=None,  # type: ignore[arg-type] # None switches it off (RequestHandler.__init__)
            max_line_size=max_line_bytes(limits),
            max_field_size=max_field_bytes(limits),
            max_headers=limits.max_head_bytes,  # `vet` counts them; the parser's word would be 400
            lingering_time=min(10.0, limits.body_timeout_s),
            auto_decompress=False,
        )
        self._admission = admission
        self._fast_path = fast_path
        self._limits = limits
        self._is_admitted = False
        self.is_half_closed = False  # the client will send nothing more
        self._at_boundary = True  # H1
        self._whole_head: bytes | None = None  # H2
        self._last_payload: StreamReader = EMPTY_PAYLOAD  # of the request that was queued last
        self._head_bytes = 0  # of a head that is not complete
        self._is_line_complete = False  # of that head's request line
        self._head_timer: asyncio.TimerHandle | None = None  # runs while a head is not complete
        self._closing_timer: asyncio.TimerHandle | None = None  # runs while a closed one is still being read

    # ---- asyncio.Protocol ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve, unless there are too many."""
        self._is_admitted = self._admission.admit()
        if self._is_admitted:
            super().connection_made(transport)
            return
        BaseProtocol.connection_made(self, transport)  # no task, no keep-alive: only the refusal
        self._at_boundary = False
        if not self._admission.may_be_told():
            self.force_close()
            return
        self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self.force_close)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Clean up."""
        self._stop_head_timer()
        if self._closing_timer is not None:
            self._closing_timer.cancel()
        self._admission.leave(admitted=self._is_admitted)
        super().connection_lost(exc)

    async def start(self) -> None:
        """Serve the requests, one after another."""
        await super().start()
        if self.transport is not None:  # closing
            self._see_it_closed(self.transport)

    def force_close(self) -> None:
        """End the connection; what the client has not read by then it has little time for."""
        transport = self.transport
        super().force_close()
        if transport is not None:
            self._see_it_closed(transport)

    def _see_it_closed(self, transport: asyncio.Transport) -> None:
        """Bound the time for which a closing transport waits for its client to read what was written."""
        if self._closing_timer is None and transport.get_write_buffer_size() > 0:
            self._closing_timer = self._loop.call_later(self._limits.body_timeout_s, transport.abort)

    def log_exception(self, *args: object, **kw: object) -> None:
        """Log a fault of ours; a client's broken body, which aiohttp meets again after the reply, is none."""
        if not isinstance(kw.get("exc_info"), RequestPayloadError):
            super().log_exception(*args, **kw)

    def eof_received(self) -> bool:  # type: ignore[override] # asyncio.Protocol: true keeps our half open
        """Go on for a client that has only closed its own half, and still waits for replies.

        aiohttp ends the connection at once, and with it replies that the NameNode would have given.
        """
        self.is_half_closed = self._last_payload.is_eof()  # else a body broke off
        return self.is_half_closed and not self.is_idle

    def data_received(self, data: bytes) -> None:
        """Answer at once, or hand the bytes to aiohttp's parser."""
        is_idle = self.is_idle
        if is_idle and self._at_boundary and not self._paused:
            reply = self._fast_path.answer(data)
            if reply is not None:
                assert self.transport is not None
                self.transport.write(reply)
                # aiohttp's keep-alive timer looks at this when it fires, and starts again if it is early.
                self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
                return
        if self._close:
            return  # refused; what else it sends is thrown away
        if self._is_admitted:
            self._take(data, is_idle=is_idle)
        else:
            self._refuse(TooManyConnectionsError(f"more than {self._limits.max_connections} connections"))

    def _take(self, data: bytes, *, is_idle: bool) -> None:
        """Give bytes to the parser and keep track of where it stands."""
        before, was_at_boundary = self._request_count, self._at_boundary
        in_line = was_at_boundary or (self._head_bytes > 0 and not self._is_line_complete)
        super().data_received(ascii_request_line(data) if in_line else data)
        queued = self._request_count - before
        if queued:
            self._stop_head_timer()
        if queued and data:
            self._settle_boundary(data)
        else:  # a part of something, or (no data) aiohttp parses what it had put aside
            self._at_boundary = False
        is_alone = is_idle and queued == 1 and was_at_boundary and self._at_boundary
        self._whole_head = data if is_alone else None
        if data and not queued and (is_idle or was_at_boundary or self._head_bytes):
            self._watch_head(data, is_idle=is_idle)

    def _settle_boundary(self, data: bytes) -> None:
        """Tell, after new requests were queued, whether the last one ends where the data ends.

        An empty line ends any head, so a parser that was in a head is past it; without a body it then waits
        for the next request. With a full queue it puts bytes aside unparsed, and nothing is certain.
        """
        message, payload = self._messages[-1]
        if isinstance(message, _ErrInfo) and not self._last_payload.is_eof():
            # The parser has given up within a body; aiohttp leaves the one who reads it waiting.
            self._last_payload.set_exception(RequestPayloadError(message.message))
        self._last_payload = payload
        self._at_boundary = (
            self._last_payload is EMPTY_PAYLOAD
            and data.endswith(_HEAD_END)
            and not self._upgraded
            and not self._buffer_paused
        )

    # ---- heads that are too slow or too large -------------------------------------------------------

    def _watch_head(self, data: bytes, *, is_idle: bool) -> None:
        self._head_bytes += len(data)
        self._is_line_complete = self._is_line_complete or b"\n" in data.lstrip(b"\r\n")
        if self._head_bytes > self._limits.max_head_bytes and is_idle:  # else replies are due first
            what = f"has more than {self._limits.max_head_bytes} bytes"
            if self._is_line_complete:
                self._refuse(HeadTooLargeError(f"the head {what}"))
            else:
                self._refuse(TargetTooLongError(f"the request line {what}"))
        elif self._head_timer is None:
            self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self._give_head_up)

    def _give_head_up(self) -> None:
        self._head_timer = None
        if not self.is_idle:  # it is the next head that is slow; its time begins when its turn has come
            self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self._give_head_up)
            return
        self._refuse(SlowRequestError(f"no complete head within {self._limits.head_timeout_s:g} s"))

    def _stop_head_timer(self) -> None:
        self._head_bytes = 0
        self._is_line_complete = False
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, error: ProxyError) -> None:
        """Answer without a request, then let the client read that before the connection goes."""
        if self._close or self.transport is None:
            return
        self._stop_head_timer()
        self.transport.write(raw_error_reply(error))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.close()
        self._head_timer = self._loop.call_later(_LINGER_S, self.force_close)

    def _process_keepalive(self) -> None:
        if self._head_timer is not None and not self._close:
            self._keepalive_handle = None  # a head is on its way; aiohttp starts the timer after its request
            return
        super()._process_keepalive()

    def _make_error_handler(
        self, err_info: _ErrInfo
    ) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
        error: ClientError = refusal_of(err_info.exc, self._limits)

        async def refuse(_: web.BaseRequest) -> web.StreamResponse:
            return error_reply(error)

        return refuse

    # ---- for the front end and the server -----------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress or queued."""
        waiter = self._waiter
        # At first there is no waiter: `RequestHandler.start` has not had its turn yet.
        return self._request_count == 0 if waiter is None else not waiter.done()

    @property
    def whole_head(self) -> bytes | None:
        """The exact head of the request in progress, if it came alone and in one piece."""
        return self._whole_head


def repeatable_head(request: web.BaseRequest) -> bytes | None:
    """Return the bytes that this request consists of, if the fast path may answer them next time.

    Only a GET of HTTP/1.1 without a body, on a connection that goes on; whether the cache may answer it is
    for the caller to know.
    """
    connection = request.protocol
    if not isinstance(connection, ClientConnection):
        return None
    if request.method != "GET" or request.version != HttpVersion11 or not request.keep_alive:
        return None
    return connection.whole_head
