"""Raw HTTP on real sockets: a client that sends bytes, and a NameNode that records and answers bytes."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, cast

from nncache.clock import boottime
from nncache.hadoop.election_view import Active, NameNode
from nncache.hadoop.errors import NoActiveNameNodeError
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Handler, Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.headers import request_headers
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Headers, RequestHead, SettledReply
from nncache.proxy.traffic import Traffic
from nncache.proxy.upstream.client import Upstream
from nncache.testbed.certificates import Authority
from tests.proxy.kept_hits import fast_path_alone
from tests.tls import server_context, web_of

HEAD_END = b"\r\n\r\n"
DEADLINE_S = 40.0  # for anything that a test waits for
GET = b"GET /webhdfs/v1/f?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n\r\n"
CREATE = b"PUT /webhdfs/v1/f?op=CREATE HTTP/1.1\r\nHost: nn\r\n"  # more fields follow
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REDIRECT = (
    b"HTTP/1.1 307 Temporary Redirect\r\nDate: Sun, 22 Nov 2026 00:00:00 GMT\r\n"
    b"Location: http://dn:9864/webhdfs/v1/f?op=CREATE&overwrite=false\r\n"
    b"Content-Type: application/octet-stream\r\nContent-Length: 0\r\n\r\n"
)
STANDBY = (
    b'{"RemoteException":{"exception":"StandbyException","javaClassName":"org.apache.hadoop.ipc.StandbyException",'
    b'"message":"Operation category READ is not supported in state standby"}}'
)
STANDBY_REPLY = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(STANDBY), STANDBY)
)


@dataclass(frozen=True)
class RawReply:
    """A reply as it arrived."""

    line: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def status(self) -> int:
        """The status code."""
        return int(self.line.split()[1])

    def all(self, name: bytes) -> list[bytes]:
        """Return the values of every field with that name."""
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def __getitem__(self, name: str) -> str:
        """Return the value of the only field with that name."""
        (value,) = self.all(name.encode())
        return value.decode()

    def __contains__(self, name: str) -> bool:
        """Whether the reply has such a field."""
        return bool(self.all(name.encode()))

    @property
    def made(self) -> str:
        """The value of Cache-Status."""
        return self["Cache-Status"]

    @property
    def fields_but_the_time(self) -> list[tuple[bytes, bytes | bool]]:
        """The fields without `Age` and `Date`. `Expires` becomes whether it equals `Date`, as in each hit."""
        dates = self.all(b"Date")
        return [
            (name, value in dates if name == b"Expires" else value)
            for name, value in self.fields
            if name not in {b"Age", b"Date"}
        ]


class RawClient:
    """A connection on which a test sends arbitrary bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    @asynccontextmanager
    async def connected(
        cls, port: int, local: str = "127.0.0.1", *, receive_buffer: int = 0
    ) -> AsyncIterator[Self]:
        """Connect from the address `local`, with a receive buffer of this many bytes (0: the system's default)."""
        sock = socket.socket()
        sock.setblocking(False)
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.bind((local, 0))
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=2**22)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)

    def pause(self) -> None:
        """Stop reading: further bytes stay in the hosts' buffers."""
        transport: Any = self.writer.transport  # uvloop's is no asyncio.ReadTransport
        transport.pause_reading()

    async def interim(self) -> bytes:
        """Receive the head of an interim reply."""
        async with asyncio.timeout(DEADLINE_S):
            return await self.reader.readuntil(HEAD_END)

    async def reply(self, method: str = "GET") -> RawReply:
        """Receive one reply."""
        async with asyncio.timeout(DEADLINE_S):
            head = await self.reader.readuntil(HEAD_END)
            line, *rest = head.removesuffix(HEAD_END).split(b"\r\n")
            fields = tuple((name, value) for name, _, value in (field.partition(b": ") for field in rest))
            bare = RawReply(line, fields, b"")
            return RawReply(line, fields, await self._body_of(bare, method))

    async def _body_of(self, reply: RawReply, method: str) -> bytes:
        if method == "HEAD" or reply.status in {204, 304}:
            return b""
        if reply.all(b"Transfer-Encoding"):
            return await self._chunks()
        lengths = reply.all(b"Content-Length")
        return await (self.reader.readexactly(int(lengths[0])) if lengths else self.reader.read())

    async def _chunks(self) -> bytes:
        parts = []
        while size := int(await self.reader.readline(), 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)
        return b"".join(parts)

    async def rest(self) -> bytes:
        """Receive until the peer closes."""
        async with asyncio.timeout(DEADLINE_S):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


@dataclass
class Heard:
    """A call as it reached the NameNode, and the means to answer it."""

    head: bytes
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    connection: int  # the first is 1

    async def say(self, data: bytes) -> None:
        """Send raw bytes."""
        self.writer.write(data)
        await self.writer.drain()

    def cut(self) -> None:
        """Abort the connection."""
        self.writer.transport.abort()


async def ask(port: int, target: str, *fields: str, method: str = "GET", body: str = "") -> RawReply:
    """Send one request on a connection of its own and read its reply."""
    head = "\r\n".join((f"{method} {target} HTTP/1.1", "Host: nn", *fields))
    async with RawClient.connected(port) as client:
        client.send(f"{head}\r\n\r\n{body}".encode())
        return await client.reply(method)


Act = Callable[[Heard], Awaitable[None]]
"""The NameNode's reaction to a call."""


def says(*parts: bytes) -> Act:
    """Return an act that answers with these bytes."""

    async def act(heard: Heard) -> None:
        for part in parts:
            await heard.say(part)

    return act


async def cuts(heard: Heard) -> None:
    """Abort the connection without a reply."""
    heard.cut()


async def is_silent(heard: Heard) -> None:
    """Send nothing until the peer leaves."""
    await heard.reader.read()


class RawNameNode:
    """Answers its n-th call with its n-th act; the last act is repeated."""

    def __init__(self, *acts: Act, tls: ssl.SSLContext | None = None) -> None:
        """Set the acts; with a TLS context, serve over TLS."""
        self._tls = tls
        self.acts = acts or (says(OK),)
        self.heard: list[Heard] = []
        self.connections = 0
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20, ssl=self._tls)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self._server.wait_closed()

    @property
    def namenode(self) -> NameNode:
        """Its address."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return NameNode(f"127.0.0.1:{port}", "127.0.0.1:1")

    @property
    def heads(self) -> list[bytes]:
        """The heads of all calls so far."""
        return [heard.head for heard in self.heard]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._writers.append(writer)
        try:
            while not writer.transport.is_closing():
                head = await reader.readuntil(HEAD_END)
                act = self.acts[min(len(self.heard), len(self.acts) - 1)]
                heard = Heard(head, reader, writer, number)
                self.heard.append(heard)
                await act(heard)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@dataclass
class FakePool:
    """A pool whose active NameNode the test sets."""

    namenodes: tuple[NameNode, ...]
    active: Active | None = None
    suspected: list[NameNode] = field(default_factory=list)
    on_suspect: Callable[[NameNode], None] = lambda _: None

    @property
    def pool(self) -> NameNodePool:
        """Itself, typed as a real pool."""
        return cast("NameNodePool", self)

    def make_active(self, namenode: NameNode, term: int = 1) -> None:
        """Set the active NameNode."""
        self.active = Active(namenode=namenode, started_ms=1, transition_ms=1, term=term)

    def order(self) -> tuple[NameNode, ...]:
        """Return the active one first."""
        active = None if self.active is None else self.active.namenode
        return tuple(sorted(self.namenodes, key=lambda namenode: namenode != active))

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Record the suspicion."""
        self.suspected.append(namenode)
        self.on_suspect(namenode)

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active NameNode; wait for it up to `timeout_s`."""
        if self.active is None:
            await asyncio.sleep(timeout_s)
        if self.active is None:
            raise NoActiveNameNodeError("none is active")
        return self.active


def pool_of(*namenodes: RawNameNode) -> FakePool:
    """Return a pool in which the first one is active."""
    pool = FakePool(tuple(each.namenode for each in namenodes))
    pool.make_active(pool.namenodes[0])
    return pool


@dataclass
class Proxy:
    """A server that forwards everything, and records the settled replies."""

    upstream: Upstream
    pool: FakePool
    limits: LimitSettings
    settled: list[SettledReply | None] = field(default_factory=list)
    extra: Headers = ()
    before_settled: Callable[[], Awaitable[object]] | None = None
    port: int = 0

    async def handle(self, request: Request) -> RawResponse:
        """Forward one request."""
        fields = request_headers(request.fields, request.peer or "")
        head = RequestHead(request.method, request.target, fields, request.peer or "")
        return await self.upstream.stream(request, head, self._settle, lambda _: self.extra)

    async def _settle(self, reply: SettledReply | None) -> None:
        if self.before_settled is not None:
            await self.before_settled()
        self.settled.append(reply)


def reset(client: RawClient) -> None:
    """Reset the connection: after an orderly close a client could still be reading."""
    end = client.writer.get_extra_info("socket")
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until other tasks make the condition true."""
    async with asyncio.timeout(DEADLINE_S):
        while not condition():  # noqa: ASYNC110 - what is waited for is a fact of the code under test
            await asyncio.sleep(0.005)


def limits_of_tests(**changes: float) -> LimitSettings:
    """Return limits that keep the waits of tests short."""
    values: dict[str, Any] = {"failover_wait_s": 2.0, "drain_timeout_s": 5.0, **changes}
    return LimitSettings(**values)


@asynccontextmanager
async def proxy_to(
    *namenodes: NameNode, limits: LimitSettings | None = None, how: NameNodeWeb = PLAIN
) -> AsyncIterator[Proxy]:
    """Run a proxy in front of these NameNodes; the first one is active."""
    limits = limits or limits_of_tests()
    pool = FakePool(namenodes)
    pool.make_active(namenodes[0])
    async with Upstream(pool.pool, limits, boottime, how) as upstream:
        proxy = Proxy(upstream, pool, limits)
        async with serving(proxy.handle, limits=limits) as server:
            proxy.port = server.port
            yield proxy


@asynccontextmanager
async def forwarding(
    *acts: Act,
    limits: LimitSettings | None = None,
    authority: Authority | None = None,
    local: str = "127.0.0.1",
    receive_buffer: int = 0,
) -> AsyncIterator[tuple[RawClient, Proxy, RawNameNode]]:
    """Run a NameNode with these acts, over TLS with an authority, and a proxy in front of it; connect a client."""
    tls, how = (server_context(authority), web_of(authority)) if authority else (None, PLAIN)
    async with (
        RawNameNode(*acts, tls=tls) as namenode,
        proxy_to(namenode.namenode, limits=limits, how=how) as proxy,
        RawClient.connected(proxy.port, local, receive_buffer=receive_buffer) as client,
    ):
        yield client, proxy, namenode


async def read_body(request: Request) -> bytes:
    """Return a request's whole body."""
    parts = list[bytes]()
    while request.body is not None and (part := await request.body.read_part()):
        parts.append(part)
    return b"".join(parts)


@asynccontextmanager
async def serving(
    handler: Handler,
    *,
    limits: LimitSettings | None = None,
    fast_path: FastPath | None = None,
    traffic: Traffic | None = None,
) -> AsyncIterator[Server]:
    """Run a server with that handler."""
    limits = limits or limits_of_tests()
    fast_path = fast_path or fast_path_alone(boottime)
    server = Server(handler, fast_path, limits, traffic=traffic)
    await server.start("127.0.0.1", 0)
    try:
        yield server
    finally:
        await server.stop()
