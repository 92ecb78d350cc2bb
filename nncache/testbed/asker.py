"""A plain HTTP client. It sends the target unchanged, and keeps a reply's repeated headers and raw body."""

import http.client
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

Fields = Mapping[str, str] | Iterable[tuple[str, str]]  # header fields, in order


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply as received, without its message framing."""

    status: int
    headers: tuple[tuple[str, str], ...]  # in order, duplicates included
    body: bytes
    started_at: float  # `time.monotonic()` before the request was sent
    ended_at: float  # `time.monotonic()` after the body was read

    def header(self, name: str) -> str:
        """Return a header's values, joined by ", "; an empty string if it is missing."""
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())

    @property
    def is_hit(self) -> bool:
        """Whether `Cache-Status` reports that nncache answered from memory."""
        return self.header("Cache-Status").startswith("nncache; hit")


class Asker:
    """One keep-alive connection to a server ("host:port"), opened on demand. Not thread-safe.

    With a `context` the connection uses TLS.
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
        """Send one request with the target unchanged, and return the reply.

        `headers` may be pairs, so that a field can be repeated.

        The server may have closed the idle connection: then a GET is sent again on a new one. Every other method
        opens a new connection first.

        Raises:
            OSError, http.client.HTTPException: no reply arrived.
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
        names_host = any(name.lower() == "host" for name, _ in headers)
        connection.putrequest(method, target, skip_host=names_host, skip_accept_encoding=True)
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
        """Close the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
