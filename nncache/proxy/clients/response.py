"""A reply to a client, sent unchanged (guarantee Verbatim): no field is added to those of a NameNode.

Only this module turns an error into a reply. WebHDFS clients read errors from a JSON `RemoteException`
(org.apache.hadoop.hdfs.web.JsonUtil, Hadoop 3.5.0), so the proxy's own errors have that form as well.
"""

import asyncio
import json
import socket
import struct
import sys
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

_NO_LIMITS: Final = LimitSettings()  # until the server sets the configured ones
# Of tcp_info: tcpi_bytes_acked (tcp(7)). A transport does not count what TLS has encrypted.
_ACKED: Final = slice(120, 128)
_LINGER_OFF = struct.pack("ii", 1, 0)  # close immediately, with a reset: struct linger of socket(7)
CLOSE: Final = b"Connection: close\r\n\r\n"
KEEP_ALIVE: Final = b"Connection: keep-alive\r\n\r\n"
"""For HTTP/1.0, where the default is to close (RFC 9112, section 9.3)."""

_NO_BODY_STATUSES = frozenset({204, 304})  # RFC 9110, section 6.4.1
_JSON: Header = (b"Content-Type", b"application/json")
_NOT_STORED: Header = (b"Cache-Control", b"no-cache")


class Framing(Enum):
    """How the client detects the end of the body (RFC 9112, section 6.3)."""

    NONE = "none"  # no body: HEAD, 204, 304
    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"  # an HTTP/1.0 client and an unknown length


class RawResponse:
    """One reply: the head is sent with the first part of the body, in one piece if possible.

    A client that reads more slowly than `nncache.proxy.clients.patience` allows, by `limits`, is cut off.

    Attributes:
        status: the status code.
        reason: the reason phrase.
        sent_bytes: number of bytes written so far, with the head.
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
            reason: the reason phrase, sent unchanged.
            headers: every field but the length and those of the connection.
            wire: further fields in wire form, sent before `headers`.
            body: the whole body; None: it will be written in parts.
            length: the length of a body written in parts; None: unknown.
            close: close the connection after this reply.
            limits: the time limits of a slow reader.
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
        self._patience: Patience | None = None  # None: the reader was not slow yet
        self._framing = Framing.NONE
        self._head = b""  # not yet written
        self._request: Request | None = None  # None: the head is not settled
        self._ended = False

    @property
    def has_begun(self) -> bool:
        """Whether a byte of the reply was sent."""
        return self.sent_bytes > 0

    @property
    def keep_alive(self) -> bool:
        """Whether the connection stays open after this reply."""
        return not self._close_after

    @property
    def known_length(self) -> int:
        """Length of the body in bytes; -1: it is written in parts, and its length is not known."""
        return -1 if self._length is None else self._length

    @property
    def whole_body(self) -> bytes | None:
        """The body; None: it is written in parts."""
        return self._whole

    def not_modified(self) -> "RawResponse":
        """Return a 304 that replaces this reply, with the same fields (RFC 9110, section 15.4.5)."""
        return RawResponse(
            304, "Not Modified", self._fields, wire=self._wire, body=b"", close=self._close_after
        )

    def text(self, *, is_last: bool) -> bytes:
        """Return the wire form of a reply to a GET of HTTP/1.1; its whole body must be known.

        `is_last`: the connection closes after it, and the head says so.
        """
        assert self._whole is not None
        self._close_after = self._close_after or is_last
        if self.status in _NO_BODY_STATUSES:
            return self._encode_head()
        self._framing = Framing.LENGTH
        return self._encode_head() + self._whole

    def add(self, fields: Headers) -> None:
        """Append header fields; the reply must not be prepared yet."""
        assert self._request is None
        self._fields = (*self._fields, *fields)

    def force_close(self) -> None:
        """Close the connection after this reply; the head says so unless it is prepared already."""
        self._close_after = True

    def text_for(self, request: Request) -> bytes:
        """Return the wire form of the reply to a request; its whole body must be known."""
        assert self._whole is not None
        self.prepare(request)
        return self._head + self._last_part(self._whole)

    async def send(self, request: Request) -> None:
        """Send the rest of the reply to a request: all of it if nothing was sent.

        Raises:
            ConnectionError: the client has disconnected, or does not read.
        """
        self.prepare(request)
        await self.write_eof()

    def prepare(self, request: Request) -> None:
        """Encode the head; it is sent with the start of the body."""
        if self._request is not None:
            return
        self._request = request
        # The reply does not wait for the rest of a request's body: it says that the connection closes, and the rest is
        # read for a while and dropped.
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
            ConnectionError: the client has disconnected, or does not read.
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
        """Send the rest, and end the body.

        Raises:
            ConnectionError: the client has disconnected, or does not read.
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
        """Seconds of the time limit used up; see `nncache.proxy.clients.patience.Patience`."""
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
        """Wait until the client has read enough, in a single await."""
        loop = asyncio.get_running_loop()
        patience = self._patience = self._patience or Patience(self.limits)
        noted = loop.time(), taken_bytes(request.transport)
        timer: asyncio.TimerHandle | None = None

        def note() -> None:
            nonlocal noted
            before, noted = noted, (loop.time(), taken_bytes(request.transport))
            patience.spend(noted[0] - before[0], max(0, noted[1] - before[1]))

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
        """Reset the connection, so that the client can tell a cut body from a whole one."""
        self._ended = True
        self._close_after = True
        if self._request is not None:
            reset(self._request.transport)


def taken_bytes(transport: asyncio.Transport | None) -> int:
    """Return how many bytes the client's host has acknowledged since it connected; 0: it has disconnected."""
    sock = None if transport is None else transport.get_extra_info("socket")
    try:
        info = b"" if sock is None else sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _ACKED.stop)
    except OSError:  # the socket has just been closed
        info = b""
    return int.from_bytes(info[_ACKED], sys.byteorder)


def reset(transport: asyncio.Transport | None) -> None:
    """Reset a connection, so that a cut reply does not look whole."""
    if transport is None:
        return
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_OFF)
    transport.abort()


def peer_of(transport: asyncio.BaseTransport | None) -> str:
    """Return the client's address; "": it has disconnected."""
    address = None if transport is None else transport.get_extra_info("peername")
    return without_mapping(address[0]) if address else ""


def remote_exception(error: ProxyError) -> bytes:
    """Render an error as a JSON `RemoteException`."""
    name = error.java_class
    remote = {"exception": name.rpartition(".")[2], "javaClassName": name, "message": f"nncache: {error}"}
    return json.dumps({"RemoteException": remote}, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "replace"
    )


def date_field() -> Header:
    """Return the `Date` of a reply of the proxy's own that is made now (RFC 9110, section 6.6.1)."""
    return b"Date", formatdate(usegmt=True).encode("ascii")


def _fields_of(error: ProxyError) -> Headers:
    fields = (date_field(), _NOT_STORED, _JSON)
    if isinstance(error, MethodNotAllowedError):
        return (*fields, (b"Allow", error.allow))
    return fields if error.retry_after_s is None else (*fields, (b"Retry-After", b"%d" % error.retry_after_s))


def error_reply(error: ProxyError, extra: Headers = ()) -> RawResponse:
    """Make the reply of an error."""
    fields = (*_fields_of(error), *extra)
    return RawResponse(error.status, error.reason, fields, body=remote_exception(error), close=error.closes)


def raw_error_reply(error: ProxyError, *, has_body: bool = True) -> bytes:
    """Render an error's reply for a connection without a request to handle; the reply says `Connection: close`."""
    body = remote_exception(error)
    fields = (*_fields_of(error), (b"Content-Length", b"%d" % len(body)), (b"Connection", b"close"))
    line = f"HTTP/1.1 {error.status} {error.reason}\r\n".encode("ascii")
    return line + encode_fields(fields) + b"\r\n" + (body if has_body else b"")


def internal_error_reply() -> RawResponse:
    """Make the reply to a request after an internal error, which the log has."""
    return error_reply(ProxyError("internal error; the log of the proxy says more"))


def whole_reply(reply: UpstreamReply, fields: Headers, wire: bytes = b"") -> RawResponse:
    """Make the reply that forwards a NameNode's whole reply, with these header fields."""
    return RawResponse(reply.status, reason=reply.reason, headers=fields, wire=wire, body=reply.body)
