"""One client's connection: what is answered before aiohttp builds a request of it.

A subclass of aiohttp's `RequestHandler` (read in 3.14.5; the tests of this module fail when its insides change). The
fast path answers only when no request is in progress, queued or parsed in part, and the client reads what it is sent.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestPayloadError, _ErrInfo

from nncache.proxy.clients.chunks import Chunks, ChunksError
from nncache.proxy.clients.error_replies import error_reply, raw_error_reply
from nncache.proxy.clients.head_buffer import HeadBuffer, is_one_head
from nncache.proxy.clients.one_task import OneTaskHandler
from nncache.proxy.clients.quick_connection import Admission, Held, KnownHeads
from nncache.proxy.clients.response import peer_of
from nncache.proxy.clients.vetting import (
    for_the_parser,
    max_field_bytes,
    max_line_bytes,
    refusal_of,
)
from nncache.proxy.errors import (
    ClientError,
    HeadTooLargeError,
    MalformedRequestError,
    ProxyError,
    SlowRequestError,
    TargetTooLongError,
    TooManyConnectionsError,
)
from nncache.proxy.limits import LimitSettings
from nncache.proxy.plain_calls import CallUnderWay

_KNOWN_IN_A_ROW: Final = 4  # requests, after which aiohttp is not needed for the time being
_LINGER_S: Final = 2.0  # how long a refused client may still send before the connection goes (RFC 9112, 9.6)


class ClientConnection(OneTaskHandler):
    """One connection of a client.

    Invariants:
        H1  `_at_boundary` implies that no part of a head is held and no body is under way.
        H2  `_whole_head` is the exact head of the request in progress, or None.
        H3  Of heads behind the request in progress no more is held than `max_head_bytes` and what arrives at once.
    """

    __slots__ = (
        "_admission",
        "_at_boundary",
        "_begun",
        "_body_bytes_left",
        "_chunks",
        "_fast_path",
        "_head_timer",
        "_holder",
        "_incoming",
        "_is_admitted",
        "_is_ending",
        "_is_given_back",
        "_is_last",
        "_known_in_a_row",
        "_last_payload",
        "_limits",
        "_queued_bytes",
        "_whole_head",
        "is_half_closed",
    )

    def __init__(
        self,
        manager: web.Server,
        loop: asyncio.AbstractEventLoop,
        *,
        admission: Admission,
        fast_path: KnownHeads,
        limits: LimitSettings,
        holder: str,
        is_admitted: bool,
    ) -> None:
        """Make one for the share of this holder; if that had no room, it is there to say so."""
        super().__init__(
            manager,
            loop=loop,
            closing_timeout_s=limits.body_timeout_s,
            keepalive_timeout=limits.idle_timeout_s,
            access_log=None,  # None switches it off (RequestHandler.__init__)
            max_line_size=max_line_bytes(limits),
            max_field_size=max_field_bytes(limits),
            max_headers=limits.max_header_fields + 1,  # `vet` counts them; of more the parser makes nothing
            lingering_time=min(10.0, limits.body_timeout_s),
            auto_decompress=False,
        )
        self._admission = admission
        self._fast_path = fast_path
        self._limits = limits
        self._is_admitted = is_admitted
        self._holder = holder
        self._is_given_back = False
        self._begun: CallUnderWay | None = None  # the first request's call, which was sent already
        self._known_in_a_row = 0  # requests that the fast path answered since one that it did not
        self.is_half_closed = False  # the client will send nothing more
        self._at_boundary = True  # H1
        self._whole_head: bytes | None = None  # H2
        self._last_payload: StreamReader = EMPTY_PAYLOAD  # of the request that was queued last
        self._incoming = HeadBuffer()  # what the parser was not given yet
        self._body_bytes_left = 0  # not given to the parser yet, of a body whose length is known
        self._chunks: Chunks | None = None  # of the body that is on its way
        self._is_last = False  # nothing behind the request queued last is one (RFC 9112, section 9.6)
        self._queued_bytes = 0  # given to the parser since no request was queued
        self._is_ending = False  # nothing more of the client is taken
        self._head_timer: asyncio.TimerHandle | None = None  # runs while a head is not complete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve, or to refuse."""
        if self._is_admitted:
            super().connection_made(transport)
            return
        BaseProtocol.connection_made(self, transport)  # no task, no keep-alive: only the refusal
        self._at_boundary = False
        if self._admission.may_be_told():
            self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self.force_close)
        else:
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Clean up."""
        self._stop_head_timer()
        if (begun := self.take_begun()) is not None:
            begun.abandon()
        if not self._is_given_back:
            self._admission.leave(self._holder, admitted=self._is_admitted)
        super().connection_lost(exc)

    def log_exception(self, *args: object, **kw: object) -> None:
        """Log an internal error; a client's broken body, which aiohttp meets again after the reply, is none."""
        if not isinstance(kw.get("exc_info"), RequestPayloadError):
            super().log_exception(*args, **kw)

    def eof_received(self) -> bool:  # type: ignore[override] # asyncio.Protocol: true keeps our half open
        """Go on for a client that has only closed its own half, and still waits for replies (aiohttp would not)."""
        self.is_half_closed = self._last_payload.is_eof()  # else a body broke off
        self.leave()
        if self.is_idle and self._is_admitted and self.transport is not None:
            self._admission.end_soon(self.transport)
        elif not self.is_half_closed or self.is_idle:
            return False
        # Over TLS the transport closes itself whatever is returned, and true is a line in the log.
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is None

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Write the reply to its end; with the last one to a client that has closed its half, silently, all ends."""
        response, is_reset = await super().finish_response(request, resp, start_time)
        if self.is_half_closed and not self._messages:
            response.force_close()  # no field says so: a NameNode's reply does not (Jetty, Hadoop 3.5.0)
        return response, is_reset

    def data_received(self, data: bytes) -> None:
        """Answer at once, or hand the bytes to aiohttp's parser."""
        if self._close or self._is_ending:
            return  # what else it sends is thrown away
        if self.is_idle and self._at_boundary and not self._paused:
            reply = self._fast_path.answer(data)
            if reply is not None:
                self._answer_known(data, reply)
                return
            if self._admission.concerns(data):
                self._known_in_a_row += 1
                if self._known_in_a_row < _KNOWN_IN_A_ROW:
                    self._take(data, is_idle=True)
                else:
                    self.give_back(data)
                return
            if not self._admission.may_enter(is_there=True):
                self.give_back(data)  # a quick connection costs less while it waits for its turn
                return
        self.receive(data)

    def go_on(self, head: bytes, begun: CallUnderWay) -> None:
        """Take a request of which the call was sent already."""
        self._begun = begun
        self.receive(head)

    def take_begun(self) -> CallUnderWay | None:
        """Return the call that was sent for the first request, once."""
        begun, self._begun = self._begun, None
        return begun

    def receive(self, data: bytes) -> None:
        """Take bytes of what is not known."""
        self._known_in_a_row = 0
        if self._is_admitted:
            self._take(data, is_idle=self.is_idle)
        else:
            most = self._limits.max_connections
            self._refuse(
                TooManyConnectionsError(f"too many connections: at most {most}, of each address its share")
            )

    def _answer_known(self, head: bytes, reply: bytes) -> None:
        """Send an answer; after some in a row, of which the client reads all, give the transport back."""
        transport = self.transport
        assert transport is not None
        transport.write(reply)
        if self._fast_path.is_sampled:
            self._fast_path.observe(head, peer_of(transport))
        # aiohttp's keep-alive timer looks at this when it fires, and starts again if it is early.
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        self._known_in_a_row += 1
        if self._known_in_a_row >= _KNOWN_IN_A_ROW and not self._paused:
            self.give_back()

    def give_back(self, data: bytes = b"", *, held: Held | None = None) -> None:
        """Give the transport back, with what has just come, or to hold the request in progress; this ends with it."""
        transport, self.transport = self.transport, None
        assert transport is not None
        self._is_given_back = True
        self._admission.give_back(transport, self._holder, data, held=held)
        self.connection_lost(None)

    def _take(self, data: bytes, *, is_idle: bool) -> None:
        """Give bytes to the parser and keep track of where it stands."""
        before = self._request_count
        if (is_alone := is_idle and self._at_boundary) and is_one_head(data):  # nearly always
            self._parse(for_the_parser(data))
        elif data:
            self._incoming.add(data)
        else:  # aiohttp lets its parser go on with the part of a body that it had put aside
            self._parse(data)
        self._feed()
        queued = self._request_count - before
        is_in_body = not self._last_payload.is_eof()
        self._at_boundary = not (is_in_body or self._incoming or self._is_last)
        is_whole = self._at_boundary or (self._is_last and is_one_head(data))
        is_bare = self._last_payload is EMPTY_PAYLOAD
        self._whole_head = data if is_alone and queued == 1 and is_whole and is_bare else None
        if queued:
            self._stop_head_timer()
        if self._incoming and not is_in_body and not self._buffer_paused:
            self._watch_head()

    def _feed(self) -> None:
        """Give the parser what there is room for: heads whole and one by one, bodies as they come."""
        while True:
            if self._is_last and self._last_payload.is_eof():
                self._is_ending = True
                self._incoming.take()
                return
            if not self._incoming:
                return
            if not self._has_room():
                if not self._buffer_paused:
                    self._pause_reading_for_buffer()  # `RequestHandler.start` resumes when it takes requests
                return
            if self._body_bytes_left > 0 and (piece := self._incoming.take(self._body_bytes_left)):
                self._body_bytes_left -= len(piece)
            elif self._chunks is not None:
                if not (piece := self._take_chunks(self._chunks)):
                    return
            elif not self._last_payload.is_eof():
                return  # the rest of a body is still to come, or its reader is slow to take what the parser has
            elif (head := self._incoming.take_head()) is not None:
                piece = for_the_parser(head)
            else:
                if self._incoming.is_hopeless:
                    self._refuse_in_turn(MalformedRequestError("a line ends without CRLF, or is not HTTP"))
                return
            self._parse(piece)

    def _take_chunks(self, chunks: Chunks) -> bytes:
        """Return what has come of a body as the parser may see it; nothing follows what makes no sense."""
        try:
            piece, behind = chunks.take(self._incoming.take())
        except ChunksError as exc:
            self._last_payload.set_exception(RequestPayloadError(str(exc)))
            self._is_last = self._is_ending = True
            self._chunks = None
            return b""
        if chunks.is_over:
            self._chunks = None
        if behind:
            self._incoming.add(behind)
        return piece

    def _parse(self, piece: bytes) -> None:
        """Give one piece to the parser: a head, or a part of a body."""
        before = self._request_count
        if not self._messages:
            self._queued_bytes = 0
        super().data_received(piece)
        self._queued_bytes += len(piece)
        if self._request_count == before:
            return
        message, payload = self._messages[-1]
        if (
            not isinstance(message, _ErrInfo) and not message.path
        ):  # `CONNECT `, of which aiohttp makes no request
            error = MalformedRequestError("the request line has no target")
            message, payload = _ErrInfo(error.status, error, str(error)), EMPTY_PAYLOAD
            self._messages[-1] = message, payload
        self._body_bytes_left, self._chunks = 0, None
        if isinstance(message, _ErrInfo):
            self._is_last = True  # the parser has given up
            if not self._last_payload.is_eof():  # within a body; aiohttp leaves the one who reads it waiting
                self._last_payload.set_exception(RequestPayloadError(message.message))
        else:
            self._is_last = message.should_close or message.method == "CONNECT"  # which is refused
            if message.chunked:
                self._chunks = Chunks()
            elif payload is not EMPTY_PAYLOAD:
                self._body_bytes_left = int(message.headers.get("Content-Length", 0))
        self._last_payload = payload

    def _has_room(self) -> bool:
        """Whether another request may be queued: so many, and so many bytes behind the one in progress."""
        queued = len(self._messages)
        return not queued or (
            queued < self._max_msg_queue_size and self._queued_bytes <= self._limits.max_head_bytes
        )

    def _resume_reading_if_drained(self) -> None:
        if not self._upgraded:
            self._take(b"", is_idle=False)
            if not self._has_room():
                return
        self._resume_reading_for_buffer()

    def _watch_head(self) -> None:
        """Bound the time and the size of a head that is not complete."""
        if len(self._incoming) > self._limits.max_head_bytes:
            what = f"has more than {self._limits.max_head_bytes} bytes"
            if self._incoming.has_request_line:
                self._refuse_in_turn(HeadTooLargeError(f"the head {what}"))
            else:
                self._refuse_in_turn(TargetTooLongError(f"the request line {what}"))
        elif self._head_timer is None:
            self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self._give_head_up)

    def _give_head_up(self) -> None:
        self._head_timer = None
        if not self.is_idle:  # it is the next head that is slow; its time begins when its turn has come
            self._head_timer = self._loop.call_later(self._limits.head_timeout_s, self._give_head_up)
            return
        self._refuse(SlowRequestError(f"no complete head within {self._limits.head_timeout_s:g} s"))

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse_in_turn(self, error: ClientError) -> None:
        """Take no more, and refuse the head that is not complete once the replies before it are given."""
        self._incoming.take()
        if self.is_idle:
            self._refuse(error)
            return
        self._is_ending = True
        self._stop_head_timer()
        self._request_count += 1
        self._messages.append((_ErrInfo(error.status, error, str(error)), EMPTY_PAYLOAD))
        if not self._buffer_paused:
            self._pause_reading_for_buffer()

    def _refuse(self, error: ProxyError) -> None:
        """Answer without a request, then let the client read that before the connection goes."""
        if self._close or self.transport is None:
            return
        self._stop_head_timer()
        self._admission.refused(error, peer_of(self.transport))
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
            self._admission.refused(error, peer_of(self.transport))
            return error_reply(error)

        return refuse

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress or queued."""
        # At first there is no waiter: `RequestHandler.start` has not had its turn yet.
        return self._request_count == 0 if self._waiter is None else not self._waiter.done()

    @property
    def ends_with_its_reply(self) -> bool:
        """Whether the connection will not go on after the reply that is to begin now, whatever its request asks for."""
        return self._admission.is_draining or self._close or self._force_close

    @property
    def held_bytes(self) -> int:
        """Bytes held for requests that are not in progress yet, parsed or not (H3)."""
        return len(self._incoming) + (self._queued_bytes if self._messages else 0)

    @property
    def is_alone(self) -> bool:
        """Whether the request in progress came alone, and its connection goes on."""
        ends = self.transport is None or self._is_last or self.ends_with_its_reply or self.is_half_closed
        return self._whole_head is not None and not (ends or self._paused)

    @property
    def whole_head(self) -> bytes | None:
        """The exact head of the request in progress, if it came alone and in one piece."""
        return self._whole_head
