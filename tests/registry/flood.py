"""`python -m tests.registry.flood`: the effect of one client's flood of polls or updates on others.

On its own cluster, over the loopback; the flood is bounded, and runs in its own process.
"""

import asyncio
import statistics
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, Final

import aiohttp
import click

import nncache
from nncache.registry.operations import Registry
from nncache.registry.pacing import BURST_S
from nncache.registry.rest.endpoint import BURST, MANY, PER_S
from nncache.registry.settings import UpdateSettings
from nncache.testbed import Cluster
from tests.patience import HANG_S
from tests.real.beside import child, received
from tests.real.command import conclude, show, started
from tests.real.figures import quantile
from tests.registry.samples import WEBHDFS, place_of_its_own, serving

MOST_RATIO: Final = 3.0
NEVER_MIND_S: Final = 0.05
"""A p99 below it harms no client, whatever it was without the flood."""

TOP: Final = "/services/many"
POLLS_PER_S: Final = 400.0
"""Rate of the flood of polls: twenty times the limit of an address; each reads a subtree, which counts as ten."""

UPDATERS: Final = 32
"""Concurrent changes in the flood of updates."""


@dataclass(slots=True)
class Others:
    """What other clients noticed: times in seconds by kind of call, and failed calls."""

    times: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def p99(rounds: Sequence[Others], what: str) -> float:
    """Return the median of the rounds' p99 values in seconds, so that a pause of the whole machine does not count."""
    return statistics.median(quantile(one.times[what], 0.99) for one in rounds)


@dataclass(frozen=True, slots=True)
class Flood:
    """The result of a flood: polls answered with 200, or changes made; and polls with other statuses."""

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
    """Return the times of clients with few calls, each at a fixed rate that does not depend on the replies."""
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
    """Yield a function that queries the proxy from its own address, and raises unless the status is 200."""
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
    """Read all records from one address, at POLLS_PER_S."""
    seen, loop = Others(), asyncio.get_running_loop()
    begun = loop.time()
    async with asking(where, "127.0.0.9") as ask:
        await _at_rate(seen, "polls", POLLS_PER_S, seconds, lambda: ask("/v1/registry/services?recursive"))
    asked = len(seen.times["polls"])
    return Flood(asked - len(seen.failures), len(seen.failures), loop.time() - begun)


async def flood_of_updates(where: Where, seconds: float) -> Flood:
    """Change records as fast as one client of the Python library can."""
    loop = asyncio.get_running_loop()
    begun = loop.time()

    async def work(registry: Registry, number: int) -> int:
        done = 0
        while loop.time() - begun < seconds:
            await registry.update(f"{TOP}/i{100 + number}", partial(replace, description=str(done)))
            done += 1
        return done

    async with nncache.open_registry(**where.place) as registry, asyncio.TaskGroup() as tasks:
        working = [tasks.create_task(work(registry, number)) for number in range(UPDATERS)]
    return Flood(sum(each.result() for each in working), 0, loop.time() - begun)


FLOODS: Final = {"polls": flood_of_polls, "updates": flood_of_updates}


def _flood(kind: str, where: Where, seconds: float, pipe: Connection) -> None:
    pipe.send(None)
    pipe.send(asyncio.run(FLOODS[kind](where, seconds)))


@dataclass(frozen=True, slots=True)
class Reported:
    """Times of other clients before and during a flood of a kind, in each round, and the results of the flood."""

    kind: str
    before: tuple[Others, ...]
    during: tuple[Others, ...]
    floods: tuple[Flood, ...]

    def most_done(self, flood: Flood) -> float:
        """Return how much of it the limits allow: its burst, its rate, and the changes in flight."""
        if self.kind == "polls":
            return (BURST + PER_S * flood.seconds) / MANY + 1
        return UpdateSettings().registry_updates_per_s * (BURST_S + flood.seconds) + UPDATERS

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        for flood in self.floods:
            yield (
                f"flood of {self.kind}: {flood.done} done of at most {self.most_done(flood):.0f}, "
                f"{flood.refused} refused, in {flood.seconds:.1f} s"
            )
        for what in self.before[0].times:
            before, during = p99(self.before, what), p99(self.during, what)
            yield f"  {what:18} p99 {before * 1000:7.1f} ms without, {during * 1000:7.1f} ms with it"

    def shortfalls(self) -> Iterator[str]:
        """Yield the violated requirements."""
        for flood in self.floods:
            if flood.done > self.most_done(flood):
                yield f"{self.kind}: {flood.done} done, which is more than {self.most_done(flood):.0f}"
        for others in (*self.before, *self.during):
            yield from (f"{self.kind}: {failure}" for failure in others.failures)
        for what in self.before[0].times:
            before, during = p99(self.before, what), p99(self.during, what)
            if during > max(MOST_RATIO * before, NEVER_MIND_S):
                yield f"{self.kind}: {what} has a p99 of {during * 1000:.0f} ms, {before * 1000:.0f} ms without"


def run(cluster: Cluster, *, records: int, rounds: int, seconds: float) -> tuple[Reported, ...]:
    """Flood a registry with this number of records in each way; periods without and with a flood alternate."""
    found = []
    with place_of_its_own(cluster) as place, serving(cluster, place, "/") as proxy:
        where = Where(place, proxy.address)
        asyncio.run(fill(where, records))
        asyncio.run(others_work(where, 1.0))  # connections, caches
        for kind in FLOODS:
            before, during, floods = [], [], []
            for _ in range(rounds):
                before.append(asyncio.run(others_work(where, seconds)))
                with child(_flood, kind, where, seconds + 1.0) as flood:
                    received(flood, HANG_S, "the flood does not begin")
                    during.append(asyncio.run(others_work(where, seconds)))
                    floods.append(received(flood, HANG_S, "the flood does not end"))
            found.append(Reported(kind, tuple(before), tuple(during), tuple(floods)))
    return tuple(found)


@click.command()
@click.option("--records", default=1_000, show_default=True, help="Records in the registry.")
@click.option("--rounds", default=5, show_default=True, help="How often without and with a flood take turns.")
@click.option("--seconds", default=5.0, show_default=True, help="How long is measured, each time.")
def main(records: int, rounds: int, seconds: float) -> None:
    """Print the times of other clients; exit code 1 if a flood is not throttled, or harms them."""
    with started() as cluster:
        found = run(cluster, records=records, rounds=rounds, seconds=seconds)
    for reported in found:
        show(reported.lines())
    conclude([what for reported in found for what in reported.shortfalls()][:20])


if __name__ == "__main__":
    main()
