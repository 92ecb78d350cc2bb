"""Forced races on the real stack: a NameNode, and a proxy on a steered loop."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import uvloop

from tests.quiet import be_quiet
from tests.races import kinds
from tests.races.aims import Errand
from tests.races.changes import CHANGES, Change, Hdfs, Refused
from tests.races.client import Client
from tests.races.figures import Figures
from tests.races.lane import Kind, Lane, Listing, Shared
from tests.races.places import APPLY, FILL, FORWARD, Places
from tests.races.proxied import Proxied, Site, asked_path, client_port, proxied
from tests.races.steering import LABEL, Arrival, Steering, Verdict

LANES: Final = 12
"""Concurrent races: most of a race's time is spent waiting."""

PLACES: Final = Places(FILL + FORWARD + APPLY)

USUAL: Final = {Kind.FILL: 50, Kind.JOIN: 10, Kind.WRITE: 25, Kind.APPLY: 15}

LONG_NAMES: Final = 4500
"""Children of a directory whose listing, 2.2 MB, exceeds the system's buffers between proxy and client."""

WHOLE_NAMES: Final = 125
"""Children of a directory whose listing, 60 KB, just fits into one write."""

_ENDS_WITHIN_S: Final = 20.0
"""Seconds until a call without its client ends: a slow NameNode's 5 s of silence and 5 s without one."""

_DRIVER: Final = Errand()
"""The label of the races' own tasks."""


@asynccontextmanager
async def _undisturbed() -> AsyncIterator[None]:
    """Run nothing in addition to the races."""
    yield


@dataclass(frozen=True, kw_only=True)
class Part:
    """One proxy, and the races against it.

    Attributes:
        namenode: "host:port" of its WebHDFS, past any proxy and relay.
        weights: the frequency of each kind of race.
        beside: runs during the races and causes disturbances.
        is_shaken: the NameNode is slow or unavailable at times.
        lanes: number of concurrent races.
    """

    name: str
    site: Site
    namenode: str
    superuser: str
    users: tuple[str, ...]
    changes: tuple[Change, ...] = CHANGES
    weights: Mapping[Kind, int] = field(default_factory=lambda: USUAL)
    beside: Callable[[], AbstractAsyncContextManager[None]] = _undisturbed
    is_shaken: bool = False
    lanes: int = LANES


def run(part: Part, *, races: int, seed: int, progress: Callable[[int], None]) -> Figures:
    """Run this number of races against one proxy; call `progress` with the number so far."""
    be_quiet()
    figures = Figures(part.name)
    steering = Steering(PLACES)

    def steered_loop() -> asyncio.AbstractEventLoop:
        loop = uvloop.new_event_loop()
        loop.set_task_factory(steering.task_factory)
        return loop

    began = time.monotonic()
    with asyncio.Runner(loop_factory=steered_loop) as runner:
        runner.run(_run(part, figures, steering, races, seed, progress))
    figures.seconds = time.monotonic() - began
    return figures


async def _run(
    part: Part, figures: Figures, steering: Steering, races: int, seed: int, progress: Callable[[int], None]
) -> None:
    hdfs = Hdfs(part.superuser)
    root = f"/races/{seed}-{time.time_ns()}"
    async with proxied(part.site) as proxy:
        LABEL.set(_DRIVER)
        shared = Shared(
            proxy, hdfs, part.namenode, figures, part.changes, part.weights, part.users, part.is_shaken
        )
        with Client(part.namenode) as client:
            await hdfs.change(client, "MKDIRS", root)
        if Kind.PASS in part.weights:
            shared.listings = (
                await _listing(hdfs, part.namenode, f"{root}/long", LONG_NAMES),
                await _listing(hdfs, part.namenode, f"{root}/whole", WHOLE_NAMES),
            )
        lanes = [
            Lane(shared, f"{root}/{number}", f"{part.name}, seed {seed}, lane {number}")
            for number in range(part.lanes)
        ]
        steering.label_of = labels(shared, {lane.ground.root: lane for lane in lanes})
        steering.watcher = _watcher(shared)
        async with part.beside(), asyncio.TaskGroup() as tasks:
            for lane in lanes:
                tasks.create_task(_keep_racing(lane, figures, races, progress))
        steering.watcher = None
        for lane in lanes:
            lane.close()
        figures.violations += [f"left over at the end: {what}" for what in await _left_over(proxy)]
        figures.stood.update(steering.stood)


async def _left_over(proxy: Proxied) -> list[str]:
    """Return the resources that are still in use after all calls had time to end."""
    deadline = time.monotonic() + _ENDS_WITHIN_S
    while (left := proxy.leftovers()) and time.monotonic() < deadline:  # noqa: ASYNC110 - figures
        await asyncio.sleep(0.05)
    return left


async def _listing(hdfs: Hdfs, namenode: str, path: str, names: int) -> Listing:
    """Create a directory with this number of children with long names."""

    async def some(numbers: range) -> None:
        with Client(namenode) as client:
            for number in numbers:
                await hdfs.change(client, "MKDIRS", f"{path}/{'n' * 240}{number}")

    async with asyncio.TaskGroup() as tasks:
        for first in range(LANES):
            tasks.create_task(some(range(first, names, LANES)))
    with Client(namenode) as client:
        return Listing(path, (await client.ask("GET", hdfs.target(path, "LISTSTATUS"))).status_and_body)


def labels(shared: Shared, lanes: Mapping[str, Lane]) -> Callable[[Coroutine[Any, Any, Any]], object]:
    """Return the function that labels a coroutine: a client's port, a lane's reader, or None to inherit.

    Args:
        shared: has the ports of all clients that races are held for.
        lanes: by the directory with each lane's paths.
    """

    def label_of(coroutine: Coroutine[Any, Any, Any]) -> object:
        port = client_port(coroutine)
        if port is not None:
            return port
        path = asked_path(coroutine)
        lane = None if path is None else lanes.get("/".join(path.split("/")[:4]))
        label = LABEL.get()
        if lane is None or (isinstance(label, int) and shared.errands.get(label) in (None, *lane.errands)):
            return None
        return lane.reading  # no other lane's race may be held, or fail, at a call of this lane

    return label_of


def _watcher(shared: Shared) -> Callable[[Arrival], Verdict]:
    def watch(arrival: Arrival) -> Verdict:
        if arrival.label is None:
            return shared.background.arrive(arrival)
        if isinstance(arrival.label, Errand):
            return arrival.label.arrive(arrival)
        # A connection's port labels all its tasks; the client may be registered under it only later.
        errand = shared.errands.get(arrival.label) if isinstance(arrival.label, int) else None
        return None if errand is None else errand.arrive(arrival)

    return watch


async def _keep_racing(lane: Lane, figures: Figures, races: int, progress: Callable[[int], None]) -> None:
    while figures.races < races:
        try:
            await kinds.race(lane)
        except Refused as exc:
            figures.violations.append(f"{lane.seed}, race {lane.number}: could not be prepared: {exc}")
        progress(min(figures.races, races))
