"""The memory of a million cached statuses, and the pauses of the event loop while filling and forgetting them.

`make bench-memory`, or `python -m nncache.bench.memory [STATUSES]`. Each part runs in its own process, with the
proxy's own cache, flights, reads and fast path; the NameNode's answers are generated here. Every status is fetched once
and served once from memory, so that the answer to a repeated request is cached as well. Half of the paths are missing,
half are files. A pause is the CPU time of one iteration of the event loop, so that other load does not affect it.
"""

import asyncio
import gc
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Final, cast

import click
import psutil
import uvloop

from nncache.bench.shared.driver import BenchResult, Figure, apart, benchmark, next_of
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.settings import CacheSettings
from nncache.clock import boottime
from nncache.daemons.housekeeping import calm_collector, reclaim_in_slices, tend_collector
from nncache.hadoop.calls import PREFIX, StatusRequest
from nncache.hadoop.change import Vanished
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.clients.cached_reply import body_of
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.decide.flights import Flights
from nncache.proxy.decide.ports import NameNodeQueries
from nncache.proxy.decide.reads import FromMemory, FromNameNode, StatusRead, StatusReads
from nncache.proxy.identity import caller_of
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import Headers, RequestHead, UpstreamReply
from nncache.proxy.upstream.direct_exchange import StartedCall

NAMENODE: Final = NameNode("namenode:9870", "namenode:8020")
FIELDS: Final[Headers] = (
    (b"Date", b"Sat, 21 Nov 2026 00:00:00 GMT"),
    (b"Cache-Control", b"no-cache"),
    (b"Expires", b"Sat, 21 Nov 2026 00:00:00 GMT"),
    (b"Date", b"Sat, 21 Nov 2026 00:00:00 GMT"),
    (b"Pragma", b"no-cache"),
    (b"X-Content-Type-Options", b"nosniff"),
    (b"X-FRAME-OPTIONS", b"SAMEORIGIN"),
    (b"X-XSS-Protection", b"1; mode=block"),
    (b"Content-Type", b"application/json"),
)
STATUSES: Final = 1_000_000
POLLED: Final = 200_000
WORKERS: Final = 16
"""Concurrent requests."""
NAME: Final = "part-{:010}-c000.snappy.parquet"
GLOB: Final = "/user/joe/*/*/*/*"
MAX_RESIDENT: Final = 1_200_000_000
MAX_FACTOR: Final = 1.3
MAX_FILLING_S: Final = 0.150
MAX_FORGETTING_S: Final = 0.010
MIN_QUICK: Final = 0.95
ROUNDS_BEFORE_QUICK: Final = 2
"""The first round fetches, the second is served from memory."""
MAX_LEFT: Final = 0.001
_TIMEOUT_S: Final = 3_600.0
STATUS: Final = (
    b'{"FileStatus":{"accessTime":1795300000000,"blockSize":134217728,"childrenNum":0,"fileId":%d,"group":"analysts",'
    b'"length":104857600,"modificationTime":1795300000000,"owner":"joe","pathSuffix":"","permission":"644",'
    b'"replication":3,"storagePolicy":0,"type":"FILE"}}'
)


@dataclass(frozen=True, slots=True)
class DirectoryShape:
    """The distribution of the paths among directories."""

    name: str
    per_directory: int
    is_judged_by_size: bool  # False: only by its pauses and the factor

    def path(self, number: int) -> str:
        """Return a path of 80 characters."""
        start = f"/user/joe/{'w' * 6}/{number // self.per_directory:07}"
        return f"{start}/{'d' * (80 - len(start) - 2 - len(NAME.format(0)))}/{NAME.format(number)}"


SHAPES: Final = (
    DirectoryShape("1,000 in each directory", 1_000, is_judged_by_size=True),
    DirectoryShape("all in one directory", 1_000_000_000, is_judged_by_size=True),
    DirectoryShape("each in a directory of its own", 1, is_judged_by_size=False),
)


class HalfMissing:
    """A NameNode on which every second path is a closed file, and the others are missing."""

    async def fetch(self, head: RequestHead, _: StartedCall | None = None) -> UpstreamReply:
        """Return the status or a 404, in newly allocated objects."""
        path = head.target.removeprefix(PREFIX).partition("?")[0]
        number = int(path.rpartition("-c000")[0].rpartition("-")[2])
        body = STATUS % (2**30 + number) if number % 2 else render_missing(path)
        now = boottime()
        return UpstreamReply(
            status=200 if number % 2 else 404,
            reason="",
            headers=tuple((bytes(bytearray(name)), bytes(bytearray(value))) for name, value in FIELDS),
            body=body,
            namenode=NAMENODE,
            term=1,
            replied_at=now,
        )

    async def is_file_closed(self, namenode: NameNode, path: str, caller: RpcUser | None) -> bool:  # noqa: ARG002 - all are
        """Return True."""
        return True

    def request_probe(self) -> None:
        """Do nothing: `keep_covered` runs periodically."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Wait until the timeout and return False."""
        await asyncio.sleep(timeout_s)
        return False


async def keep_covered(cache: MetadataCache) -> None:
    """Act as a stream of changes that is always covered and has no changes."""
    cache.open_stream(1)
    while True:
        cache.cover(boottime(), 1)
        await asyncio.sleep(0.25)


class LongestIteration:
    """The longest iteration of the event loop, in CPU time of its thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._cpu_s = time.thread_time()
        self.longest_s = 0.0
        self._next = self._loop.call_soon(self._iterate)

    def _iterate(self) -> None:
        cpu_s = time.thread_time()
        self.longest_s = max(self.longest_s, cpu_s - self._cpu_s)
        self._cpu_s = cpu_s
        self._next = self._loop.call_soon(self._iterate)

    def stop(self) -> None:
        """Stop measuring."""
        self._next.cancel()


class Stack:
    """The parts of a proxy that use memory for each status."""

    def __init__(self, cache: MetadataCache, reads: StatusReads) -> None:
        self.cache = cache
        self._reads = reads
        self.fast_path = FastPath(cache.is_good, cache.store, boottime, LimitSettings())

    async def ask(self, path: str) -> bool:
        """Request a path as a client does; return whether the fast path answered."""
        target = f"{PREFIX}{path}?op=GETFILESTATUS&user.name=joe"
        head = (
            f"GET {target} HTTP/1.1\r\nHost: nncache:14000\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n"
        ).encode()
        if self.fast_path.answer(head) is not None:
            return True
        plain = StatusRequest(path=path, as_requested=path, user_name="joe", doas=None, delegation=None)
        read = StatusRead(
            plain=plain, caller=caller_of(plain, None, "127.0.0.1"), head=RequestHead("GET", target, ())
        )
        answer = await self._reads.answer(read)
        if isinstance(answer, FromMemory):
            body = body_of(answer.hit.entry.reply, path)
            self.fast_path.remember(head, answer.hit, body)
        else:
            assert isinstance(answer, FromNameNode), answer
        return False

    async def ask_all(self, paths: Iterator[str], times: int = 1) -> int:
        """Request all paths concurrently, each `times` times in a row; return how many the fast path answered."""

        async def work() -> int:
            quick = 0
            for path in paths:
                for _ in range(times):
                    quick += await self.ask(path)
            return quick

        return sum(await asyncio.gather(*(work() for _ in range(WORKERS))))


@asynccontextmanager
async def stack() -> AsyncIterator[Stack]:
    """Run a stack with its housekeeping; all settings except the glob and the ages have their defaults."""
    answer = HalfMissing()
    cache = MetadataCache(CacheSettings(glob=(GLOB,), grant_ttl_s=36_000.0, max_entry_age_s=36_000.0))
    async with asyncio.TaskGroup() as tasks:
        queries = cast("NameNodeQueries", answer)  # no other method is called
        flights = Flights(tasks, cache, answer.fetch, queries, boottime, query_timeout_s=60.0)
        others = [
            tasks.create_task(work)
            for work in (keep_covered(cache), reclaim_in_slices(cache.reclaim), tend_collector())
        ]
        yield Stack(cache, StatusReads(cache, flights, answer, boottime, join_wait_s=1.0))
        for task in others:
            task.cancel()


@dataclass(frozen=True, slots=True)
class Filled:
    """The result of one shape: bytes after filling, and longest pauses in CPU seconds."""

    entries: int
    counted: int
    resident: int
    filling_s: float
    forgetting_s: float
    forgetting_took_s: float
    left: int


async def fill(shape: DirectoryShape, statuses: int) -> Filled:
    """Fill the cache, then forget the directory above all paths."""
    async with stack() as made:
        calm_collector()
        filling = LongestIteration()
        await made.ask_all((shape.path(number) for number in range(statuses)), times=2)
        filling.stop()
        stats = made.cache.stats(boottime())
        taken = psutil.Process().memory_info().rss
        began = time.perf_counter()
        forgetting = LongestIteration()
        made.cache.apply(Vanished("/user/joe"), boottime(), 2)
        async with asyncio.timeout(600):
            while made.cache.store.has_detached:  # noqa: ASYNC110 - a cache has no events
                await asyncio.sleep(0.01)
        forgetting.stop()
        return Filled(
            entries=stats.entries,
            counted=stats.bytes,
            resident=taken,
            filling_s=filling.longest_s,
            forgetting_s=forgetting.longest_s,
            forgetting_took_s=time.perf_counter() - began,
            left=made.cache.stats(boottime()).bytes,
        )


async def poll(paths: int, rounds: int) -> list[float]:
    """Poll this number of paths in turn; return for each round the share that the fast path answered."""
    shape = SHAPES[0]
    async with stack() as made:
        calm_collector()
        return [
            await made.ask_all(shape.path(number) for number in range(paths)) / paths for _ in range(rounds)
        ]


def run(pipe: Connection, shape: DirectoryShape | None, number: int) -> None:
    """Run one part, in its own process."""
    gc.collect()
    pipe.send(uvloop.run(poll(number, 5) if shape is None else fill(shape, number)))


def judge(shape: DirectoryShape, statuses: int, done: Filled) -> list[Figure]:
    """Judge the result of one shape."""
    most = MAX_RESIDENT * max(1.0, statuses / STATUSES) if shape.is_judged_by_size else math.inf
    factor = max(done.counted / done.resident, done.resident / done.counted)
    figures = (
        Figure("statuses that are held", done.entries, least=statuses if shape.is_judged_by_size else 0),
        Figure("resident", done.resident, "bytes", most=most),
        Figure("counted", done.counted, "bytes"),
        Figure("factor between counted and resident", factor, most=MAX_FACTOR),
        Figure("resident for each status", done.resident / done.entries, "bytes"),
        Figure(
            "longest turn of the loop while they are filled", done.filling_s, "s of CPU", most=MAX_FILLING_S
        ),
        Figure("longest turn while they are forgotten", done.forgetting_s, "s of CPU", most=MAX_FORGETTING_S),
        Figure("forgotten after", done.forgetting_took_s, "s"),
        Figure("left of the bytes counted", done.left / done.counted, most=MAX_LEFT),
    )
    return [replace(each, what=f"{shape.name}: {each.what}") for each in figures]


@benchmark("bench-memory")
@click.argument("statuses", default=STATUSES)
def main(statuses: int) -> BenchResult:
    """Measure the memory of cached statuses, and the loop's pauses while filling and forgetting them."""
    figures = list[Figure]()
    for shape in SHAPES:
        count = statuses if shape.is_judged_by_size else statuses // 4
        with apart(run, shape, count, ready_s=None) as pipe:
            figures += judge(shape, count, next_of(pipe, _TIMEOUT_S))
    with apart(run, None, POLLED, ready_s=None) as pipe:
        quick: list[float] = next_of(pipe, _TIMEOUT_S)
    for number, part in enumerate(quick, 1):
        least = MIN_QUICK if number > ROUNDS_BEFORE_QUICK else 0.0
        what = f"{POLLED:,} paths polled in turn: share that took the quick way in round {number}"
        figures.append(Figure(what, part, least=least))
    return BenchResult(figures=figures)


if __name__ == "__main__":
    main()
