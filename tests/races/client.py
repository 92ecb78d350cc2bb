"""The clients of the races, on the event loop under test."""

import asyncio
import socket
from typing import Final

from tests.http_client import HttpClient, Reply

TIMEOUT_S: Final = 20.0
"""Seconds after which a call counts as hung."""

_CHUNK_BYTES: Final = 40_000
_FREE_BUFFER_BYTES: Final = 1 << 20


class GoneError(Exception):
    """The connection ended before a whole reply arrived."""


class Client(HttpClient):
    """A connection that reconnects if the server closed it while it was idle."""

    async def connect(self) -> asyncio.StreamReader:
        """Connect if there is no connection, or if it has ended."""
        if self._reader is not None and self._reader.at_eof():
            self.hang_up()
        return await super().connect()

    async def ask(
        self,
        method: str,
        target: str,
        *,
        body: bytes | None = None,
        headers: str = "",
        is_chunked: bool = False,
        is_withheld: bool = False,
    ) -> Reply:
        """Send a request and return the reply; a withheld body is announced and never sent.

        Raises:
            GoneError: the connection ended first.
            TimeoutError: it hangs.
        """
        if is_chunked:
            headers += "Transfer-Encoding: chunked\r\n"
        elif body is not None:
            headers += f"Content-Length: {len(body)}\r\n"
        async with asyncio.timeout(TIMEOUT_S):
            try:
                await self.connect()
                self.begin(method, target, headers=headers)
                if body is not None and not is_withheld:
                    self.write(_chunked(body) if is_chunked else body)
                return await self.receive()
            except (OSError, asyncio.IncompleteReadError) as exc:
                self.hang_up()
                raise GoneError(f"{method} {target}: {exc!r}") from exc
            except BaseException:
                self.hang_up()
                raise

    def begin(self, method: str, target: str, *, headers: str = "", version: str = "1.1") -> None:
        """Send a request's head on the existing connection."""
        self.write(f"{method} {target} HTTP/{version}\r\nHost: {self.address}\r\n{headers}\r\n".encode())

    def take_freely(self) -> None:
        """Enlarge a small receive buffer, so that the time for the rest does not depend on the machine."""
        if self._sock is not None:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _FREE_BUFFER_BYTES)


def _chunked(body: bytes) -> bytes:
    parts = [body[begin : begin + _CHUNK_BYTES] for begin in range(0, len(body), _CHUNK_BYTES)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))
