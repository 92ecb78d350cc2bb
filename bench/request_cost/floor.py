"""The least that Python can do: one answer for one head, by a dict, on uvloop. (bench/request_cost/floor.py)

    python -m nncache.bench.request_cost.floor HOST PORT NAMENODE

Asks the NameNode once for each head that it has not seen, and keeps the reply for ever.
"""

import asyncio
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import uvloop

from nncache.bench.servers.running import Running, server


class Floor(asyncio.Protocol):
    """One connection."""

    def __init__(self, known: dict[bytes, bytes], namenode: tuple[str, int]) -> None:
        self._known = known
        self._namenode = namenode
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no instance of it

    def data_received(self, data: bytes) -> None:
        """Answer."""
        assert self._transport is not None
        reply = self._known.get(data)
        if reply is None:  # once for each head, while nothing is measured yet
            reply = self._known[data] = ask(data, self._namenode)
        self._transport.write(reply)


def ask(head: bytes, namenode: tuple[str, int]) -> bytes:
    """Return the NameNode's reply with a length in place of chunks."""
    with socket.create_connection(namenode) as sock, sock.makefile("rb") as reader:
        sock.sendall(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        start, _, body = reader.read().partition(b"\r\n\r\n")
    fields = [
        line for line in start.split(b"\r\n") if not line.lower().startswith((b"connection", b"transfer"))
    ]
    if not any(line.lower().startswith(b"content-length") for line in fields):
        body = body.split(b"\r\n")[1]  # it is one chunk
        fields.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(fields) + b"\r\n\r\n" + body


async def serve(host: str, port: int, namenode: tuple[str, int]) -> None:
    """Serve for ever."""
    known: dict[bytes, bytes] = {}
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: Floor(known, namenode), host, port, backlog=4096)
    await listener.serve_forever()


@contextmanager
def floor(namenode: str) -> Iterator[Running]:
    """Run it before a NameNode ("host:port"), in a process of its own."""

    def command(_place: Path, address: str) -> tuple[str, ...]:
        host, _, port = address.rpartition(":")
        return sys.executable, "-m", "nncache.bench.request_cost.floor", host, port, namenode

    with server("floor", command) as running:
        yield running


if __name__ == "__main__":
    namenode_host, _, namenode_port = sys.argv[3].rpartition(":")
    uvloop.run(serve(sys.argv[1], int(sys.argv[2]), (namenode_host, int(namenode_port))))
