"""A server that follows a script for each path, and small orders for polling it, for tests of the pollers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Self, cast

from nncache.bench.polling.clock import boottime
from nncache.bench.polling.task import Orders
from nncache.bench.shared.plan import WorkloadPlan
from nncache.bench.shared.workload import Workload

BODY: Final = b'{"FileStatus":{"accessTime":0,"fileId":16389,"length":0,"type":"FILE"}}'


def reply(
    body: bytes = BODY, status: str = "200 OK", fields: tuple[str, ...] = (), *, is_chunked: bool = False
) -> bytes:
    """Return a whole reply."""
    framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {len(body)}"
    head = "\r\n".join((f"HTTP/1.1 {status}", "Content-Type: application/json", *fields, framing, "", ""))
    if is_chunked:
        half = len(body) // 2
        body = (
            b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:]))
            + b"0\r\n\r\n"
        )
    return head.encode("ascii") + body


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """The server's reaction to one request.

    Attributes:
        data: the bytes to send; empty: none.
        delay_s: the delay before they are sent, in seconds.
        split: the length of the first part; the rest is sent in a packet of its own.
        then: what happens to the connection afterwards: "keep", "close" or "reset".
    """

    data: bytes = field(default_factory=reply)
    delay_s: float = 0.0
    split: int = 0
    then: str = "keep"


class Script:
    """The server's acts for each path, in order; the last one repeats.

    Attributes:
        targets: the targets of all requests, in order.
        heads: their complete heads.
        connections: how many connections were opened.
        most_at_once: the highest number of open connections.
    """

    def __init__(self, acts: dict[str, tuple[Act, ...]] | None = None) -> None:
        self.targets: list[str] = []
        self.heads: list[bytes] = []
        self.heard = asyncio.Event()  # a request has arrived
        self.lost = asyncio.Event()  # a connection has ended
        self.connections = 0
        self.most_at_once = 0
        self.open: set[_Serving] = set()
        self._acts = acts or {}  # by HDFS path
        self._done: dict[str, int] = {}

    def next(self, target: str) -> Act:
        """Return the act for this request."""
        self.targets.append(target)
        self.heard.set()
        path = target.removeprefix("/webhdfs/v1").partition("?")[0]
        acts = self._acts.get(path, (Act(),))
        done = self._done[path] = self._done.get(path, 0) + 1
        return acts[min(done, len(acts)) - 1]


class _Serving(asyncio.Protocol):
    def __init__(self, script: Script) -> None:
        self._script = script
        self._transport: asyncio.Transport
        self._held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's transports have no common base class
        self._script.connections += 1
        self._script.open.add(self)
        self._script.most_at_once = max(self._script.most_at_once, len(self._script.open))

    def connection_lost(self, exc: Exception | None) -> None:
        self._script.open.discard(self)
        self._script.lost.set()

    def data_received(self, data: bytes) -> None:
        self._held += data
        while b"\r\n\r\n" in self._held:
            head, _, self._held = self._held.partition(b"\r\n\r\n")
            self._script.heads.append(head)
            act = self._script.next(head.decode("ascii").split(" ")[1])
            if act.delay_s:
                asyncio.get_running_loop().call_later(act.delay_s, self._carry_out, act)
            else:
                self._carry_out(act)

    def _carry_out(self, act: Act) -> None:
        if act.split:
            self._transport.write(act.data[: act.split])
            asyncio.get_running_loop().call_later(0.005, self._finish, act.data[act.split :], act.then)
        else:
            self._finish(act.data, act.then)

    def _finish(self, data: bytes, then: str) -> None:
        if data:
            self._transport.write(data)
        if then == "close":
            self._transport.close()
        elif then == "reset":
            self._transport.abort()

    def close(self) -> None:
        """Close the connection, as a server does after its idle timeout."""
        self._transport.close()


class RawServer:
    """Serves a script on loopback, in the running event loop.

    Attributes:
        address: "host:port".
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.address = ""
        self._listener: asyncio.Server

    @property
    def endpoint(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.address.partition(":")
        return host, int(port)

    def close_connections(self) -> None:
        """Close all open connections."""
        for serving in list(self.script.open):
            serving.close()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _Serving(self.script), "127.0.0.1", 0, backlog=1024)
        self.address = f"127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        self.close_connections()


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve in a thread of its own; yield the address."""
    addresses: list[str] = []
    is_ready, stop = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with RawServer(script) as server:
            addresses.append(server.address)
            is_ready.set()
            await stop.wait()

    with asyncio.Runner() as runner:
        thread = threading.Thread(target=runner.run, args=(serve(),))
        loop = runner.get_loop()
        thread.start()
        try:
            assert is_ready.wait(10)
            yield addresses[0]
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()


def orders(pollers: int, server: str, clock: str, **changed: float) -> Orders:
    """Return orders for two tasks, with one poll a second of each poller."""
    workload = Workload(name="test", description="", pollers=pollers, period_s=1.0, globs=5, paths=20)
    return Orders(
        plan=WorkloadPlan(workload, 3),
        tasks=2,
        server=server,
        clock=clock,
        zero_s=changed.get("zero_s", boottime() + 1.0),
        warm_up_s=changed.get("warm_up_s", 0.5),
        duration_s=changed.get("duration_s", 1.0),
    )
