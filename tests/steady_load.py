"""Requests at a steady rate on kept connections, as from many pollers."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, Self

from tests.patience import HANG_S

CONNECTIONS: Final = 50


class SteadyLoad:
    """An open loop: when each request is due is set beforehand, and what is late is made up for.

    A connection that the server has closed while it was idle is made again, and the request sent again, as clients and
    load balancers do (RFC 9112, section 9.3.1). Whatever else goes wrong is a failed request.
    """

    def __init__(self, per_s: float, server: Callable[[], str], targets: Sequence[str]) -> None:
        """Lay it out; `server` says where the next new connection goes, host:port."""
        self._pause_s = CONNECTIONS / per_s  # between two requests of a connection
        self._server = server
        self._targets = targets
        self._stop = asyncio.Event()
        self._tasks = asyncio.TaskGroup()
        self.statuses = Counter[int]()
        self.servers = Counter[str]()  # requests that each has answered
        self.failed = Counter[str]()  # by what went wrong
        self.retried = 0
        self.due = 0  # requests so far

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
    """It was closed before the first byte of a reply."""


class _Connection:
    """One connection, or none yet."""

    def __init__(self) -> None:
        self.server = ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether there is one."""
        return self._streams is not None

    async def ask(self, target: str, server: Callable[[], str]) -> int:
        """Return the status of the reply, which is read to its end; close the connection if it says so."""
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
        """Give it up."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
