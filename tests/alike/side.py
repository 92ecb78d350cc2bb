"""The proxy from its clients' connections to its cache, with or without the quick ways."""

import asyncio
from email.utils import formatdate
from types import TracebackType
from typing import Any, Final, Self, cast

import pytest

from nncache.cache import CacheSettings, MetadataCache
from nncache.hadoop.change import Footprint
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.proxy.clients import response
from nncache.proxy.clients.cached_reply import DateText
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.server import Server
from nncache.proxy.decide.direct_calls import DirectCalls, Fill
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.decide.ports import Clock
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.client import Upstream
from nncache.proxy.upstream.direct_exchange import DirectExchange, ReplyReader
from nncache.proxy.upstream.namenode_protocol import NameNodeProtocol
from nncache.proxy.upstream.pool import Connection, ConnectionPool
from tests.alike.line import Line
from tests.alike.namenode import Asked, ScriptedNameNodes, ScriptedPool
from tests.proxy.doubles import DIRECTORY, FILE, TERM

LIMITS: Final = LimitSettings(
    max_head_bytes=1024, max_header_fields=16, head_timeout_s=10.0, idle_timeout_s=30.0, body_timeout_s=20.0
)
GLOBS: Final = (("/w", "/w/*", "/w/*/*"), ("/w", "/w/*"), ("/w/*", "/w/*/*"))
_CACHE: Final = CacheSettings(
    glob=GLOBS[0],
    max_staleness_s=3.0,
    max_entry_age_s=140.0,
    grant_ttl_s=60.0,
    two_step_window_s=20.0,
    max_two_step_windows=20,
)
_EPOCH_S: Final = 1_795_305_600  # wall clock time at local time 0


class _Dates(DateText):
    """Dates by the local clock, so that both sides send the same."""

    def at(self, now: float) -> bytes:
        """Return the date to send at local time `now`."""
        return formatdate(_EPOCH_S + int(now), usegmt=True).encode()


def _at_the_epoch(*, usegmt: bool) -> str:
    return formatdate(_EPOCH_S, usegmt=usegmt)


class _NoFastPath(FastPath):
    """Knows no head, so that the ordinary path answers everything."""

    def answer(self, head: bytes) -> bytes | None:
        """Return None: the head is unknown."""
        return None


class _Signal:
    """A signal that never comes before its timeout."""

    def request_probe(self) -> None:
        """Do nothing."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait until the timeout."""
        await asyncio.sleep(timeout_s)
        return False


class _Connections(ConnectionPool):
    """The product's connections, without sockets."""

    def __init__(self, namenodes: ScriptedNameNodes, clock: Clock) -> None:
        super().__init__(LIMITS, clock)
        self._namenodes = namenodes

    async def _open(self, namenode: NameNode, lane: Any) -> Connection:
        self._prune(lane, self._clock())
        loop = asyncio.get_running_loop()
        protocol = NameNodeProtocol(loop)
        self._namenodes.connect(namenode, protocol)
        return Connection(namenode, protocol, loop, self._clock)


class _Answered(ReplyReader):
    """Counts direct calls that complete as direct calls."""

    def __init__(self, reader: ReplyReader, upstream: "_Upstream") -> None:
        self._reader = reader
        self._upstream = upstream

    def replied(self, reply: UpstreamReply) -> None:
        self._upstream.plain_answered += 1
        self._upstream.fills_answered += isinstance(self._reader, Fill)
        self._reader.replied(reply)

    def unfinished(self) -> None:
        self._reader.unfinished()


class _Upstream(Upstream):
    """The product's upstream, over connections in memory.

    Attributes:
        plain_begun: direct calls sent.
        plain_answered: direct calls that completed without the ordinary path.
        fills_answered: completed direct calls with a cacheable reply.
    """

    def __init__(self, namenodes: ScriptedNameNodes, clock: Clock) -> None:
        super().__init__(cast("NameNodePool", ScriptedPool(namenodes)), LIMITS, clock)
        self._connections = self._asking._connections = _Connections(namenodes, clock)  # noqa: SLF001 - no sockets here
        self.plain_begun = 0
        self.plain_answered = 0
        self.fills_answered = 0

    def prepare(self, head: RequestHead, holder: str, reader: ReplyReader) -> DirectExchange | None:
        """Prepare an exchange whose reply is counted."""
        return super().prepare(head, holder, _Answered(reader, self))

    def send(self, exchange: DirectExchange) -> bool:
        """Send an exchange and count it."""
        is_sent = super().send(exchange)
        self.plain_begun += is_sent
        return is_sent


class Side:
    """A whole proxy except for sockets and NameNodes, as an async context."""

    def __init__(self, *, is_quick: bool, fixed_time: float | None = None) -> None:
        """Create a proxy with or without the quick ways; its clock follows the event loop, or is fixed."""
        self._is_quick = is_quick
        self._fixed_time = fixed_time
        self._time = asyncio.get_running_loop().time
        self.cache = MetadataCache(_CACHE)
        self.cache.open_stream(TERM)
        self._txid = 100
        statuses = {"/w": DIRECTORY, "/w/f": FILE, "/w/d": DIRECTORY, "/w/d/h": FILE, "/w/é": FILE}
        self.namenode = ScriptedNameNodes(statuses=statuses)
        self.upstream = _Upstream(self.namenode, self.now)
        self.front_end = FrontEnd(
            self.cache, self.upstream, self.namenode, _Signal(), ProxySettings(), self.now, LIMITS
        )
        traffic = self.front_end.traffic
        make = FastPath if is_quick else _NoFastPath
        self.fast_path = make(self.cache.is_good, self.cache.store, self.now, LIMITS, traffic.sampled)
        traffic.hits_of_fast_path = lambda: self.fast_path.hits
        self.front_end.answers._dates = self.fast_path._dates = _Dates()  # noqa: SLF001 - equal dates on both sides
        self.front_end.answers.remember = self.fast_path.remember
        front, upstream = self.front_end, self.upstream
        direct = DirectCalls(front, self.cache, upstream, self.now)
        self.server = Server(front.handle, self.fast_path, LIMITS, direct if is_quick else None, traffic)
        self._wall_clock = pytest.MonkeyPatch()

    async def __aenter__(self) -> Self:
        self._wall_clock.setattr(response, "formatdate", _at_the_epoch)  # errors carry the wall clock's date
        await self.namenode.__aenter__()
        await self.upstream.__aenter__()
        await self.front_end.__aenter__()
        self.cover()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.front_end.__aexit__(kind, exc, trace)
        await self.upstream.__aexit__(kind, exc, trace)
        await self.namenode.__aexit__(kind, exc, trace)
        self._wall_clock.undo()

    def now(self) -> float:
        """Return local time in whole seconds, so that `Age` is constant within one, as on the fast path."""
        return float(int(self._time())) if self._fixed_time is None else self._fixed_time

    def fraction_s(self) -> float:
        """Return the elapsed fraction of the current second."""
        return self._time() % 1.0

    def protocol(self) -> ClientConnection:
        """Return the protocol of another connection."""
        return self.server.connection()

    def connect(self, high_bytes: int) -> Line:
        """Open a connection of a client."""
        line = Line(high_bytes)
        line.connect(self.protocol())
        return line

    def cover(self) -> None:
        """Cover all changes so far."""
        self.cache.cover(self.now(), self._txid)

    def apply(self, change: Footprint) -> None:
        """Apply the change of an event."""
        self._txid += 1
        self.cache.apply(change, self.now(), self._txid)

    def figures(self) -> dict[str, object]:
        """Return the counts of forwarded calls, however they were forwarded."""
        front, upstream = self.front_end.stats(), self.upstream.stats()
        return {
            "forwarded": front.forwarded,
            "calls": upstream.calls,
            "requests": self.front_end.traffic.stats().requests,
        }

    def take_asked(self) -> list[Asked]:
        """Return the calls to the NameNodes since the last call of this method."""
        asked, self.namenode.asked = self.namenode.asked, []
        return list(asked)
