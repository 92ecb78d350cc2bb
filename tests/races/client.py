"""A plain HTTP/1.1 client on the loop under test: one connection, replies as they came."""

import asyncio
import socket
from dataclasses import dataclass
from typing import Self

TIMEOUT_S = 20.0
"""What hangs longer hangs."""

_CHUNK_BYTES = 40_000
_FREE_BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, without its framing."""

    status: int
    body: bytes
    cache_status: str

    @property
    def is_hit(self) -> bool:
        """Whether it came from memory."""
        return self.cache_status.startswith("nncache; hit")

    @property
    def is_own(self) -> bool:
        """Whether it is an error of the proxy's own."""
        return self.status >= 400 and b'"message":"nncache' in self.body

    @property
    def said(self) -> tuple[int, bytes]:
        """What is compared."""
        return self.status, self.body


class GoneError(Exception):
    """The connection ended before a whole reply came."""


class Client:
    """One connection to a server ("daemons.host:port"), made when needed and kept."""

    def __init__(self, address: str, *, receive_buffer_bytes: int = 0) -> None:
        host, _, port = address.rpartition(":")
        self._address = (host, int(port))
        self._receive_buffer_bytes = receive_buffer_bytes  # 0: the system's default
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._sock: socket.socket | None = None
        self.port = 0  # our own; 0 while there is no connection

    async def connect(self) -> None:
        """Connect, if there is no connection, or the server has closed it while it was idle."""
        if self._writer is not None:
            assert self._reader is not None
            if not self._reader.at_eof():
                return
            self.hang_up()
        sock = socket.socket()
        sock.setblocking(False)
        if self._receive_buffer_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)
        await asyncio.get_running_loop().sock_connect(sock, self._address)
        self._reader, self._writer = await asyncio.open_connection(sock=sock, limit=1 << 16)
        self._sock = sock
        self.port = self._writer.get_extra_info("sockname")[1]

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
        """Send a request and return the reply; a body that is withheld is announced, and never sent.

        Raises:
            GoneError: the connection ended first.
            TimeoutError: it hangs.
        """
        async with asyncio.timeout(TIMEOUT_S):
            try:
                await self.connect()
                if is_withheld and body is not None:
                    self.send(method, target, headers=f"{headers}Content-Length: {len(body)}\r\n")
                elif is_chunked and body is not None:
                    headers += "Transfer-Encoding: chunked\r\n"
                    self.send(method, target, headers=headers)
                    self._send_chunked(body)
                else:
                    self.send(method, target, body=body, headers=headers)
                return await self.receive()
            except (OSError, asyncio.IncompleteReadError) as exc:
                self.hang_up()
                raise GoneError(f"{method} {target}: {exc!r}") from exc
            except BaseException:
                self.hang_up()
                raise

    def send(
        self, method: str, target: str, *, body: bytes | None = None, headers: str = "", version: str = "1.1"
    ) -> None:
        """Send a request on the connection that is there."""
        assert self._writer is not None
        length = f"Content-Length: {len(body)}\r\n" if body is not None else ""
        host = f"{self._address[0]}:{self._address[1]}"
        head = f"{method} {target} HTTP/{version}\r\nHost: {host}\r\n{headers}{length}\r\n"
        self._writer.write(head.encode() + (body or b""))

    def take_freely(self) -> None:
        """Give up a small receive buffer, so that how long the rest takes is not up to the machine."""
        if self._sock is not None:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _FREE_BUFFER_BYTES)

    def _send_chunked(self, body: bytes) -> None:
        assert self._writer is not None
        for begin in range(0, len(body), _CHUNK_BYTES):
            chunk = body[begin : begin + _CHUNK_BYTES]
            self._writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        self._writer.write(b"0\r\n\r\n")

    async def receive(self) -> Reply:
        """Return the next final reply."""
        reader = self._reader  # hanging up takes it away
        assert reader is not None
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(head[0].split(" ", 2)[1])
            fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
            if status >= 200:
                break
        body = await _body(reader, fields)
        if fields.get("connection", "").lower() == "close":
            self.hang_up()
        return Reply(status, body, fields.get("cache-status", ""))

    def hang_up(self) -> None:
        """End the connection at once, whatever is on its way."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = self._sock = None
        self.port = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()


async def _body(reader: asyncio.StreamReader, fields: dict[str, str]) -> bytes:
    if "content-length" in fields:
        return await reader.readexactly(int(fields["content-length"]))
    if "chunked" not in fields.get("transfer-encoding", ""):
        return await reader.read()
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readline()
    return b"".join(parts)
