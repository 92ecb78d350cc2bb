"""The least work that Python can do: a dict lookup of a head's reply, on uvloop.

    python -m nncache.bench.servers.floor ADDRESS NAMENODE

Forwards each new head to the NameNode once, and caches the reply without a time limit.
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
from nncache.bench.servers.running import RunningServer, ServerProgress, server
from nncache.testbed.asker import Asker

_PROGRESS: Final = "/progress"
_PROGRESS_START: Final = f"GET {_PROGRESS} ".encode()


@dataclass(slots=True)
class State:
    """The state that all connections share: replies by their heads, and counters."""

    namenode: str
    known: dict[bytes, bytes] = field(default_factory=dict)
    answered: int = 0
    connections: int = 0

    def reply(self, head: bytes) -> bytes:
        """Return the reply to an unknown head. It blocks, but only once for each head, before the measurement."""
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
        """Count the connection."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is not an instance of it
        self._state.connections += 1

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - asyncio's port
        """Uncount the connection."""
        self._state.connections -= 1

    def data_received(self, data: bytes) -> None:
        """Send the reply; each chunk of data is taken as one head."""
        assert self._transport is not None
        state = self._state
        state.answered += 1
        self._transport.write(state.known.get(data) or state.reply(data))


def ask(head: bytes, namenode: str) -> bytes:
    """Return the NameNode's reply with a Content-Length, not in chunks or up to the connection's end (Hadoop 3.4.1)."""
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
    """Serve without end."""
    state = State(namenode)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Floor(state), *endpoint(address), backlog=4096)
    await listener.serve_forever()


def floor(namenode: str) -> AbstractContextManager[RunningServer]:
    """Run the floor in front of a NameNode ("host:port"), in a separate process."""

    def command(_place: Path, address: str) -> tuple[str, ...]:
        return sys.executable, "-m", "nncache.bench.servers.floor", address, namenode

    return server("floor", command, _progress)


def _progress(address: str) -> ServerProgress:
    answered, connections = page_of(address, _PROGRESS).split()
    return ServerProgress(answered=int(answered), connections=int(connections))


if __name__ == "__main__":
    uvloop.run(serve(*sys.argv[1:]))
