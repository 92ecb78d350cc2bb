"""A front end that listens, with a NameNode made of a dict, and a client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from nncache.cache import Hit, MetadataCache
from nncache.hadoop.calls import PREFIX
from nncache.hadoop.change import Appeared
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Decorate, RequestHead, Settle, UpstreamReply, WriteRight
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.direct_exchange import StartedCall
from tests.proxy.doubles import DENIED, DIRECTORY, FILE, FakeClock, make_cache, reply, settled
from tests.proxy.wire import RawClient, RawReply, ask, serving


class Hold:
    """A read whose reply the NameNode holds until `goes_on` is set."""

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.goes_on = asyncio.Event()


@dataclass
class DictNameNode:
    """Knows a few paths; answers GETFILESTATUS as a NameNode does, and other operations with `{}`."""

    clock: FakeClock
    statuses: dict[str, bytes] = field(default_factory=dict)
    open_files: set[str] = field(default_factory=set)  # being written
    locked_out: set[str] = field(default_factory=set)  # users who may traverse nothing
    fetched: list[RequestHead] = field(default_factory=list)
    streamed: list[RequestHead] = field(default_factory=list)
    error: Exception | None = None
    _hold: Hold | None = None

    async def fetch(self, head: RequestHead, _: StartedCall | None = None) -> UpstreamReply:
        """Answer a read."""
        self.fetched.append(head)
        if self.error is not None:
            raise self.error
        path = unquote(head.target.partition("?")[0].removeprefix(PREFIX))
        body = self.statuses.get(path)
        if _user_of(head) in self.locked_out:
            status, body = 403, DENIED
        elif body is None:
            status, body = 404, render_missing(path)
        else:
            status = 200
        answer = reply(status, body, self.clock())
        if user := _user_of_fields(head):
            answer.headers = ((b"Set-Cookie", b'hadoop.auth="u=%b&p=%b&t=jwt&e=1&s=c2ln"' % (user, user)),)
        return await self._held(answer)

    def hold_next(self) -> Hold:
        """Hold the reply to the next read; the reply shows the state at the time of the read."""
        self._hold = Hold()
        return self._hold

    async def _held(self, answer: UpstreamReply) -> UpstreamReply:
        if (hold := self._hold) is not None:
            self._hold = None
            hold.came.set()
            await hold.goes_on.wait()
        return answer

    async def stream(
        self, request: Request, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> RawResponse:
        """Answer anything else."""
        self.streamed.append(head)
        if self.error is not None:
            raise self.error
        is_refused = head.method == "GET" and _user_of(head) in self.locked_out
        answer = settled(403, DENIED) if is_refused else settled(200)
        await settle(answer)
        return RawResponse(answer.status, "", (*answer.headers, *decorate(answer)), body=answer.body)

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Whether the file is not open for writing."""
        return path not in self.open_files

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Whether the path has a status."""
        return path in self.statuses

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Return False: no path is reported as a directory."""
        return False

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Return UNKNOWN, for every caller."""
        return WriteRight.UNKNOWN

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a fixed txid."""
        return 500


def _user_of_fields(head: RequestHead) -> bytes:
    """Return the user in a field that a NameNode's handler reads (JWTRedirectAuthenticationHandler, a site's own)."""
    named = ((b"cookie", b"hadoop-jwt="), (b"x-remote-user", b""))
    return next(
        (
            value.removeprefix(prefix)
            for name, value in head.headers
            for each, prefix in named
            if name.lower() == each and value.startswith(prefix)
        ),
        b"",
    )


def _user_of(head: RequestHead) -> str:
    """Return the caller: from such a field, or else `acts_for`, the token, or `user.name`."""
    if user := _user_of_fields(head):
        return user.decode()
    if head.acts_for or "delegation=" in head.target:
        return head.acts_for or head.target.partition("delegation=")[2].partition("&")[0]
    return head.target.partition("user.name=")[2].partition("&")[0]


class NoSignal:
    """A signal that never reports coverage."""

    def request_probe(self) -> None:
        """Ignore the request."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Return False, immediately."""
        return False


class Remembered:
    """Records the bodies that the fast path should remember."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def remember(self, head: bytes, hit: Hit, body: bytes, until: float, is_last: bool) -> None:
        """Record the body."""
        self.bodies.append(body)


@dataclass
class Fixture:
    """A front end that listens, and its parts."""

    clock: FakeClock
    cache: MetadataCache
    namenode: DictNameNode
    front_end: FrontEnd
    memory: Remembered
    server: Server
    tasks: asyncio.TaskGroup  # of the clients

    @property
    def port(self) -> int:
        """The port on which it listens."""
        return self.server.port

    async def ask(self, target: str, *fields: str, method: str = "GET", body: str = "") -> RawReply:
        """Send one request."""
        return await ask(self.port, target, *fields, method=method, body=body)

    async def status(self, path: str, *fields: str, user: str = "alice") -> RawReply:
        """Send a GETFILESTATUS request."""
        return await self.ask(f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}", *fields)

    def client(self) -> AbstractAsyncContextManager[RawClient]:
        """Connect a client."""
        return RawClient.connected(self.port)

    def appear(self, path: str, txid: int = 101) -> None:
        """Create a file, and apply its event."""
        self.namenode.statuses[path] = FILE
        self.cache.apply(Appeared(path), self.clock.now, txid)


@asynccontextmanager
async def fixture(
    limits: LimitSettings | None = None, *, proxy: ProxySettings | None = None
) -> AsyncIterator[Fixture]:
    """Start a front end on a port of its own."""
    clock, memory = FakeClock(), Remembered()
    cache = make_cache(clock)
    namenode = DictNameNode(clock, {"/w": DIRECTORY, "/w/f": FILE})
    limits = limits or LimitSettings()
    async with (
        FrontEnd(
            cache,
            namenode,
            namenode,
            NoSignal(),
            proxy or ProxySettings(join_wait_s=0.5, max_wait_s=60),
            clock,
            limits,
        ) as front,
        asyncio.TaskGroup() as tasks,
    ):
        front.answers.remember = memory.remember
        fast_path = FastPath(cache.is_good, cache.store, clock, limits)
        async with serving(front.handle, limits=limits, fast_path=fast_path, traffic=front.traffic) as server:
            try:
                yield Fixture(clock, cache, namenode, front, memory, server, tasks)
            finally:
                front.waits.stop()
