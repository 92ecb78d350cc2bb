"""The proxy's end of one connection to a NameNode: requests go out, and replies come in, one after the other."""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import Final, cast

from nncache.net.http1.body import Body
from nncache.net.http1.chunks import ChunksError
from nncache.net.http1.head import HeadBuffer
from nncache.net.http1.reply import UNTIL_END, ReplyError, ReplyHead, read_reply_head, read_whole_reply
from nncache.proxy.headers import encode_fields
from nncache.proxy.messages import RequestHead

MAX_HEAD_BYTES: Final = 1024 * 1024
"""A Location repeats a target of up to 64 KiB, percent-encoded."""

_HEAD_END: Final = b"\r\n\r\n"
MAX_FIELDS: Final = 1024
MAX_INTERIM: Final = 64
"""Interim replies to one request, such as `100 Continue`: a connection that brings more is of no use."""

_SWITCHING_PROTOCOLS: Final = 101


def encode_request(head: RequestHead, *, host: str, chunked: bool) -> bytes:
    """Write a request's head as it goes on the wire: the target byte for byte, the fields in their order.

    Args:
        head: what to send.
        host: the `Host` of a request that has none (HTTP/1.0).
        chunked: a body of unknown length follows.
    """
    line = f"{head.method} {head.target} HTTP/1.1\r\n".encode("utf-8", "surrogateescape")
    if head.wire and not chunked:
        return line + head.wire
    parts = [line, encode_fields(head.headers)]
    if not any(name.lower() == b"host" for name, _ in head.headers):
        parts.append(b"Host: %b\r\n" % host.encode("idna"))
    if chunked:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    parts.append(b"\r\n")
    return b"".join(parts)


class Progress(Enum):
    """How far a reply has come."""

    MORE = auto()
    """The rest is still to come."""
    WHOLE = auto()
    """It is there, its body small."""
    OTHER = auto()
    """It is for who reads on, and knows what to do: an interim reply, a long body, a fault."""


class NameNodeProtocol(asyncio.Protocol):
    """Reads the replies to one request at a time.

    Attributes:
        transport: None before it is connected, and once it is lost.
        on_whole: gets what comes first; true: it was a whole reply, which is taken.
        on_progress: called when something more has come, or nothing more will.
        body: of the final reply, once its head was read.

    Invariants:
        N1  `is_reusable` only if the last reply was read to its end, and nothing has come behind it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.transport: asyncio.Transport | None = None
        self.on_whole: Callable[[bytes], bool] | None = None
        self.on_progress: Callable[[], None] | None = None
        self.body: Body | None = None
        self._incoming = HeadBuffer()
        self._heads: deque[ReplyHead] = deque()  # read, and not returned yet
        self._is_to_head = False
        self._is_expected = False  # a reply whose final head has not come
        self._interim = 0  # heads of this reply that were not the final one
        self._goes_on = True  # behind the last reply
        self._ends_with_connection = False  # the body of the last reply
        self._fault: Exception | None = None  # why nothing more can be read
        self._waiter: asyncio.Future[None] | None = None  # for a head
        self._is_paused = False  # the NameNode does not read
        self._drained: asyncio.Future[None] | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether another request may be sent, as far as can be seen from here."""
        is_open = self.transport is not None and not self.transport.is_closing()
        is_read = not self._is_expected and (self.body is None or self.body.is_over)
        return is_open and is_read and self._goes_on and self._fault is None

    def expect_reply(self, method: str) -> None:
        """Get ready to read the reply to a request of that method."""
        self._is_to_head = method == "HEAD"
        self._is_expected = True
        self._interim = 0
        self.body = None
        self._heads.clear()

    def whole_reply(self, data: bytes) -> tuple[ReplyHead, bytes] | None:
        """Read the reply, if it is just this that has come for it, whole and nothing else; `took` must follow.

        Raises:
            ReplyError: what came is no reply.
        """
        if not self._is_expected or self._incoming or self._heads or self._fault is not None:
            return None
        return read_whole_reply(data, max_fields=MAX_FIELDS)

    def took(self, head: ReplyHead) -> None:
        """Take note that the reply with this head was taken whole."""
        self._is_expected = False
        self._goes_on = head.keep_alive

    def progress(self, most_bytes: int) -> Progress:
        """Say how far the reply has come; a body of more bytes is a long one."""
        if not self._heads:
            return Progress.MORE if self._fault is None else Progress.OTHER
        body = self.body
        if self._heads[0].is_interim or body is None or body.has_failed or body.held_bytes > most_bytes:
            return Progress.OTHER
        return Progress.WHOLE if body.is_over else Progress.MORE

    @property
    def next_head(self) -> ReplyHead | None:
        """What `read_head` would return at once."""
        return self._heads[0] if self._heads else None

    def take_whole(self) -> tuple[ReplyHead, bytes]:
        """Take a reply that is whole."""
        assert self.body is not None
        return self._heads.popleft(), self.body.take()

    async def read_head(self) -> ReplyHead:
        """Return the next head, interim ones among them.

        Raises:
            ReplyError: what came is no reply.
            ConnectionResetError: the connection ended.
        """
        while not self._heads:
            if self._fault is not None:
                raise self._fault
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._heads.popleft()

    async def write(self, data: bytes) -> None:
        """Write, and wait until the NameNode has taken enough of it.

        Raises:
            ConnectionResetError: the connection is gone.
        """
        transport = self.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the connection to the NameNode is gone")
        transport.write(data)
        if self._is_paused:
            self._drained = self._loop.create_future()
            await self._drained

    def abort(self) -> None:
        """End the connection now."""
        if self.transport is not None:
            self.transport.abort()

    # ---- the transport's side ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read what comes."""
        if self.on_whole is not None and self.on_whole(data):
            return
        if self._fault is None:
            try:
                self._read(data)
            except (ReplyError, ChunksError) as error:
                self._fail(error)
        if self.on_progress is not None:
            self.on_progress()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Let all who wait know."""
        self.transport = None
        body = self.body
        if body is not None and not body.is_over and self._ends_with_connection and exc is None:
            body.end()
        self._fail(ConnectionResetError(str(exc) if exc else "it closed the connection"))
        if self.on_progress is not None:
            self.on_progress()

    def pause_writing(self) -> None:
        """Take note that the NameNode does not read."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Take note that it does."""
        self._is_paused = False
        self._wake()

    def _read(self, data: bytes) -> None:
        if self._is_expected:
            data = self._read_heads(data)
        if data and not self._is_expected:
            body = self.body
            behind = data if body is None or body.is_over else body.feed(data)
            if behind:
                self._goes_on = False  # bytes that answer no request
            if body is not None and body.is_full and self.transport is not None:
                self.transport.pause_reading()

    def _read_heads(self, data: bytes) -> bytes:
        """Read the heads that are there; return what stands behind the final one."""
        head, data = self._next_head(data)
        while head is not None:
            if len(head) > MAX_HEAD_BYTES:
                raise ReplyError(f"a head of more than {MAX_HEAD_BYTES} bytes")
            reply = read_reply_head(head, is_to_head=self._is_to_head, max_fields=MAX_FIELDS)
            if not reply.is_interim or reply.status == _SWITCHING_PROTOCOLS:
                self._is_expected = False
                self._goes_on = reply.keep_alive and not reply.is_interim
                self._ends_with_connection = reply.length == UNTIL_END
                self.body = Body(reply.length, self._resume)
            else:
                self._interim += 1
                if self._interim > MAX_INTERIM:
                    raise ReplyError(f"more than {MAX_INTERIM} interim replies")
            self._heads.append(reply)
            self._wake()
            if not self._is_expected:
                return data
            head, data = self._next_head(data)
        if self._incoming.is_hopeless or len(self._incoming) > MAX_HEAD_BYTES:
            raise ReplyError("what came is no HTTP, or a head without end")
        return b""

    def _next_head(self, data: bytes) -> tuple[bytes | None, bytes]:
        """Return the next whole head, and what stands behind it; what is no whole head waits."""
        if not self._incoming and data[:1].isalpha() and (end := data.find(_HEAD_END)) >= 0:
            end += len(_HEAD_END)
            return data[:end], data[end:]
        self._incoming.add(data)
        head = self._incoming.take_head()
        return head, b"" if head is None else self._incoming.take()

    def _fail(self, error: Exception) -> None:
        if self._fault is None:
            self._fault = error
        if self.body is not None and not self.body.is_over:
            self.body.fail(error)
        self._wake()

    def _resume(self) -> None:
        if self.transport is not None:
            self.transport.resume_reading()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
        if self._drained is not None and not self._drained.done():
            if self._fault is not None and self.transport is None:
                self._drained.set_exception(ConnectionResetError("the connection to the NameNode is gone"))
            elif not self._is_paused:
                self._drained.set_result(None)
