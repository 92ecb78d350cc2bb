"""A server that implements just enough of ZooKeeper's protocol to grant, refuse and end sessions as a test demands.

After org.apache.zookeeper.proto (3.8): ConnectRequest, ConnectResponse, RequestHeader, ReplyHeader.
"""

import asyncio
import enum
import struct
from dataclasses import dataclass
from typing import Self

_CLOSE = -11
_PING = 11
_PING_XID = -2


class Mood(enum.Enum):
    """The server's behaviour towards clients that connect."""

    GRANT = "grants sessions, and takes up those that it knows"
    HANG_UP = "reads the request, and ends the connection: as one whose data was wiped"
    SILENT = "never answers"
    NONSENSE = "grants sessions, and answers each call with another call's number"


@dataclass(frozen=True, slots=True)
class Greeting:
    """The fields of a client's ConnectRequest."""

    last_zxid: int
    session_id: int


class ScriptedZooKeeper:
    """A server that listens while its block runs."""

    def __init__(self) -> None:
        self.mood = Mood.GRANT
        self.address = ""
        self.greetings: list[Greeting] = []
        self.sessions: set[int] = set()  # that it knows
        self.closed: list[int] = []  # sessions that their owners have closed
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._last_session = 0xA0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Close all connections."""
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._talk(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, zxid, timeout_ms, wanted = struct.unpack_from("!iqiq", await _frame(reader))
        self.greetings.append(Greeting(zxid, wanted))
        if self.mood is Mood.HANG_UP:
            return
        if self.mood is Mood.SILENT:
            await reader.read()
            return
        is_known = not wanted or wanted in self.sessions
        if not wanted:
            self._last_session += 1
            self.sessions.add(self._last_session)
        session = (wanted or self._last_session) if is_known else 0
        granted_ms = timeout_ms if is_known else 0  # 0: the session has expired
        _reply(writer, struct.pack("!iiqi16sB", 0, granted_ms, session, 16, b"p" * 16, 0))
        while is_known:
            xid, kind = struct.unpack_from("!ii", await _frame(reader))
            if kind == _PING:
                _reply(writer, struct.pack("!iqi", _PING_XID, 1, 0))
            elif self.mood is Mood.NONSENSE:
                _reply(writer, struct.pack("!iqi", xid + 1, 1, 0))
            elif kind == _CLOSE:
                self.sessions.discard(session)
                self.closed.append(session)
                _reply(writer, struct.pack("!iqi", xid, 1, 0))
            else:
                _reply(writer, struct.pack("!iqi", xid, 7, -101))  # NoNode; the zxid is 7


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    return await reader.readexactly(length)


def _reply(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(struct.pack("!i", len(body)) + body)
