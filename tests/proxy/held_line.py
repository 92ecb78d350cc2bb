"""A client's connection that holds a request, as it is on the wire."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nncache.hadoop.change import Appeared
from tests.patience import HANG_S
from tests.proxy.doubles import FILE
from tests.proxy.front_fixture import Fixture

WAITS = "Prefer: wait=60"


@dataclass
class Line:
    """One connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, path: str, *fields: str, version: str = "1.1") -> None:
        """Ask for a status."""
        line = f"GET /webhdfs/v1{path}?op=GETFILESTATUS&user.name=alice HTTP/{version}"
        self.writer.write("\r\n".join((line, "Host: nn", *fields, "", "")).encode())

    async def reply(self) -> tuple[int, dict[str, str], bytes]:
        """Return the next reply: its status, its fields and its body."""
        async with asyncio.timeout(HANG_S):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().removesuffix("\r\n\r\n")
            line, *fields = head.split("\r\n")
            reported = dict(field.split(": ", 1) for field in fields)
            body = await self.reader.readexactly(int(reported.get("Content-Length", 0)))
        return int(line.split(" ")[1]), reported, body

    async def ends(self) -> bool:
        """Whether nothing more comes."""
        async with asyncio.timeout(HANG_S):
            return await self.reader.read() == b""


@asynccontextmanager
async def line(s: Fixture) -> AsyncIterator[Line]:
    """Connect."""
    reader, writer = await asyncio.open_connection("127.0.0.1", s.port)
    try:
        yield Line(reader, writer)
    finally:
        writer.close()


def appears(s: Fixture, path: str) -> None:
    """Let there be a file."""
    s.namenode.statuses[path] = FILE
    s.cache.apply(Appeared(path), s.clock.now, 101)


def resets(client: Line) -> None:
    """Leave with a reset: what ends in order may still read."""
    end = client.writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()
