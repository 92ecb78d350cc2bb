"""A plain HTTP client that shows replies as they came: raw target out, repeated headers and raw body in."""

import http.client
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

Fields = Mapping[str, str] | Iterable[tuple[str, str]]  # header fields, in order


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply as it was read, without its message framing."""

    status: int
    headers: tuple[tuple[str, str], ...]  # in order, repeated ones repeated
    body: bytes
    started_at: float  # `time.monotonic()` before the request was sent and after the body was read
    ended_at: float

    def header(self, name: str) -> str:
        """Return the values of a header, joined; empty when there is none."""
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())

    @property
    def is_hit(self) -> bool:
        """Whether nncache says that it answered from memory."""
        return self.header("Cache-Status").startswith("nncache; hit")


class Asker:
    """One keep-alive connection to a server ("host:port"), opened when needed. Not for two threads at once.

    With a `context` it is a connection over TLS.
    """

    def __init__(
        self, address: str, context: ssl.SSLContext | None = None, *, timeout_s: float = 30.0
    ) -> None:
        self.address = address
        self._context = context
        self._timeout_s = timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, target: str, *, headers: Fields | None = None, body: bytes | None = None
    ) -> RawReply:
        """Send one request, its target as it stands, and return the reply.

        Header fields may be given as pairs, so that one comes twice.

        A kept connection may have been closed while it was idle: a GET is asked again then, and
        everything else gets a connection of its own.

        Raises:
            OSError, http.client.HTTPException: no reply came.
        """
        fields = tuple(headers.items() if isinstance(headers, Mapping) else headers or ())
        if method != "GET":
            self.close()
        if self._connection is not None:
            try:
                return self._ask(self._connection, method, target, fields, body)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self.close()
        self._connection = self._connect()
        try:
            return self._ask(self._connection, method, target, fields, body)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self.address, timeout=self._timeout_s)
        return http.client.HTTPSConnection(self.address, timeout=self._timeout_s, context=self._context)

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: tuple[tuple[str, str], ...],
        body: bytes | None,
    ) -> RawReply:
        started_at = time.monotonic()
        connection.putrequest(method, target, skip_accept_encoding=True)
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        content = response.read()
        reply = RawReply(response.status, tuple(response.getheaders()), content, started_at, time.monotonic())
        if response.will_close:
            self.close()
        return reply

    def close(self) -> None:
        """Close the connection; the next question opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
