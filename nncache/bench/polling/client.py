"""A poller's HTTP/1.1 client: one connection, one request at a time, little CPU.

It behaves as ordinary clients do. It keeps its connection, and reopens it for the next request if the server has closed
it. It repeats a GET once on a new connection if the connection broke before the reply was complete (RFC 9110, section
9.2.2).
"""

import asyncio
import os
import resource
import socket
from collections.abc import Callable
from typing import Final, cast

from nncache.bench.polling.replies import PollReply, PollReplyError, parse

SPARE_FILES: Final = 100  # open files that a process needs in addition to its connections


def allow_connections(count: int) -> None:
    """Raise the limit of open files of this process and its children to the hard limit.

    Raises:
        OSError: the hard limit is too low.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = count + SPARE_FILES
    if hard != resource.RLIM_INFINITY and hard < least:
        at = f"at most {hard} files may be open here, on {socket.gethostname()}"
        raise OSError(
            f"{at}, and {least} are needed: raise the hard limit (ulimit -Hn {least}), or run more tasks"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def resolved(server: tuple[str, int]) -> tuple[str, int]:
    """Return the IP address and the port of a server."""
    ((*_, address), *_) = await asyncio.get_running_loop().getaddrinfo(*server, type=socket.SOCK_STREAM)
    return str(address[0]), int(address[1])


def request_of(path: str, host: str, fields: str = "", user: str = "joe") -> bytes:
    """Return a request for the status of a path."""
    target = f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}"
    return f"GET {target} HTTP/1.1\r\nHost: {host}\r\nAccept: */*\r\n{fields}\r\n".encode()


class PollClient:
    """Sends requests in sequence over one connection.

    Invariants:
        C1  `tell` is called once for each `ask`, and never from within `ask`.
        C2  Only callbacks of the connection in `_connection` have an effect; any other connection was dropped.
    """

    __slots__ = ("_address", "_connection", "_is_again", "_opening", "_request", "_tasks", "_tell")

    def __init__(
        self, address: tuple[str, int], tasks: asyncio.TaskGroup, tell: Callable[[PollReply | str], None]
    ) -> None:
        """Prepare a client of the server at this IP address; `tell` takes each reply, or the error instead."""
        self._address = address
        self._tasks = tasks
        self._tell = tell
        self._connection: _Connection | None = None  # open or opening
        self._opening: asyncio.Task[None] | None = None
        self._request = b""  # the request in flight; empty if none
        self._is_again = False  # whether it has been repeated

    def ask(self, request: bytes) -> None:
        """Send a request; the previous one must have ended."""
        assert not self._request, "one at a time"
        self._request = request
        self._is_again = False
        connection = self._connection
        if connection is None:
            self._open()
        else:
            assert connection.transport is not None, "nothing is on its way, so it is open"
            connection.transport.write(request)

    def give_up(self, error: str) -> None:
        """Fail the request in flight, if any, with this error."""
        if self._request:
            self._fail(error)

    def close(self) -> None:
        """Drop the connection and the request in flight; no callback follows."""
        self._request = b""
        self._drop()

    def opened(self, connection: "_Connection") -> None:
        """Send the request for which the connection was opened."""
        if connection is self._connection and connection.transport is not None:
            connection.transport.write(self._request)

    def replied(self, connection: "_Connection", reply: PollReply) -> None:
        """Accept a reply."""
        if connection is not self._connection:
            return
        if not self._request:  # such as a 408 to a connection that was idle for too long
            self._drop()
            return
        if not reply.keeps:
            self._drop()
        self._request = b""
        self._tell(reply)

    def broken(self, connection: "_Connection", error: str) -> None:
        """Fail the request: the server sent an invalid reply."""
        if connection is self._connection:
            self._drop()
            if self._request:
                self._fail(error)

    def lost(self, connection: "_Connection", error: str) -> None:
        """Repeat or fail the request: its connection is closed."""
        if connection is not self._connection:
            return
        self._drop()
        if self._request and not self._is_again:
            self._is_again = True
            self._open()
        elif self._request:
            self._fail(error)

    def _open(self) -> None:
        connection = self._connection = _Connection(self)
        self._opening = self._tasks.create_task(self._connect(connection))

    async def _connect(self, connection: "_Connection") -> None:
        host, port = self._address
        try:
            await asyncio.get_running_loop().create_connection(lambda: connection, host, port)
        except OSError as exc:
            if connection is self._connection:
                self._connection = None
                self._fail(f"can't connect: {os.strerror(exc.errno) if exc.errno else exc}")

    def _fail(self, error: str) -> None:
        self._request = b""
        self._drop()
        self._tell(error)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.transport is not None:
            connection.transport.abort()
        elif self._opening is not None:
            self._opening.cancel()


class _Connection(asyncio.Protocol):
    """One TCP connection of a client."""

    __slots__ = ("_client", "_held", "transport")

    def __init__(self, client: PollClient) -> None:
        self.transport: asyncio.Transport | None = None  # None until it is open
        self._client = client
        self._held = b""  # bytes of an incomplete reply

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report the connection to the client."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's transports have no common base class
        self._client.opened(self)

    def data_received(self, data: bytes) -> None:
        """Accept the reply if it is complete."""
        if self._held:
            data = self._held + data
        self._take(data, is_end=False)

    def eof_received(self) -> None:
        """Accept a reply that the end of the connection completes; the transport then closes itself."""
        if self._held:
            self._take(self._held, is_end=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the loss to the client."""
        self._client.lost(self, "connection closed" if exc is None else f"connection lost: {exc}")

    def _take(self, data: bytes, *, is_end: bool) -> None:
        try:
            reply = parse(data, is_end=is_end)
        except PollReplyError as exc:
            self._client.broken(self, str(exc))
            return
        if reply is None:
            self._held = data
        else:
            self._held = b""
            self._client.replied(self, reply)
