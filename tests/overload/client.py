"""A cheap HTTP client from an address of its own: raw bytes out, the little that is judged in."""

import asyncio
import socket
from typing import NamedTuple

_LIMIT_BYTES = 2**20


class TimedReply(NamedTuple):
    """What is judged of a reply."""

    status: int
    is_hit: bool
    has_retry_after: bool


class Client:
    """One connection to "host:port" from `source`, made when needed; kept between requests unless a reply ends it."""

    def __init__(self, address: str, source: str, *, receive_bytes: int | None = None) -> None:
        host, _, port = address.rpartition(":")
        self._to = (host, int(port))
        self._source = source
        self._receive_bytes = receive_bytes  # of the kernel's buffer
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect unless it is connected.

        Raises:
            OSError: that failed.
        """
        if self.reader is None or self.writer is None:
            connection = socket.socket()
            try:
                if self._receive_bytes is not None:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_bytes)
                connection.setblocking(False)
                connection.bind((self._source, 0))
                await asyncio.get_running_loop().sock_connect(connection, self._to)
            except BaseException:
                connection.close()
                raise
            self.reader, self.writer = await asyncio.open_connection(sock=connection, limit=_LIMIT_BYTES)
        return self.reader, self.writer

    async def send(self, data: bytes) -> None:
        """Send bytes as they are.

        Raises:
            OSError: the connection broke.
        """
        _, writer = await self.connect()
        writer.write(data)
        await writer.drain()

    async def ask(self, request: bytes) -> TimedReply:
        """Send a request and read its reply.

        Raises:
            OSError, EOFError, ValueError: no reply that can be read came; the connection is closed.
        """
        try:
            await self.send(request)
            return await self.answer()
        except BaseException:
            self.close()
            raise

    async def answer(self) -> TimedReply:
        """Read one reply to its end.

        Raises:
            OSError, EOFError, ValueError: as `ask`.
        """
        reader, _ = await self.connect()
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError as error:
            raise ValueError(str(error)) from error
        status_line, *lines = head.split(b"\r\n")
        fields = {
            name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines if line)
        }
        if b"content-length" in fields:
            await reader.readexactly(int(fields[b"content-length"]))
        elif b"chunked" in fields.get(b"transfer-encoding", b""):
            while size := int(await reader.readuntil(b"\r\n"), 16):
                await reader.readexactly(size + 2)
            await reader.readuntil(b"\r\n")
        if fields.get(b"connection", b"").lower() == b"close":
            self.close()
        return TimedReply(
            status=int(status_line.split(b" ")[1]),
            is_hit=fields.get(b"cache-status", b"").startswith(b"nncache; hit"),
            has_retry_after=b"retry-after" in fields,
        )

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


def request(method: str, target: str, *fields: str) -> bytes:
    """Return the bytes of a request without a body, its target as it stands."""
    lines = (f"{method} {target} HTTP/1.1", "Host: nncache", *fields)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def webhdfs(method: str, path: str, op: str, user: str = "carol", extra: str = "") -> bytes:
    """Return the bytes of a WebHDFS call; `extra` are further parameters, beginning with "&"."""
    return request(method, f"/webhdfs/v1{path}?op={op}&user.name={user}{extra}")
