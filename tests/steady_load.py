"""Requests at a steady rate on keep-alive connections, as from many pollers."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Self

from tests.patience import HANG_S

CONNECTIONS: Final = 50


class SteadyLoad:
    """An open-loop load: requests are due at fixed times, and late ones are sent without delay.

    If the server has closed an idle connection, it is reopened and the request sent again, as clients and balancers do
    (RFC 9112, section 9.3.1). Any other error is a failed request.
    """

    def __init__(self, per_s: float, server: Callable[[], str], targets: Sequence[str]) -> None:
        """Prepare the load; `server` returns the host:port for each new connection."""
        self._pause_s = CONNECTIONS / per_s  # between two requests of a connection
        self._server = server
        self._targets = targets
        self._stop = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self.statuses = Counter[int]()
        self.servers = Counter[str]()  # requests answered, by server
        self.failed = Counter[str]()  # by error
        self.retried = 0
        self.due = 0  # number of requests so far

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        began_at = asyncio.get_running_loop().time()
        for number in range(CONNECTIONS):
            self._tasks.create_task(self._poll(began_at + self._pause_s * number / CONNECTIONS, number))
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._stop.set()
        await self._tasks.__aexit__(None, None, None)

    async def _poll(self, due_at: float, number: int) -> None:
        connection, loop = _Connection(), asyncio.get_running_loop()
        while not self._stop.is_set():
            await asyncio.sleep(max(0.0, due_at - loop.time()))
            due_at += self._pause_s
            self.due += 1
            target = self._targets[self.due % len(self._targets)].format(number)
            try:
                async with asyncio.timeout(HANG_S):
                    await self._ask(connection, target)
            except (OSError, EOFError, ValueError) as error:
                connection.close()
                self.failed[f"{type(error).__name__}: {error}"] += 1
        connection.close()

    async def _ask(self, connection: "_Connection", target: str) -> None:
        was_kept = connection.is_kept
        try:
            status = await connection.ask(target, self._server)
        except (ConnectionError, _ClosedError):
            if not was_kept:
                raise
            connection.close()
            self.retried += 1
            status = await connection.ask(target, self._server)
        self.statuses[status] += 1
        self.servers[connection.server] += 1


class _ClosedError(EOFError):
    """The connection was closed before the first byte of a reply."""


class _Connection:
    """A connection, open or not."""

    def __init__(self) -> None:
        self.server = ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the connection is open."""
        return self._streams is not None

    async def ask(self, target: str, server: Callable[[], str]) -> int:
        """Return the status of the reply and discard its body; close the connection if the reply says so."""
        if self._streams is None:
            self.server = server()
            host, _, port = self.server.rpartition(":")
            self._streams = await asyncio.open_connection(host, int(port))
        reader, writer = self._streams
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {self.server}\r\n\r\n".encode())
        await writer.drain()
        line = await reader.readline()
        if not line:
            raise _ClosedError("closed without a reply")
        fields: dict[str, str] = {}
        while (field := await reader.readline()) != b"\r\n":
            name, colon, value = field.decode().partition(":")
            if not colon:
                raise EOFError(f"the head ends with {field!r}")
            fields[name.strip().lower()] = value.strip()
        if fields.get("transfer-encoding") == "chunked":
            while size := int(await reader.readline(), 16):
                await reader.readexactly(size + 2)
            await reader.readexactly(2)
        else:
            await reader.readexactly(int(fields["content-length"]))
        if fields.get("connection", "").lower() == "close":
            self.close()
        return int(line.split()[1])

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
