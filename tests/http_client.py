"""An HTTP/1.1 client for attacks and races: requests are sent byte for byte, and replies are not interpreted."""

import asyncio
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

_LIMIT_BYTES = 1 << 16
"""Size of the read buffer in bytes; a server's head is shorter."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply without its framing.

    Attributes:
        fields: values by lowercase name.
    """

    status: int
    fields: Mapping[str, str]
    body: bytes

    @property
    def cache_status(self) -> str:
        """The field `Cache-Status`."""
        return self.fields.get("cache-status", "")

    @property
    def is_hit(self) -> bool:
        """Whether it came from memory."""
        return self.cache_status.startswith("nncache; hit")

    @property
    def is_own(self) -> bool:
        """Whether the reply is the proxy's own error."""
        return self.status >= 400 and b'"message":"nncache' in self.body

    @property
    def status_and_body(self) -> tuple[int, bytes]:
        """The compared parts of the reply."""
        return self.status, self.body


def request(method: str, target: str, *fields: str) -> bytes:
    """Return the bytes of a request without a body, with its target unchanged."""
    lines = (f"{method} {target} HTTP/1.1", "Host: nncache", *fields)
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def webhdfs(method: str, path: str, op: str, user: str = "carol", extra: str = "") -> bytes:
    """Return the bytes of a WebHDFS call; `extra` has further parameters, starting with "&"."""
    return request(method, f"/webhdfs/v1{path}?op={op}&user.name={user}{extra}")


class HttpClient:
    """A connection to a server ("host:port"), opened on demand and kept until a reply ends it. For a single task.

    Attributes:
        port: the local port; 0 without a connection.
    """

    def __init__(self, address: str, source: str = "", *, receive_buffer_bytes: int = 0) -> None:
        self.address = address
        self.port = 0
        self._source = source  # a local address; "": any
        self._receive_buffer_bytes = receive_buffer_bytes  # the kernel's receive buffer; 0: its default
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._sock: socket.socket | None = None

    async def connect(self) -> asyncio.StreamReader:
        """Connect if there is no connection; return its stream reader.

        Raises:
            OSError: the connection failed.
        """
        if self._reader is None:
            host, _, port = self.address.rpartition(":")
            sock = socket.socket()
            try:
                sock.setblocking(False)
                if self._receive_buffer_bytes:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receive_buffer_bytes)
                if self._source:
                    sock.bind((self._source, 0))
                await asyncio.get_running_loop().sock_connect(sock, (host, int(port)))
            except BaseException:
                sock.close()
                raise
            self._reader, self._writer = await asyncio.open_connection(sock=sock, limit=_LIMIT_BYTES)
            self._sock = sock
            self.port = self._writer.get_extra_info("sockname")[1]
        return self._reader

    def write(self, data: bytes) -> None:
        """Write bytes to the existing connection, without waiting."""
        assert self._writer is not None
        self._writer.write(data)

    async def send(self, data: bytes) -> None:
        """Connect if necessary, write bytes, and wait until the send buffer drains.

        Raises:
            OSError: the connection broke.
        """
        await self.connect()
        self.write(data)
        if self._writer is not None:
            await self._writer.drain()

    async def exchange(self, request: bytes) -> Reply:
        """Send a request and return its reply.

        Raises:
            OSError, EOFError, ValueError: there was no valid reply; the connection is closed.
        """
        try:
            await self.send(request)
            return await self.receive()
        except BaseException:
            self.hang_up()
            raise

    async def receive(self) -> Reply:
        """Return the next final reply.

        Raises:
            OSError, EOFError, ValueError: as `exchange`.
        """
        reader = self._reader  # `hang_up` resets it
        assert reader is not None
        while True:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            except asyncio.LimitOverrunError as error:
                raise ValueError(str(error)) from error
            status = int(head[0].split(" ", 2)[1])
            if status >= 200:
                break
        fields = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
        }
        body = b"" if status in {204, 304} else await _body(reader, fields)
        if fields.get("connection", "").lower() == "close":
            self.hang_up()
        return Reply(status, fields, body)

    def hang_up(self) -> None:
        """Abort the connection, whatever is in flight; the next request opens another."""
        if self._writer is not None:
            self._writer.transport.abort()
        self._reader = self._writer = self._sock = None
        self.port = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()


async def _body(reader: asyncio.StreamReader, fields: Mapping[str, str]) -> bytes:
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
