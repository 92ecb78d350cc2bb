"""Writes over a real cache, with a NameNode that waits for the test."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from nncache.cache import Cacheable, EntryKind, Fetch, MetadataCache, Serve, StoredReply
from nncache.hadoop.calls import parse_call
from nncache.proxy.cache_status import Bypass, forwarded
from nncache.proxy.decide.writes import Writes
from nncache.proxy.messages import RequestHead, WriteRight
from tests.patience import HANG_S
from tests.proxy.doubles import (
    TERM,
    FakeClock,
    HeldNameNode,
    ManualSignal,
    ScriptedStreamer,
    caller,
    let_tasks_run,
    make_cache,
    request_of,
)

METHOD = forwarded(Bypass.METHOD, is_shown=False)
"""The Cache-Status field of these writes."""


@dataclass
class Fixture:
    """Writes over a real cache that holds a few paths."""

    clock: FakeClock
    cache: MetadataCache
    namenode: HeldNameNode
    signal: ManualSignal
    tasks: asyncio.TaskGroup
    query_timeout_s: float
    _writes: Writes | None = None

    def fill(self, *paths: str, kind: EntryKind = EntryKind.MISSING) -> None:
        """Cache these paths."""
        for path in paths:
            decision = self.cache.lookup(path, caller(), self.clock(), may_wait=False)
            assert isinstance(decision, Fetch)
            reply = StoredReply(404 if kind is EntryKind.MISSING else 200, (), b"kept")
            known = Cacheable(reply=reply, kind=kind, replied_at=self.clock(), term=TERM)
            self.cache.conclude(decision.ticket, known)
            assert self.is_hit(path)

    def is_hit(self, path: str) -> bool:
        """Whether the path is answered from memory."""
        return isinstance(self.cache.lookup(path, caller(), self.clock(), may_wait=False), Serve)

    @property
    def writes(self) -> Writes:
        """The `Writes` of the last write."""
        assert self._writes is not None
        return self._writes

    async def redirected(self, writing: asyncio.Task[object]) -> None:
        """Answer the query of the last txid, and wait until the redirect is passed on."""
        await self.namenode.txids.reached(1)
        self.namenode.txids.answer(500)
        await writing

    async def cover(self) -> None:
        """Cover everything up to now; a call must be waiting for that."""
        await let_tasks_run()
        assert self.signal.waiting
        self.cache.cover(self.clock(), 101)
        self.signal.moved()

    def write(self, method: str, target: str, streamer: ScriptedStreamer) -> asyncio.Task[object]:
        """Start a client's write."""
        return self.tasks.create_task(self.writing(method, target, streamer))

    def writing(self, method: str, target: str, streamer: ScriptedStreamer) -> Coroutine[Any, Any, object]:
        """Return the coroutine of a client's write."""
        return self.passing(RequestHead(method, f"/webhdfs/v1{target}", ()), streamer)

    def passing(self, head: RequestHead, streamer: ScriptedStreamer) -> Coroutine[Any, Any, object]:
        """Return the coroutine that forwards a request with this head."""
        self._writes = writes = Writes(
            self.cache,
            streamer.stream,
            self.namenode,
            self.signal,
            self.clock,
            tasks=self.tasks,
            query_timeout_s=self.query_timeout_s,
            two_step_timeout_s=self.query_timeout_s,
        )
        request, call = request_of(head.target, method=head.method), parse_call(head.method, head.target)
        return writes.pass_through(request, head, call, lambda _: (METHOD,))


@asynccontextmanager
async def fixture(query_timeout_s: float = 5.0) -> AsyncIterator[Fixture]:
    """Set up the fixture; its writes are awaited at the end."""
    clock = FakeClock()
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        yield Fixture(
            clock,
            make_cache(clock),
            HeldNameNode(rights={"/w": WriteRight.GRANTED}),
            ManualSignal(),
            tasks,
            query_timeout_s,
        )
