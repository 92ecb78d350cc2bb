"""Forced races on the real stack: a NameNode, and a proxy on a steered loop. (tests/races/real.py)"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import uvloop

from tests.races.aims import Errand
from tests.races.changes import Hdfs
from tests.races.client import Client
from tests.races.figures import Figures
from tests.races.lane import Lane, Shared
from tests.races.places import APPLY, FILL, FORWARD, Places
from tests.races.proxied import Site, be_quiet, client_port, proxied
from tests.races.steering import LABEL, Arrival, Steering, Verdict

LANES: Final = 12
"""Races side by side: most of a race's time is spent waiting."""

PLACES: Final = Places(FILL + FORWARD + APPLY)

_DRIVER: Final = Errand()
"""The label of the races' own tasks."""


def run(
    part: str, site: Site, namenode: str, *, races: int, seed: int, progress: Callable[[int], None]
) -> Figures:
    """Make that many races against one proxy; `progress` is told how many there have been."""
    be_quiet()
    figures = Figures(part)
    steering = Steering(PLACES)

    def steered_loop() -> asyncio.AbstractEventLoop:
        loop = uvloop.new_event_loop()
        loop.set_task_factory(steering.task_factory)
        return loop

    began = time.monotonic()
    with asyncio.Runner(loop_factory=steered_loop) as runner:
        runner.run(_run(figures, steering, site, namenode, races, seed, progress))
    figures.seconds = time.monotonic() - began
    return figures


async def _run(
    figures: Figures,
    steering: Steering,
    site: Site,
    namenode: str,
    races: int,
    seed: int,
    progress: Callable[[int], None],
) -> None:
    async with proxied(site) as proxy:
        LABEL.set(_DRIVER)
        shared = Shared(proxy, Hdfs(site.user), namenode, figures)
        steering.watcher = _watcher(shared)
        root = f"/races/{seed}-{time.time_ns()}"
        with Client(namenode) as client:
            await shared.hdfs.change(client, "MKDIRS", root)
        lanes = [Lane(shared, f"{root}/{number}", f"seed {seed}, lane {number}") for number in range(LANES)]
        async with asyncio.TaskGroup() as tasks:
            for lane in lanes:
                tasks.create_task(_keep_racing(lane, figures, races, progress))
        steering.watcher = None
        for lane in lanes:
            lane.close()
        await asyncio.sleep(0.3)  # hung-up connections are seen to be so
        figures.violations += [f"left over at the end: {what}" for what in proxy.leftovers()]
        figures.stood.update(steering.stood)


def _watcher(shared: Shared) -> Callable[[Arrival], Verdict]:
    def watch(arrival: Arrival) -> Verdict:
        errand = arrival.label
        if errand is None:
            port = client_port(arrival)
            if port is None:
                return shared.background.arrive(arrival)
            errand = shared.errands.get(port, _DRIVER)
            LABEL.set(errand)  # inherited by all tasks that work for this connection
        return errand.arrive(arrival) if isinstance(errand, Errand) else None

    return watch


async def _keep_racing(lane: Lane, figures: Figures, races: int, progress: Callable[[int], None]) -> None:
    while figures.races < races:
        await lane.race()
        progress(min(figures.races, races))
