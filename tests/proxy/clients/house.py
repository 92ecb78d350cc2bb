"""A server whose handler remembers every repeatable head for the fast path."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from nncache.cache.replies import StoredReply
from nncache.cache.store import CacheStore
from nncache.clock import boottime
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from tests.proxy.kept_hits import good, kept_hit
from tests.proxy.wire import GET, RawClient, limits_of_tests, read_body, serving

POST = b"POST /x HTTP/1.1\r\nHost: nn\r\nContent-Length: 4\r\n\r\n"
SLOW = b"GET /slow HTTP/1.1\r\nHost: nn\r\n\r\n"


@dataclass
class House:
    """A server whose handler remembers every repeatable head for the fast path."""

    store: CacheStore = field(default_factory=lambda: CacheStore(max_bytes=2**20, max_items=1_000))
    slow_may_end: asyncio.Event = field(default_factory=asyncio.Event)
    handled: list[str] = field(default_factory=list)
    heads: list[bytes | None] = field(default_factory=list)
    _server: Server | None = None
    fast_path: FastPath = field(init=False)

    def __post_init__(self) -> None:
        self.fast_path = FastPath(good, self.store, boottime, LimitSettings())

    @property
    def server(self) -> Server:
        """Return the running server."""
        assert self._server is not None
        return self._server

    async def handle(self, request: Request) -> RawResponse:
        """Answer with the target; remember GETs."""
        self.handled.append(request.target)
        head = request.repeatable
        self.heads.append(head)
        if request.target == "/slow":
            await self.slow_may_end.wait()
        elif head is not None:
            body = b"fast " + request.target.encode()
            hit = kept_hit(self.store, request.target, StoredReply(200, (), body), replied_at=boottime())
            self.fast_path.remember(head, hit, body)
        await read_body(request)
        return RawResponse(200, "OK", (), body=b"slow " + request.target.encode())


@asynccontextmanager
async def house(**limits: float) -> AsyncIterator[House]:
    """Run a server with a `House` as its handler."""
    made = House()
    async with serving(made.handle, limits=limits_of_tests(**limits), fast_path=made.fast_path) as server:
        made._server = server  # noqa: SLF001 - it is made of the house's own handler
        yield made


@asynccontextmanager
async def client_of(made: House) -> AsyncIterator[RawClient]:
    """Connect a client."""
    async with RawClient.connected(made.server.port) as client:
        yield client


@asynccontextmanager
async def knowing(**limits: float) -> AsyncIterator[tuple[House, RawClient]]:
    """Run a server and connect a client that has already sent GET once."""
    async with house(**limits) as made, client_of(made) as client:
        client.send(GET)
        await client.reply()
        yield made, client


async def body(client: RawClient) -> bytes:
    """Receive a reply and return its body."""
    return (await client.reply()).body
