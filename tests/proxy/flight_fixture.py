"""Flights above a real cache, with a NameNode that waits for the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from nncache.cache import Fetch, MetadataCache, Serve
from nncache.proxy.credentials import Credential
from nncache.proxy.flights import Flight, Flights
from tests.patience import HANG_S
from tests.proxy.doubles import FakeClock, HeldNameNode, caller, head_of, make_cache, plain_read

PATH = "/w/f"


@dataclass
class Fixture:
    """Flights above a real cache and a NameNode that waits for the test."""

    clock: FakeClock
    cache: MetadataCache
    namenode: HeldNameNode
    flights: Flights

    def launch(
        self,
        path: str = PATH,
        user: str = "alice",
        *,
        refresh: bool = False,
        credential: Credential | None = None,
    ) -> Flight:
        """Take a ticket and launch its flight."""
        plain = plain_read(path, user)
        decision = self.cache.lookup(plain.path, caller(user), self.clock(), refresh=refresh, may_wait=False)
        assert isinstance(decision, Fetch)
        return self.flights.launch(decision.ticket, plain, head_of(path, user), credential)

    @property
    def concluded(self) -> int:
        """How often `conclude` was called."""
        return self.cache.store.counters.conclusions.total()

    def is_hit(self, path: str = PATH) -> bool:
        """Whether the path would be served; leaves a ticket behind if not."""
        return isinstance(self.cache.lookup(path, caller(), self.clock(), may_wait=False), Serve)

    @property
    def tickets(self) -> int:
        """Questions that the cache still takes for being under way."""
        return self.cache.explain(PATH, self.clock()).questions_under_way


@asynccontextmanager
async def fixture(query_timeout_s: float = 5.0) -> AsyncIterator[Fixture]:
    """Make a scene; leaving it waits for its flights."""
    clock = FakeClock()
    cache = make_cache(clock)
    namenode = HeldNameNode()
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        flights = Flights(tasks, cache, namenode, namenode, clock, query_timeout_s=query_timeout_s)
        yield Fixture(clock, cache, namenode, flights)
