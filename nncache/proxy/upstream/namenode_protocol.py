"""The proxy's end of one connection to a NameNode: it sends requests and reads replies, one after the other."""

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
"""Number of interim replies to one request, such as `100 Continue`; after more the connection is not used again."""

_SWITCHING_PROTOCOLS: Final = 101


def encode_request(head: RequestHead, *, host: str, chunked: bool) -> bytes:
    """Encode a request's head for the wire, with its target and its order of fields unchanged.

    Args:
        head: the request.
        host: the `Host` of a request that has none (HTTP/1.0).
        chunked: whether a body of unknown length follows.
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


class ReplyProgress(Enum):
    """How much of a reply has arrived."""

    MORE = auto()
    """The reply is not complete yet."""
    WHOLE = auto()
    """The whole reply has arrived, and its body is small."""
    OTHER = auto()
    """The ordinary call must read it: an interim reply, a long body, or an error."""


class NameNodeProtocol(asyncio.Protocol):
    """Reads the replies to one request at a time.

    Attributes:
        transport: None before it is connected, and once it is lost.
        on_whole: called with received bytes before they are read; True: they were a whole reply, which it has taken.
        on_progress: called when more bytes were read, or the connection has ended.
        body: the body of the final reply, once its head was read.

    Invariants:
        N1  `is_reusable` only if the last reply was read to its end, and no bytes have arrived after it.
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
        self._is_expected = False  # a reply whose final head has not arrived
        self._interim = 0  # interim heads of this reply
        self._goes_on = True  # the connection may be reused after the last reply
        self._ends_with_connection = False  # the body of the last reply
        self._fault: Exception | None = None  # why no more can be read
        self._waiter: asyncio.Future[None] | None = None  # for a head
        self._is_paused = False  # the NameNode does not read
        self._drained: asyncio.Future[None] | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether another request may be sent, as far as the proxy can see."""
        is_open = self.transport is not None and not self.transport.is_closing()
        is_read = not self._is_expected and (self.body is None or self.body.is_over)
        return is_open and is_read and self._goes_on and self._fault is None

    def expect_reply(self, method: str) -> None:
        """Prepare for the reply to a request of this method."""
        self._is_to_head = method == "HEAD"
        self._is_expected = True
        self._interim = 0
        self.body = None
        self._heads.clear()

    def whole_reply(self, data: bytes) -> tuple[ReplyHead, bytes] | None:
        """Return the reply if `data` is all of it and nothing else, else None; `took` must follow.

        Raises:
            ReplyError: the bytes are not a reply.
        """
        if not self._is_expected or self._incoming or self._heads or self._fault is not None:
            return None
        return read_whole_reply(data, max_fields=MAX_FIELDS)

    def took(self, head: ReplyHead) -> None:
        """Record that the whole reply with this head was taken."""
        self._is_expected = False
        self._goes_on = head.keep_alive

    def progress(self, most_bytes: int) -> ReplyProgress:
        """Return how much of the reply has arrived; a body of more than `most_bytes` is long."""
        if not self._heads:
            return ReplyProgress.MORE if self._fault is None else ReplyProgress.OTHER
        body = self.body
        if self._heads[0].is_interim or body is None or body.has_failed or body.held_bytes > most_bytes:
            return ReplyProgress.OTHER
        return ReplyProgress.WHOLE if body.is_over else ReplyProgress.MORE

    @property
    def next_head(self) -> ReplyHead | None:
        """The head that `read_head` would return immediately, if any."""
        return self._heads[0] if self._heads else None

    def take_whole(self) -> tuple[ReplyHead, bytes]:
        """Remove and return a whole reply."""
        assert self.body is not None
        return self._heads.popleft(), self.body.take()

    async def read_head(self) -> ReplyHead:
        """Return the next head, interim or final.

        Raises:
            ReplyError: the bytes are not a reply.
            ConnectionResetError: the connection closed.
        """
        while not self._heads:
            if self._fault is not None:
                raise self._fault
            self._waiter = self._loop.create_future()
            await self._waiter
        return self._heads.popleft()

    async def write(self, data: bytes) -> None:
        """Write, and wait until the NameNode has read enough.

        Raises:
            ConnectionResetError: the connection is lost.
        """
        transport = self.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the connection to the NameNode is gone")
        transport.write(data)
        if self._is_paused:
            self._drained = self._loop.create_future()
            await self._drained

    def abort(self) -> None:
        """Abort the connection."""
        if self.transport is not None:
            self.transport.abort()

    # ---- the transport's side ------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Record the transport."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read received bytes, or let `on_whole` take them."""
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
        """Wake all waiters."""
        self.transport = None
        body = self.body
        if body is not None and not body.is_over and self._ends_with_connection and exc is None:
            body.end()
        self._fail(ConnectionResetError(str(exc) if exc else "it closed the connection"))
        if self.on_progress is not None:
            self.on_progress()

    def pause_writing(self) -> None:
        """Record that the NameNode does not read."""
        self._is_paused = True

    def resume_writing(self) -> None:
        """Record that the NameNode reads again."""
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
        """Read all whole heads, and return the bytes after the final one."""
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
        """Return the next whole head, and the bytes after it; without one, keep the bytes until more arrive."""
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
