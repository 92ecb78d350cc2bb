"""A reply to a client, written as it is given (guarantee Verbatim): no field is added to what a NameNode sends.

Here alone an error becomes a reply. WebHDFS clients read it from a JSON `RemoteException`
(org.apache.hadoop.hdfs.web.JsonUtil, Hadoop 3.5.0), so the proxy's own errors have that form as well.
"""

import asyncio
import fcntl
import json
import socket
import struct
import sys
import termios
from email.utils import formatdate
from enum import Enum
from typing import Final

from nncache.net.shares import without_mapping
from nncache.proxy.clients.patience import Patience
from nncache.proxy.clients.request import Request
from nncache.proxy.errors import MethodNotAllowedError, ProxyError
from nncache.proxy.headers import encode_fields
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Header, Headers, UpstreamReply

_NO_LIMITS: Final = LimitSettings()  # until the server has said which hold
_LINGER_OFF = struct.pack("ii", 1, 0)  # close at once, with a reset: struct linger of socket(7)
CLOSE: Final = b"Connection: close\r\n\r\n"
KEEP_ALIVE: Final = b"Connection: keep-alive\r\n\r\n"
"""To HTTP/1.0, which takes it for the end otherwise (RFC 9112, section 9.3)."""

_NO_BODY_STATUSES = frozenset({204, 304})  # RFC 9110, section 6.4.1
_JSON: Header = (b"Content-Type", b"application/json")
_NOT_STORED: Header = (b"Cache-Control", b"no-cache")


class Framing(Enum):
    """How the client learns where the body ends (RFC 9112, section 6.3)."""

    NONE = "none"  # there is none: HEAD, 204, 304
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"  # an HTTP/1.0 client, and a length that is not known


class RawResponse:
    """One reply: the head goes out with the first part of the body, in one piece where that is possible.

    A reader that takes less than `nncache.proxy.clients.patience` allows is cut off; `limits` says how much that is.

    Attributes:
        status: the status code.
        reason: the reason phrase.
        sent_bytes: written so far, the head included.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        headers: Headers,
        *,
        wire: bytes = b"",
        body: bytes | None = None,
        length: int | None = None,
        close: bool = False,
        limits: LimitSettings = _NO_LIMITS,
    ) -> None:
        """Make a reply that is not sent yet.

        Args:
            status: the status code.
            reason: the reason phrase, sent as it is.
            headers: every field but the length and those of the connection.
            wire: what goes before them, fields as well.
            body: the whole body; None if it is going to be written part by part.
            length: the bytes that a body written part by part will have, if that is known.
            close: end the connection after this reply.
            limits: what a slow reader may cost.
        """
        self.status = status
        self.reason = reason
        self.sent_bytes = 0
        self._fields = headers
        self._wire = wire
        self._whole = body
        self._length = len(body) if body is not None else length
        self._close_after = close
        self.limits = limits
        self._patience: Patience | None = None  # since the reader was slow for the first time
        self._taken_bytes = 0  # of what was sent, by the client's host, as far as noted
        self._framing = Framing.NONE
        self._head = b""  # not yet written
        self._request: Request | None = None  # None: the head is not settled
        self._ended = False

    @property
    def has_begun(self) -> bool:
        """Whether a byte of it has gone out."""
        return self.sent_bytes > 0

    @property
    def keep_alive(self) -> bool:
        """Whether the connection serves another request after this one."""
        return not self._close_after

    @property
    def known_length(self) -> int:
        """Bytes of the body; -1 if it is written part by part and its length is not known."""
        return -1 if self._length is None else self._length

    @property
    def whole_body(self) -> bytes | None:
        """The body; None if it is written part by part."""
        return self._whole

    def not_modified(self) -> "RawResponse":
        """Return the 304 in place of this reply, with the same fields (RFC 9110, section 15.4.5)."""
        return RawResponse(
            304, "Not Modified", self._fields, wire=self._wire, body=b"", close=self._close_after
        )

    def text(self, *, is_last: bool) -> bytes:
        """Return the whole reply to a GET of HTTP/1.1, as it goes over the wire; it is known as a whole.

        `is_last`: the connection ends after it, and the head says so.
        """
        assert self._whole is not None
        self._close_after = self._close_after or is_last
        if self.status in _NO_BODY_STATUSES:
            return self._encode_head()
        self._framing = Framing.LENGTH
        return self._encode_head() + self._whole

    def add(self, fields: Headers) -> None:
        """Put header fields behind the others, before it is prepared."""
        assert self._request is None
        self._fields = (*self._fields, *fields)

    def force_close(self) -> None:
        """End the connection after this reply; the head says so if it has not gone out yet."""
        self._close_after = True

    def text_for(self, request: Request) -> bytes:
        """Return the whole reply to a request, as it goes over the wire; it is known as a whole."""
        assert self._whole is not None
        self.prepare(request)
        return self._head + self._last_part(self._whole)

    async def send(self, request: Request) -> None:
        """Send what is left of the reply to a request, the whole of it if nothing was sent.

        Raises:
            ConnectionError: the client is gone, or takes nothing.
        """
        self.prepare(request)
        await self.write_eof()

    def prepare(self, request: Request) -> None:
        """Settle the head; it is not written before the body begins."""
        if self._request is not None:
            return
        self._request = request
        # A body that is still on its way is not waited for: the reply says that the connection ends, and what is left
        # of the body is read on for a while.
        if not request.keep_alive or not request.has_arrived or request.connection.ends_with_its_reply:
            self._close_after = True
        if request.adds:
            self._fields = (*self._fields, *request.adds)
        self._framing = self._choose_framing(request)
        self._head = self._encode_head()

    def _choose_framing(self, request: Request) -> Framing:
        if request.method == "HEAD" or self.status in _NO_BODY_STATUSES:
            return Framing.NONE
        if self._length is not None:
            return Framing.LENGTH
        if request.is_http_1_1:
            return Framing.CHUNKED
        self._close_after = True
        return Framing.CLOSE

    def _encode_head(self) -> bytes:
        fields, length = self._wire, b""
        if self._fields:
            fields += encode_fields(self._fields)
        if self._length is None:
            if self._framing is Framing.CHUNKED:
                length = b"Transfer-Encoding: chunked\r\n"
        elif self.status not in _NO_BODY_STATUSES:
            length = b"Content-Length: %d\r\n" % self._length
        reason = self.reason.encode("utf-8", "surrogateescape")
        is_old = self._request is not None and not self._request.is_http_1_1
        end = CLOSE if self._close_after else KEEP_ALIVE if is_old else b"\r\n"
        return b"HTTP/1.1 %d %b\r\n%b%b%b" % (self.status, reason, fields, length, end)

    async def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send one part of the body.

        Raises:
            ConnectionError: the client is gone, or takes nothing.
        """
        if not data:
            return
        match self._framing:
            case Framing.NONE:
                return
            case Framing.CHUNKED:
                await self._send(b"%b%x\r\n%b\r\n" % (self._head, len(data), bytes(data)))
            case Framing.LENGTH | Framing.CLOSE:
                await self._send(self._head + bytes(data) if self._head else data)

    async def write_eof(self) -> None:
        """Send what is left and end the body.

        Raises:
            ConnectionError: the client is gone, or takes nothing.
        """
        if self._ended:
            return
        self._ended = True
        await self._send(self._head + self._last_part(self._whole or b""))

    def _last_part(self, rest: bytes) -> bytes:
        match self._framing:
            case Framing.NONE:
                return b""
            case Framing.CHUNKED:
                return (b"%x\r\n%b\r\n" % (len(rest), rest) if rest else b"") + b"0\r\n\r\n"
            case Framing.LENGTH | Framing.CLOSE:
                return rest

    @property
    def spent_s(self) -> float:
        """Seconds for which the client was waited for in vain; see `nncache.proxy.clients.patience.Patience`."""
        return 0.0 if self._patience is None else self._patience.spent_s

    async def _send(self, data: bytes | bytearray | memoryview) -> None:
        request = self._request
        assert request is not None
        self._head = b""
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has left")
        self.sent_bytes += len(data)
        request.has_reply_begun = True
        transport.write(data)
        if request.connection.is_paused:
            await self._wait_for_reader(request)

    async def _wait_for_reader(self, request: Request) -> None:
        """Wait until there is room for more, in one wait throughout."""
        loop = asyncio.get_running_loop()
        patience = self._patience = self._patience or Patience(self.limits)
        noted_at = loop.time()
        timer: asyncio.TimerHandle | None = None

        def note() -> None:
            nonlocal noted_at
            now, taken_bytes = loop.time(), max(0, self.sent_bytes - _not_taken_bytes(request.transport))
            patience.spend(now - noted_at, taken_bytes - self._taken_bytes)
            noted_at, self._taken_bytes = now, taken_bytes

        def look() -> None:
            nonlocal timer
            note()
            if patience.left_s > 0:
                timer = loop.call_later(patience.left_s, look)
            else:
                end.reschedule(loop.time())

        try:
            async with asyncio.timeout(None) as end:
                timer = loop.call_later(patience.left_s, look)
                await request.connection.drain()
            note()
        except TimeoutError:
            self.cut()
            raise ConnectionAbortedError("the client reads too slowly") from None
        finally:
            if timer is not None:
                timer.cancel()

    def cut(self) -> None:
        """End the connection so that the client can tell a broken body from a whole one: with a reset."""
        self._ended = True
        self._close_after = True
        if self._request is not None:
            reset(self._request.transport)


def _not_taken_bytes(transport: asyncio.Transport | None) -> int:
    """Return how much of what was written the client's host has not acknowledged (SIOCOUTQ of tcp(7))."""
    sock = None if transport is None else transport.get_extra_info("socket")
    if transport is None or sock is None:
        return 0
    try:
        answer = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4))
    except OSError:  # it has just been closed
        answer = bytes(4)
    return transport.get_write_buffer_size() + int.from_bytes(answer, sys.byteorder)


def reset(transport: asyncio.Transport | None) -> None:
    """End a connection at once, with a reset: what was written of a reply does not look whole."""
    if transport is None:
        return
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
    transport.abort()


def peer_of(transport: asyncio.BaseTransport | None) -> str:
    """Return the client's address; "" if it is gone."""
    address = None if transport is None else transport.get_extra_info("peername")
    return without_mapping(address[0]) if address else ""


def remote_exception(error: ProxyError) -> bytes:
    """Render the JSON body that says what went wrong."""
    name = error.java_class
    remote = {"exception": name.rpartition(".")[2], "javaClassName": name, "message": f"nncache: {error}"}
    return json.dumps({"RemoteException": remote}, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "replace"
    )


def date_field() -> Header:
    """Return the `Date` of a reply that is made now, and is not a NameNode's (RFC 9110, section 6.6.1)."""
    return b"Date", formatdate(usegmt=True).encode("ascii")


def _fields_of(error: ProxyError) -> Headers:
    fields = (date_field(), _NOT_STORED, _JSON)
    if isinstance(error, MethodNotAllowedError):
        return (*fields, (b"Allow", error.allow))
    return fields if error.retry_after_s is None else (*fields, (b"Retry-After", b"%d" % error.retry_after_s))


def error_reply(error: ProxyError, extra: Headers = ()) -> RawResponse:
    """Make the reply that an error becomes."""
    fields = (*_fields_of(error), *extra)
    return RawResponse(error.status, error.reason, fields, body=remote_exception(error), close=error.closes)


def raw_error_reply(error: ProxyError, *, has_body: bool = True) -> bytes:
    """Render the same reply for a connection that has no request to handle; it ends the connection."""
    body = remote_exception(error)
    fields = (*_fields_of(error), (b"Content-Length", b"%d" % len(body)), (b"Connection", b"close"))
    line = f"HTTP/1.1 {error.status} {error.reason}\r\n".encode("ascii")
    return line + encode_fields(fields) + b"\r\n" + (body if has_body else b"")


def internal_error_reply() -> RawResponse:
    """Make the reply to a request that met an internal error, which the log has."""
    return error_reply(ProxyError("internal error; the log of the proxy says more"))


def whole_reply(reply: UpstreamReply, fields: Headers, wire: bytes = b"") -> RawResponse:
    """Make the reply that hands on a NameNode's whole reply, with these header fields."""
    return RawResponse(reply.status, reason=reply.reason, headers=fields, wire=wire, body=reply.body)
