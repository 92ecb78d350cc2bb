"""Ask with raw bytes, on a connection that is opened again when it ends."""

import asyncio
from typing import Self

from tests.proxy.wire import RawClient, RawReply

_TRIES = 3


class RawAsker:
    """Sends targets as they stand. Use it as an async context; not for two tasks at once."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._host, self._port = host, int(port)
        self._client: RawClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._close()

    async def ask(self, method: str, target: bytes, fields: tuple[tuple[bytes, bytes], ...] = ()) -> RawReply:
        """Send one request and return the reply; a connection that the server has closed meanwhile is no reply.

        Raises:
            OSError, EOFError: no reply came, on any of several connections.
        """
        lines = b"".join(b"%b: %b\r\n" % field for field in (*fields, (b"Content-Length", b"0")))
        if method == "GET":
            lines = b"".join(b"%b: %b\r\n" % field for field in fields)
        data = b"%b %b HTTP/1.1\r\nHost: nn\r\n%b\r\n" % (method.encode(), target, lines)
        for left in reversed(range(_TRIES)):
            try:
                client = await self._connected()
                client.send(data)
                reply = await client.reply(method)
            except (OSError, EOFError):
                self._close()
                if not left:
                    raise
                continue
            if b"close" in b"".join(reply.all(b"Connection")).lower():
                self._close()
            return reply
        raise AssertionError("unreachable")

    async def _connected(self) -> RawClient:
        if self._client is None:
            reader, writer = await asyncio.open_connection(self._host, self._port, limit=2**22)
            self._client = RawClient(reader, writer)
        return self._client

    def _close(self) -> None:
        if self._client is not None:
            self._client.writer.close()
            self._client = None


def is_own_refusal(reply: RawReply) -> bool:
    """Whether the proxy itself said it, and no NameNode."""
    return reply.status >= 400 and b'"message":"nncache: ' in reply.body


def made(reply: RawReply) -> str:
    """Return how the proxy says that the reply was made."""
    return b", ".join(reply.all(b"Cache-Status")).decode()
