"""Reads, flights and cache as in the product; a race controls everything else."""

import asyncio
import random
from dataclasses import dataclass, field
from typing import Any, Final

from nncache.cache import CacheSettings, Caller, Fetch, MetadataCache
from nncache.cache.decisions import Failed
from nncache.hadoop.calls import StatusRequest
from nncache.hadoop.change import Appeared, Change, EverythingUnknown, Opened
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.decide.flights import Flights
from nncache.proxy.decide.reads import ReadAnswer, StatusRead, StatusReads
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.upstream.direct_exchange import StartedCall
from tests.races.figures import Figures
from tests.races.fills_truth import Truth

_NODE: Final = NameNode("nn1:9870", "nn1:8020")


@dataclass
class Held:
    """Calls that wait until the race releases them."""

    calls: list[tuple[asyncio.Future[Any], tuple[Any, ...]]] = field(default_factory=list)

    async def __call__(self, *arguments: Any) -> Any:
        """Wait for the release."""
        future = asyncio.get_running_loop().create_future()
        self.calls.append((future, arguments))
        return await future

    def waiting(self) -> list[tuple[asyncio.Future[Any], tuple[Any, ...]]]:
        """Remove and return the waiting calls."""
        calls, self.calls = self.calls, []
        return [call for call in calls if not call[0].done()]


class Simulation:
    """Reads, flights and cache; the race controls the NameNode's replies."""

    def __init__(self, chance: random.Random, figures: Figures, name: str) -> None:
        self.chance = chance
        self.figures = figures
        self.name = name
        self.now, self.txid, self.term = 100.0, 0, 1
        self.truth = Truth()
        self.unknown: list[Change] = []  # made, but not known to the cache yet
        self.cache = MetadataCache(
            CacheSettings(
                glob=("/*/*", "/*/*/*", "/*/*/*/*"),
                grants=chance.choice(("per_directory", "per_path")),
                two_step_window_s=20.0,
                max_cache_entries=chance.choice((4, 1000)),
            )
        )
        self.fetching, self.asking_closed, self.covering = Held(), Held(), Held()
        self.tasks = asyncio.TaskGroup()
        queries: Any = self  # its only query is `isFileClosed`
        self.flights = Flights(self.tasks, self.cache, self.fetch, queries, self.clock, query_timeout_s=1e6)
        self.reads = StatusReads(self.cache, self.flights, self, self.clock, join_wait_s=1e6)
        self.clients: list[tuple[asyncio.Task[ReadAnswer], str, str]] = []
        self.windows: list[str] = []
        self.races = 0
        self.cache.open_stream(self.term)
        self.cover()

    # -- calls of the product to its surroundings

    def clock(self) -> float:
        """Return the time."""
        return self.now

    async def fetch(self, head: RequestHead, _: StartedCall | None = None) -> UpstreamReply:
        """Ask the NameNode."""
        reply: UpstreamReply = await self.fetching(head, self.term)
        return reply

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:
        """Ask the NameNode whether a file is closed."""
        return bool(await self.asking_closed(path))

    def request_probe(self) -> None:
        """Do nothing: the race decides when coverage arrives."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait for coverage."""
        return bool(await self.covering())

    # -- happenings

    def tell(self, made: Change, *, is_event: bool) -> None:
        """Apply a change to the cache."""
        self.txid += 1
        self.cache.apply(made, self.now, self.txid if is_event else None)

    def tell_all(self) -> None:
        """Apply all unknown changes to the cache."""
        unknown, self.unknown = self.unknown, []
        for made in unknown:
            self.tell(made, is_event=True)

    def cover(self) -> None:
        """Apply all unknown changes and cover."""
        self.tell_all()
        self.cache.cover(self.now, self.txid)

    def lose_stream(self, *, is_other: bool = False) -> None:
        """Lose the stream to a gap; with `is_other` another NameNode becomes active, with another state."""
        self.unknown.clear()
        self.cache.close_stream("race")
        if is_other:
            self.term += 1
            self.truth.change(EverythingUnknown("race"))
        self.cache.open_stream(self.term)
        self.cache.cover(self.now, self.txid)

    def change_filters(self) -> None:
        """Replace the filters by others with the same globs; changes made in between were not reported."""
        globs = ("/*/*", "/*/*/*", "/*/*/*/*")
        self.truth.change(EverythingUnknown("race"))
        self.txid += 1
        self.cache.set_filters({f"{glob} {self.txid}": glob for glob in globs})

    def wait(self, seconds: float) -> None:
        """Advance the clock without coverage."""
        self.now += seconds

    def begin_window(self, path: str) -> None:
        """Redirect a CREATE; the second step runs immediately, and its event is not there yet."""
        self.cache.open_window(path, self.txid, self.now)
        self.windows.append(path)
        self.truth.change(Appeared(path))
        self.truth.change(Opened(path))

    def ask(self, path: str, user: str, *, refresh: bool = False) -> None:
        """Start a client's read."""
        target = f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}"
        plain = StatusRequest(path=path, as_requested=path, user_name=user, doas=None, delegation=None)
        head = RequestHead("GET", target, ((b"X-Path", path.encode()), (b"X-User", user.encode())))
        read = StatusRead(plain=plain, caller=Caller(f"user={user}"), head=head, refresh=refresh)
        self.clients.append((self.tasks.create_task(self.reads.answer(read)), path, user))

    def leave(self) -> None:
        """Cancel the first client."""
        self.clients[0][0].cancel()

    def fail(self, error: Exception) -> None:
        """Fail all waiting calls to the NameNode."""
        for held in (self.fetching, self.asking_closed):
            for future, _ in held.waiting():
                future.set_exception(error)

    def evict(self) -> None:
        """Fill the memory with other paths."""
        for number in range(5):
            decision = self.cache.lookup(f"/o/{number}", Caller("user=carol"), self.now, may_wait=False)
            if isinstance(decision, Fetch):
                self.cache.conclude(decision.ticket, Failed())
        self.cache.reclaim(3)
