"""A registry with clients of few questions, and one client that floods it."""

import asyncio
import math
import multiprocessing
import statistics
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import aiohttp

import nncache
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from tests.registry.samples import WEBHDFS

TOP: Final = "/services/many"
POLLS_PER_S: Final = 400.0
"""Of the flood of polls: twenty times what an address may; each is about a subtree, which counts as ten."""

UPDATERS: Final = 32
"""Changes that the flood of updates has under way."""


@dataclass(slots=True)
class Others:
    """What other clients noticed: times in seconds, by what they do.

    Attributes:
        failures: answers that were none.
    """

    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def p99(rounds: Sequence[Others], what: str) -> float:
    """Return the middle one of the rounds' own, in seconds: what stops the whole machine once does not count."""
    each = [sorted(one.times[what]) for one in rounds]
    return statistics.median(times[max(0, math.ceil(0.99 * len(times)) - 1)] for times in each)


@dataclass(frozen=True, slots=True)
class Flood:
    """What became of a flood.

    Attributes:
        done: polls that were answered with 200, or changes made.
        refused: polls that were answered otherwise.
        seconds: it took.
    """

    done: int
    refused: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Where:
    """A registry, and a proxy that serves it."""

    place: dict[str, Any]
    proxy: str


async def fill(where: Where, records: int) -> None:
    """Register services."""
    async with nncache.open_registry(**where.place, registry_updates_per_s=1e6) as registry:
        await registry.mknode(TOP, create_parents=True)
        for number in range(records):
            await registry.bind(f"{TOP}/i{number}", WEBHDFS)


async def others_work(where: Where, seconds: float) -> Others:
    """Return what clients of few questions notice, each at a fixed rate and on time, whatever the answers take."""
    seen = Others()
    async with (
        nncache.open_registry(**where.place) as registry,
        asking(where, "127.0.0.4") as names,
        asking(where, "127.0.0.5") as lists,
        asking(where, "127.0.0.6") as statuses,
        asyncio.TaskGroup() as tasks,
    ):
        for what, per_s, act in (
            ("resolve over HTTP", 15.0, lambda: names(f"/v1/registry{TOP}/i7")),
            (
                "find over HTTP",
                1.5,
                lambda: lists("/v1/registry/services?find=api=org.apache.hadoop.webhdfs&limit=10"),
            ),
            ("WebHDFS", 50.0, lambda: statuses("/webhdfs/v1/?op=GETFILESTATUS&user.name=joe")),
            ("resolve in Python", 15.0, lambda: registry.resolve(f"{TOP}/i7")),
            ("bind in Python", 10.0, lambda: registry.bind(f"{TOP}/i8", WEBHDFS, overwrite=True)),
        ):
            tasks.create_task(_at_rate(seen, what, per_s, seconds, act))
    return seen


async def _at_rate(
    seen: Others, what: str, per_s: float, seconds: float, act: Callable[[], Coroutine[Any, Any, object]]
) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    times = seen.times.setdefault(what, [])

    async def one(due: float) -> None:
        try:
            await act()
        except Exception as error:  # noqa: BLE001 - it is what the flood must not cause
            seen.failures.append(f"{what}: {error!r}")
        times.append(loop.time() - due)

    async with asyncio.TaskGroup() as tasks:
        for number in range(round(per_s * seconds)):
            due = begun + number / per_s
            await asyncio.sleep(max(0.0, due - loop.time()))
            tasks.create_task(one(due))


@asynccontextmanager
async def asking(
    where: Where, own_address: str
) -> AsyncIterator[Callable[[str], Coroutine[Any, Any, object]]]:
    """Yield what asks the proxy from an address of its own, and raises if the answer is not 200."""
    connector = aiohttp.TCPConnector(local_addr=(own_address, 0))
    async with aiohttp.ClientSession(
        connector=connector, timeout=aiohttp.ClientTimeout(total=10.0)
    ) as session:

        async def ask(target: str) -> object:
            async with session.get(f"http://{where.proxy}{target}") as reply:
                reply.raise_for_status()
                return await reply.read()

        yield ask


async def flood_of_polls(where: Where, seconds: float) -> Flood:
    """Ask for all records, from one address, POLLS_PER_S."""
    seen, loop = Others(), asyncio.get_running_loop()
    begun = loop.time()
    async with asking(where, "127.0.0.9") as ask:
        await _at_rate(seen, "polls", POLLS_PER_S, seconds, lambda: ask("/v1/registry/services?recursive"))
    asked = len(seen.times["polls"])
    return Flood(asked - len(seen.failures), len(seen.failures), loop.time() - begun)


async def flood_of_updates(where: Where, seconds: float) -> Flood:
    """Change records as fast as one client of the Python library does."""
    loop = asyncio.get_running_loop()
    begun = loop.time()

    async def work(registry: Registry, number: int) -> int:
        done = 0
        while loop.time() - begun < seconds:
            await registry.update(f"{TOP}/i{100 + number}", partial(_described, text=str(done)))
            done += 1
        return done

    async with nncache.open_registry(**where.place) as registry, asyncio.TaskGroup() as tasks:
        working = [tasks.create_task(work(registry, number)) for number in range(UPDATERS)]
    return Flood(sum(each.result() for each in working), 0, loop.time() - begun)


def _described(record: ServiceRecord, text: str) -> ServiceRecord:
    return replace(record, description=text)


FLOODS: Final = {"polls": flood_of_polls, "updates": flood_of_updates}


@contextmanager
def flooding(kind: str, where: Where, seconds: float) -> Iterator[Callable[[], Flood]]:
    """Flood in a process of its own while the block lasts, `seconds` at least; yields what returns its end."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_flood, args=(kind, where, seconds, theirs))
    process.start()
    try:
        assert ours.recv() == "begins"
        yield ours.recv
    finally:
        process.join()


def _flood(kind: str, where: Where, seconds: float, pipe: Any) -> None:
    pipe.send("begins")
    pipe.send(asyncio.run(FLOODS[kind](where, seconds)))
