"""Writes above a real cache, with a NameNode that waits for the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp.test_utils import make_mocked_request

from cache import Fetch, Kind, Known, MetadataCache, Reply, Serve
from hadoop.calls import read_call
from proxy.handling import Bypass, forwarded
from proxy.messages import RequestHead
from proxy.ports import Streamer
from proxy.writes import Writes
from tests.proxy.doubles import TERM, FakeClock, HeldNameNode, caller, make_cache


@dataclass
class Scene:
    """Writes above a real cache that holds a few paths."""

    clock: FakeClock
    cache: MetadataCache
    namenode: HeldNameNode
    tasks: asyncio.TaskGroup
    query_timeout_s: float
    writes: Writes | None = None

    def fill(self, *paths: str, kind: Kind = Kind.MISSING) -> None:
        """Let the cache know these paths."""
        for path in paths:
            decision = self.cache.lookup(path, caller(), self.clock(), may_wait=False)
            assert isinstance(decision, Fetch)
            reply = Reply(404 if kind is Kind.MISSING else 200, (), b"kept")
            known = Known(reply=reply, kind=kind, replied_at=self.clock(), term=TERM)
            self.cache.conclude(decision.ticket, known)
            assert self.is_hit(path)

    def is_hit(self, path: str) -> bool:
        """Whether the path would be served."""
        return isinstance(self.cache.lookup(path, caller(), self.clock(), may_wait=False), Serve)

    def write(self, method: str, target: str, streamer: Streamer) -> asyncio.Task[object]:
        """Let a client write."""
        target = f"/webhdfs/v1{target}"
        self.writes = Writes(
            self.cache, streamer, self.namenode, self.clock, query_timeout_s=self.query_timeout_s
        )
        head, request = RequestHead(method, target, ()), make_mocked_request(method, target)
        call = read_call(method, target)
        return self.tasks.create_task(self.writes.pass_through(request, head, call, forwarded(Bypass.METHOD)))


@asynccontextmanager
async def scene(query_timeout_s: float = 5.0) -> AsyncIterator[Scene]:
    """Make a scene; leaving it waits for its writes."""
    clock = FakeClock()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        yield Scene(clock, make_cache(clock), HeldNameNode(), tasks, query_timeout_s)
