"""Fakes around the deciders: each call waits until the test answers it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar, cast

from nncache.cache import CacheSettings, Caller, MetadataCache
from nncache.hadoop.calls import StatusRequest, parse_plain
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.user import RpcUser
from nncache.net.http1.head import Head
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.reads import StatusRead
from nncache.proxy.errors import ProxyError
from nncache.proxy.identity import caller_of
from nncache.proxy.messages import (
    Decorate,
    Headers,
    RequestHead,
    Settle,
    SettledReply,
    UpstreamReply,
    WriteRight,
)
from nncache.proxy.upstream.direct_exchange import StartedCall
from tests.patience import HANG_S

T = TypeVar("T")

NAMENODE = NameNode("nn1:9870", "nn1:8020")
OTHER_NAMENODE = NameNode("nn2:9870", "nn2:8020")
TERM = 7

_STATUS: dict[str, Any] = {
    "accessTime": 1,
    "blockSize": 1,
    "childrenNum": 0,
    "fileId": 16386,
    "group": "users",
    "length": 3,
    "modificationTime": 1,
    "owner": "alice",
    "pathSuffix": "",
    "permission": "644",
    "replication": 1,
    "storagePolicy": 0,
    "type": "FILE",
}
FILE = json.dumps({"FileStatus": _STATUS}, separators=(",", ":")).encode()
DIRECTORY = FILE.replace(b'"FILE"', b'"DIRECTORY"')
SYMLINK = FILE.replace(b'"FILE"', b'"SYMLINK"')
DENIED = (
    b'{"RemoteException":{"exception":"AccessControlException","javaClassName":'
    b'"org.apache.hadoop.security.AccessControlException","message":"Permission denied"}}'
)
STANDBY = (
    b'{"RemoteException":{"exception":"StandbyException","javaClassName":'
    b'"org.apache.hadoop.ipc.StandbyException","message":"not in state standby"}}'
)
HEADERS: Headers = (
    (b"Date", b"Sun, 22 Nov 2026 00:00:00 GMT"),
    (b"Cache-Control", b"no-cache"),
    (b"Expires", b"Sun, 22 Nov 2026 00:00:00 GMT"),
    (b"Date", b"Sun, 22 Nov 2026 00:00:00 GMT"),
    (b"Pragma", b"no-cache"),
    (b"Set-Cookie", b'hadoop.auth="u=alice&p=alice&t=simple&e=1795300000000&s=c2ln"'),
    (b"Content-Type", b"application/json"),
)


@dataclass
class FakeClock:
    """A clock that advances only when the test sets it."""

    now: float = 100.0

    def __call__(self) -> float:
        """Return the current time of the test."""
        return self.now


def fails(*_: object, **__: object) -> NoReturn:
    """Raise an exception, as an internal error would."""
    raise RuntimeError("a bug")


async def let_tasks_run(count: int = 20) -> None:
    """Run every task that is ready, for `count` loop iterations."""
    for _ in range(count):
        await asyncio.sleep(0)


def make_cache(clock: FakeClock, **settings: Any) -> MetadataCache:
    """Return a cache of three levels with an open stream, covered as of now."""
    cache = MetadataCache(CacheSettings(**{"glob": ("/*", "/*/*", "/*/*/*")} | settings))
    cache.open_stream(TERM)
    cache.cover(clock.now, 100)
    return cache


class StubConnection:
    """The part of a connection that handlers of requests use."""

    def __init__(self, peer: str = "127.0.0.1", *, is_over_tls: bool = False) -> None:
        self.peer = peer
        self.is_over_tls = is_over_tls
        self.transport = object()
        self.on_lost: Callable[[], None] | None = None

    def hold(self, *_: object) -> bool:
        """Refuse to hold a request."""
        return False


def request_of(target: str, *fields: tuple[bytes, bytes], method: str = "GET", **connection: Any) -> Request:
    """Return a request without a body."""
    names = frozenset(name.lower() for name, _ in fields)
    head = Head(method, target, 1, fields, keep_alive=True, length=0, names=names)
    return Request(head, None, cast("ClientConnection", StubConnection(**connection)))


def plain_read(path: str, user: str = "alice") -> StatusRequest:
    """Return the plain read of a path."""
    plain = parse_plain(f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}")
    assert plain is not None
    return plain


def head_of(path: str, user: str = "alice") -> RequestHead:
    """Return the head of `plain_read`."""
    return RequestHead("GET", f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}", ())


def read_of(path: str, user: str = "alice", *, refresh: bool = False) -> StatusRead:
    """Return a read as the front end makes it."""
    plain = plain_read(path, user)
    return StatusRead(
        plain=plain, caller=caller_of(plain, None, "127.0.0.1"), head=head_of(path, user), refresh=refresh
    )


def caller(user: str = "alice") -> Caller:
    """Return the caller of `read_of`."""
    return caller_of(plain_read("/x", user), None, "127.0.0.1")


def reply(
    status: int, body: bytes, at: float, *, term: int = TERM, namenode: NameNode = NAMENODE
) -> UpstreamReply:
    """Return a reply to a question that was asked and answered at `at`."""
    return UpstreamReply(
        status=status,
        reason="whatever",
        headers=HEADERS,
        body=body,
        namenode=namenode,
        term=term,
        replied_at=at,
    )


def missing(path: str, at: float) -> UpstreamReply:
    """Return a true 404."""
    return reply(404, render_missing(path), at)


class Held:
    """Calls that wait for the test's answer, in order of arrival."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []  # arguments of every call
        self._waiting: list[asyncio.Future[Any]] = []
        self._came = asyncio.Event()  # set, and replaced, at each call

    async def __call__(self, *arguments: Any) -> Any:
        """Wait for `answer`, and return or raise it."""
        self.calls.append(arguments)
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        self._came.set()
        self._came = asyncio.Event()
        return await waiting

    async def reached(self, waiting: int) -> None:
        """Wait until this many calls wait."""
        while self.waiting < waiting:
            await self._came.wait()

    def answer(self, result: object) -> None:
        """End the oldest waiting call with this result, or by raising it if it is an exception."""
        waiting = self._waiting.pop(0)
        if waiting.cancelled():
            return
        if isinstance(result, BaseException):
            waiting.set_exception(result)
        else:
            waiting.set_result(result)

    @property
    def waiting(self) -> int:
        """Number of calls that wait."""
        return sum(not future.done() for future in self._waiting)


@dataclass
class HeldNameNode:
    """A Fetcher and NameNodeQueries whose answers the test gives."""

    fetches: Held = field(default_factory=Held)
    closed: Held = field(default_factory=Held)
    existing: Held = field(default_factory=Held)
    directories: set[str] = field(default_factory=set)  # answered immediately
    directory_questions: list[str] = field(default_factory=list)
    rights: dict[str, WriteRight] = field(default_factory=dict)  # answered immediately
    right_questions: list[tuple[str, RpcUser | None]] = field(default_factory=list)
    txids: Held = field(default_factory=Held)

    async def say(self, answer: object, *, closed: object = True) -> None:
        """Answer the oldest read, and then isFileClosed if it was asked."""
        await let_tasks_run()
        self.fetches.answer(answer)
        await let_tasks_run()
        if self.closed.waiting:
            self.closed.answer(closed)

    async def fetch(self, head: RequestHead, _: StartedCall | None = None) -> UpstreamReply:
        """Wait for the test's answer."""
        answer: UpstreamReply = await self.fetches(head)
        return answer

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Wait for the test's answer."""
        return bool(await self.closed(namenode, path, caller))

    async def exists(self, path: str, caller: RpcUser | None = None) -> bool:
        """Wait for the test's answer."""
        return bool(await self.existing(path))

    async def may_write(self, path: str, caller: RpcUser | None) -> WriteRight:
        """Answer immediately."""
        self.right_questions.append((path, caller))
        return self.rights.get(path, WriteRight.UNKNOWN)

    async def is_directory(self, path: str, caller: RpcUser | None = None) -> bool:
        """Answer immediately."""
        self.directory_questions.append(path)
        return path in self.directories

    async def last_txid(self, namenode: NameNode) -> int:
        """Wait for the test's answer."""
        return int(await self.txids(namenode))


class ManualSignal:
    """A consumer whose coverage and timeouts the test controls."""

    def __init__(self) -> None:
        self.probes = 0
        self._held = Held()

    def request_probe(self) -> None:
        """Count the request."""
        self.probes += 1

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait for `moved`."""
        return bool(await self._held(timeout_s))

    async def reached(self) -> None:
        """Wait until a caller waits for coverage."""
        await self._held.reached(1)

    @property
    def waiting(self) -> int:
        """Number of callers that wait for coverage."""
        return self._held.waiting

    def moved(self, *, covered: bool = True) -> None:
        """Wake all callers that wait: with coverage, or as after their timeout."""
        for _ in range(self._held.waiting):
            self._held.answer(covered)


Script = Callable[[Settle], Awaitable[None]]


class ScriptedStreamer:
    """A `StreamCall` that runs the test's script with `settle`, then replies."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.heads: list[RequestHead] = []
        self.fields: Headers = ()  # added to the last reply

    async def stream(
        self, request: Request, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> RawResponse:
        """Run the script."""
        self.heads.append(head)
        await self.script(settle)
        self.fields = decorate(settled(200))
        return RawResponse(200, "OK", self.fields, body=b"{}")


def settled(status: int, body: bytes | None = b"{}", *, namenode: NameNode = NAMENODE) -> SettledReply:
    """Return a reply as it is known before it is passed on."""
    return SettledReply(
        status=status,
        reason="whatever",
        headers=HEADERS,
        body=body,
        namenode=namenode,
        term=TERM,
        replied_at=100.0,
    )


def script(outcome: SettledReply | ProxyError | None) -> Script:
    """Return a script that settles with a reply or an unknown outcome (None), or raises an error before sending."""

    async def run(settle: Settle) -> None:
        if isinstance(outcome, ProxyError):
            raise outcome
        await settle(outcome)

    return run


async def ended(work: Coroutine[Any, Any, T]) -> T:
    """Await with a deadline, so that a test that hangs fails by itself."""
    async with asyncio.timeout(HANG_S):
        return await work
