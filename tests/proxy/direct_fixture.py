"""A whole proxy in front of raw NameNodes, with or without direct calls."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from nncache.cache import MetadataCache
from nncache.clock import boottime
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.server import Server
from nncache.proxy.decide.direct_calls import DirectCalls
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.client import Upstream
from nncache.testbed.certificates import Authority
from tests.proxy.doubles import TERM, FakeClock, HeldNameNode, ManualSignal, make_cache
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import Act, FakePool, Heard, RawClient, RawNameNode, RawReply, limits_of_tests, until
from tests.tls import server_context, web_of

LIST = b"GET /webhdfs/v1/d?op=LISTSTATUS&user.name=joe HTTP/1.1\r\nHost: nn\r\nAccept: */*\r\n\r\n"
BODY = b'{"FileStatuses":{"FileStatus":[]}}'
HEAD = (
    b"HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 00:00:00 GMT\r\nX-FRAME-OPTIONS: SAMEORIGIN\r\n"
    b'Set-Cookie: hadoop.auth="u=joe&p=joe&t=simple&e=1795300000000&s=c2ln"; Path=/; HttpOnly\r\n'
    b"Content-Type: application/json\r\n"
)
STATUS = LIST.replace(b"LISTSTATUS", b"GETFILESTATUS")
MISSING = (
    b'{"RemoteException":{"exception":"FileNotFoundException",'
    b'"javaClassName":"java.io.FileNotFoundException","message":"File does not exist: /d"}}'
)
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(MISSING),
    MISSING,
)
LISTED = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


@dataclass
class DirectProxy:
    """The parts of a running proxy."""

    server: Server
    upstream: Upstream
    front_end: FrontEnd
    calls: DirectCalls
    pool: FakePool
    cache: MetadataCache
    queries: HeldNameNode

    async def learn(self, request: bytes = LIST) -> None:
        """Send a request that a task handles, so that the next one finds an open connection to the NameNode."""
        async with self.client() as client:
            client.send(request)
            await client.reply()
        await until(lambda: not self.server.stats().connections_open)

    def client(self) -> AbstractAsyncContextManager[RawClient]:
        """Connect a client."""
        return RawClient.connected(self.server.port)

    async def ask(self, request: bytes = LIST) -> RawReply:
        """Send a request on a connection of its own."""
        async with self.client() as client:
            client.send(request)
            return await client.reply()

    @property
    def is_quiet(self) -> bool:
        """Whether no call has left anything behind."""
        return (
            not self.calls.under_way
            and not self.front_end.call_limits.under_way
            and not self.upstream.stats().connections_in_use
            and not self.cache.store.tickets
            and not len(self.front_end.flights)
            and not self.server.stats().requests_in_progress
        )


@asynccontextmanager
async def direct_fixture(
    *namenodes: RawNameNode,
    limits: LimitSettings | None = None,
    is_direct: bool = True,
    join_wait_s: float = 0.5,
    how: NameNodeWeb = PLAIN,
) -> AsyncIterator[DirectProxy]:
    """Run a proxy; the first NameNode is active, and only paths below /kept may be cached."""
    limits = limits or limits_of_tests()
    pool = FakePool(tuple(each.namenode for each in namenodes))
    pool.make_active(namenodes[0].namenode, TERM)
    clock = FakeClock()
    cache, queries = make_cache(clock, glob=("/kept/*",)), HeldNameNode()
    proxy = ProxySettings(join_wait_s=join_wait_s)
    async with (
        Upstream(pool.pool, limits, boottime, how) as upstream,
        FrontEnd(cache, upstream, queries, ManualSignal(), proxy, clock, limits) as front,
    ):
        front.answers.cookies = upstream.cookies
        calls = DirectCalls(front, cache, upstream, clock)
        server = Server(front.handle, fast_path_alone(boottime), limits, calls if is_direct else None)
        await server.start("127.0.0.1", 0)
        try:
            yield DirectProxy(server, upstream, front, calls, pool, cache, queries)
        finally:
            await server.stop()


@asynccontextmanager
async def direct(
    *acts: Act,
    learns: bytes = LIST,
    limits: LimitSettings | None = None,
    is_direct: bool = True,
    join_wait_s: float = 0.5,
    authority: Authority | None = None,
) -> AsyncIterator[tuple[DirectProxy, RawNameNode]]:
    """Run a proxy in front of one NameNode with these acts; the first act has answered a request by a task.

    With an authority the NameNode uses TLS.
    """
    tls, how = (server_context(authority), web_of(authority)) if authority else (None, PLAIN)
    async with (
        RawNameNode(*acts, tls=tls) as namenode,
        direct_fixture(namenode, limits=limits, is_direct=is_direct, join_wait_s=join_wait_s, how=how) as s,
    ):
        await s.learn(learns)
        assert s.calls.requests == 0
        yield s, namenode


class Held:
    """An act that waits for `goes_on`, and then sends these parts."""

    def __init__(self, *parts: bytes) -> None:
        self.came = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.parts = parts or (LISTED,)

    async def __call__(self, heard: Heard) -> None:
        """Answer once `goes_on` is set."""
        self.came.set()
        await self.goes_on.wait()
        for part in self.parts:
            await heard.say(part)


async def under_way(s: DirectProxy, held: Held, client: RawClient, request: bytes = LIST) -> None:
    """Send a call and wait until the NameNode holds it."""
    client.send(request)
    await held.came.wait()
    assert s.calls.under_way == 1
    assert s.server.stats().requests_in_progress == 1


def connection_of(s: DirectProxy) -> ClientConnection:
    """Return the only open connection."""
    (connection,) = s.server._open  # noqa: SLF001 - nothing outside names it
    return connection
