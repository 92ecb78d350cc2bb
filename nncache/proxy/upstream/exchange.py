"""One call on one connection to a NameNode: send the request, receive the reply.

The request's body is held back for a moment, so that the NameNode can answer first. No WebHDFS operation of a
NameNode reads a body: it answers `CREATE` with a redirect as soon as it has the head, then closes the connection with
the body unread. The reset would discard the reply if the body were still being sent (RFC 9112, section 9.6).
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from nncache.net.http1.body import Body
from nncache.net.http1.chunks import ChunksError
from nncache.net.http1.reply import ReplyError, ReplyHead
from nncache.proxy.clients.body import RequestBody
from nncache.proxy.errors import (
    ClientError,
    NotSentError,
    ProxyError,
    SlowRequestError,
    UpstreamCutError,
    UpstreamTimeoutError,
)
from nncache.proxy.messages import Headers, RequestHead
from nncache.proxy.upstream.namenode_protocol import encode_request
from nncache.proxy.upstream.pool import Connection

_log = logging.getLogger(__name__)

_BODY_HOLD_S: Final = 0.1  # the time that a NameNode needs to answer a head, with a margin
_BROKEN: Final = (ReplyError, ChunksError, OSError)
_CONTINUE = 100
_SWITCHING_PROTOCOLS = 101


class CallExchange:
    """The state of one call.

    Attributes:
        status: the status of the final reply; 0 before `receive_head`.
        reason: the reason phrase of the final reply.
        headers: the header fields of the final reply, unchanged.
        content_length: the length that the reply declares; None: it declares none.
        is_json: whether the reply declares its body to be JSON.
        start: the part of the reply's body that `receive_start` has read.
        is_complete: whether `start` is the whole body.
    """

    def __init__(
        self, connection: Connection, head: RequestHead, body: RequestBody | None, *, timeout_s: float
    ) -> None:
        self._connection = connection
        self._head = head
        self._body = body
        self._timeout_s = timeout_s  # how long the NameNode may send nothing
        self._may_send_body = asyncio.Event()  # set when the NameNode has sent a 100
        self._client_fault: ClientError | None = None  # why the request's body was cut short
        self._received: Body | None = None
        self._is_body_sent = body is None
        self.status = 0
        self.reason = ""
        self.headers: Headers = ()
        self.content_length: int | None = None
        self.is_json = False
        self.start = b""
        self.is_complete = False

    def send_head(self) -> None:
        """Send the request's head.

        Raises:
            NotSentError: the connection is lost.
        """
        declared = any(name.lower() == b"content-length" for name, _ in self._head.headers)
        chunked = self._body is not None and not declared
        host = self._connection.namenode.http
        self._connection.protocol.expect_reply(self._head.method)
        try:
            self._connection.send_head(encode_request(self._head, host=host, chunked=chunked))
        except ConnectionResetError as exc:
            raise NotSentError(f"NameNode {host}: {exc}") from exc

    async def send_body(self) -> None:
        """Stream the request's body from the client. Raises nothing but CancelledError.

        `receive_head` and `receive_part` report its failures.
        """
        assert self._body is not None
        declared = any(name.lower() == b"content-length" for name, _ in self._head.headers)
        try:
            try:
                async with asyncio.timeout(_BODY_HOLD_S):
                    await self._may_send_body.wait()
            except TimeoutError:
                pass  # no answer yet: the NameNode may be waiting for the body
            while part := await self._next_part(self._body):
                async with asyncio.timeout(self._timeout_s):
                    await self._connection.write_body(part, chunked=not declared)
            if not declared:
                async with asyncio.timeout(self._timeout_s):
                    await self._connection.write_body(b"", chunked=True)
            self._is_body_sent = True
        except ClientError as fault:
            self._client_fault = fault
            self._connection.abort()
        except TimeoutError:
            self._connection.abort()
        except OSError:
            pass  # the NameNode reads no more of it; a reply can still be received
        except Exception:  # noqa: BLE001 - an internal error must not take the other calls along (one task group)
            _log.exception("could not send a request's body")
            self._connection.abort()

    async def _next_part(self, body: RequestBody) -> bytes:
        with self._connection.waiting_for_client(self._cut_body, body.spent_s):
            return await body.read_part()

    def _cut_body(self) -> None:
        self._client_fault = SlowRequestError(
            "the body came too slowly while other calls waited for a connection to the NameNode"
        )
        self._connection.abort()

    async def receive_head(self, on_continue: Callable[[], None]) -> None:
        """Wait for the final reply's head.

        Raises:
            UpstreamTimeoutError: the NameNode did not answer in time.
            UpstreamCutError: the connection closed, or the bytes received are not HTTP.
            ClientError: the client's body was cut short, which ended the call.
        """
        while True:
            head = await self._receive_head()
            if not head.is_interim:
                break
            if head.status == _SWITCHING_PROTOCOLS:
                raise UpstreamCutError("the NameNode switched protocols, unasked")
            if head.status == _CONTINUE:
                self._may_send_body.set()
                on_continue()
        self.status, self.reason, self.headers = head.status, head.reason, head.fields
        self._received = self._connection.protocol.body
        assert self._received is not None
        self.is_complete = not self._received.has_more
        self.is_json = head.is_json
        self.content_length = next(
            (
                int(value)
                for name, value in self.headers
                if name.lower() == b"content-length" and value.isdigit()
            ),
            None,
        )

    async def _receive_head(self) -> ReplyHead:
        while True:
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await self._connection.protocol.read_head()
            except TimeoutError:
                if self._is_body_sent or self._client_fault is not None:
                    raise UpstreamTimeoutError(self._message("gave no answer in time")) from None
                # A long body is still being sent; `send_body` has deadlines of its own.
            except _BROKEN as exc:
                raise self._cut(exc) from exc

    async def receive_start(self, limit: int) -> None:
        """Read the reply's body into `start` until it is complete or longer than `limit` bytes.

        Raises:
            ProxyError: as `receive_part`.
        """
        parts = [self.start]
        size = len(self.start)
        while not self.is_complete and size <= limit:
            part = await self.receive_part()
            parts.append(part)
            size += len(part)
        self.start = b"".join(parts)

    async def receive_part(self) -> bytes:
        """Return the next part of the reply's body; b"" after the last one.

        Raises:
            UpstreamTimeoutError: the NameNode sent nothing in time.
            UpstreamCutError: the connection closed before the end of the body.
            ClientError: the client's body was cut short, which ended the call.
        """
        body = self._received
        assert body is not None
        try:
            if body.is_waited_for:
                async with asyncio.timeout(self._timeout_s):
                    await body.arrival()
            part = body.take()
        except TimeoutError:
            raise UpstreamTimeoutError(self._message("stopped in the middle of its reply")) from None
        except _BROKEN as exc:
            raise self._cut(exc) from exc
        self.is_complete = not body.has_more
        return part

    @property
    def is_reusable(self) -> bool:
        """Whether the request was sent and the reply received completely, so that the connection can be reused."""
        return self.is_complete and self._is_body_sent

    def _cut(self, exc: Exception) -> ProxyError:
        if self._client_fault is not None:
            return self._client_fault
        return UpstreamCutError(self._message(f"broke the call off: {str(exc) or type(exc).__name__}"))

    def _message(self, what: str) -> str:
        return f"NameNode {self._connection.namenode.http} {what}"
