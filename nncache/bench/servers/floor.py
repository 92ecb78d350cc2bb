"""The least that Python can do: one answer for one head, by a dict, on uvloop.

    python -m nncache.bench.servers.floor ADDRESS NAMENODE

Asks the NameNode once for each head that it has not seen, and keeps the reply for ever.
"""

import asyncio
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final, cast

import uvloop

from nncache.bench.polling.clock import endpoint
from nncache.bench.servers.counters import page_of
from nncache.bench.servers.running import Progress, Running, server
from nncache.testbed.asker import Asker

_PROGRESS: Final = "/progress"
_PROGRESS_START: Final = f"GET {_PROGRESS} ".encode()


@dataclass(slots=True)
class State:
    """What all connections share: replies by their heads, and counts."""

    namenode: str
    known: dict[bytes, bytes] = field(default_factory=dict)
    answered: int = 0
    connections: int = 0

    def reply(self, head: bytes) -> bytes:
        """Return the reply to a head that is not known: once for each, while nothing is measured yet."""
        if head.startswith(_PROGRESS_START):
            counts = f"{self.answered} {self.connections}"
            return f"HTTP/1.1 200 OK\r\nContent-Length: {len(counts)}\r\n\r\n{counts}".encode()
        reply = self.known[head] = ask(head, self.namenode)
        return reply


class Floor(asyncio.Protocol):
    """One connection."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no instance of it
        self._state.connections += 1

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - asyncio's port
        """Count one less."""
        self._state.connections -= 1

    def data_received(self, data: bytes) -> None:
        """Answer."""
        assert self._transport is not None
        state = self._state
        state.answered += 1
        self._transport.write(state.known.get(data) or state.reply(data))


def ask(head: bytes, namenode: str) -> bytes:
    """Return the NameNode's reply with a length, in place of chunks or of an end of the connection (Hadoop 3.4.1)."""
    with Asker(namenode) as asker:
        reply = asker.ask("GET", head.split(b" ", 2)[1].decode())
    framing = "connection", "content-length", "transfer-encoding"
    kept = [f"{name}: {value}" for name, value in reply.headers if name.lower() not in framing]
    lines = (
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *kept,
        f"Content-Length: {len(reply.body)}",
    )
    return "\r\n".join((*lines, "", "")).encode("latin-1") + reply.body


async def serve(address: str, namenode: str) -> None:
    """Serve for ever."""
    state = State(namenode)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Floor(state), *endpoint(address), backlog=4096)
    await listener.serve_forever()


def floor(namenode: str) -> AbstractContextManager[Running]:
    """Run it before a NameNode ("host:port"), in a process of its own."""

    def command(_place: Path, address: str) -> tuple[str, ...]:
        return sys.executable, "-m", "nncache.bench.servers.floor", address, namenode

    return server("floor", command, _progress)


def _progress(address: str) -> Progress:
    answered, connections = page_of(address, _PROGRESS).split()
    return Progress(answered=int(answered), connections=int(connections))


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))
