"""Forced races in the model: all of a plan, then all again with other latencies.

python -m tests.races.model --seed 1 --world 7    # repeats one simulation
"""

import gc
import itertools
import random
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from typing import Any, Final

import click
import pytest

from nncache.invalidation.follower import follower
from tests.invalidation.virtual_time import VirtualLoop
from tests.model.channels import ChannelName
from tests.quiet import be_quiet
from tests.races.exemptions import NOT_IN_THE_MODEL
from tests.races.figures import SHOWN, Figures
from tests.races.model_plan import ERRANDS, ERRORS, MEANWHILES, STARTS, TROUBLED, Meanwhile, Race, Start
from tests.races.model_round import ModelSteering, arrive
from tests.races.model_simulation import Simulation
from tests.races.places import APPLY, Place, Places

PART: Final = "model, whole system"

_REACHED: Final = (
    "proxy.decide.front_end",
    "proxy.decide.reads",
    "proxy.decide.waits",
    "proxy.decide.path_waits",
    "proxy.decide.flights",
    "proxy.decide.call_limits",
    "proxy.decide.writes",
    "proxy.decide.existing_path",
    "invalidation.consumer",
    "invalidation.edits.direct",
    "invalidation.edits.poller",
    "invalidation.edits.confirmed_namenode",
)
"""Modules whose places the model reaches; it reaches some places of the ZooKeeper channel as well."""

PLACES: Final = Places({*_REACHED, *(module for module in APPLY if module.startswith("invalidation."))})
"""The places of the model; code that uses sockets is raced on the real stack."""

_LANES: Final = 24
_LANES_OF_ZOOKEEPER: Final = 4
"""Few lanes: a record of this channel holds few changes before they are merged."""

_ROUNDS: Final = 40
"""Rounds of a simulation."""

_TROUBLED_SHARE: Final = 0.6
_THROWN_SHARE: Final = 0.2

_OFTEN: Final = (
    *(each for each in TROUBLED for _ in range(8) if each.name == "nobody active"),
    *(each for each in TROUBLED for _ in range(8) if each.name == "befall the channel"),
)
_STRIDE: Final = 1_000_003
"""A prime that divides no number of races here, so that steps of this length meet each race once."""

_STARTS: Final = tuple(start for start in STARTS if not start.is_for_all)
_CLOSED, _SILENT, _REFUSED = ((start,) for start in STARTS if start.is_for_all)
_NOTHING: Final = Meanwhile("nothing")
_CHANGES: Final = tuple(each for each in MEANWHILES if each.at_once is not None)


@dataclass(frozen=True, slots=True)
class Kind:
    """What the rounds of a simulation race.

    Attributes:
        weight: its number of simulations among 40.
        is_applying: a change on its way into the cache is held, instead of a client's task.
        meanwhiles: what happens during a hold; a trouble is the same in all lanes.
    """

    weight: int
    channel: ChannelName = ChannelName.DIRECT
    starts: tuple[Start, ...] = _STARTS
    meanwhiles: tuple[Meanwhile, ...] = MEANWHILES
    is_applying: bool = False

    @property
    def lanes(self) -> int:
        """Number of races in a round."""
        return _LANES if self.channel is ChannelName.DIRECT else _LANES_OF_ZOOKEEPER


KINDS: Final = (
    Kind(22),
    Kind(2, starts=_CLOSED),
    Kind(1, starts=_SILENT),
    Kind(1, starts=_REFUSED),
    Kind(5, meanwhiles=TROUBLED),
    Kind(3, meanwhiles=_CHANGES, is_applying=True),
    Kind(1, ChannelName.ZOOKEEPER),
    Kind(1, ChannelName.ZOOKEEPER, meanwhiles=TROUBLED),
    Kind(4, ChannelName.ZOOKEEPER, meanwhiles=_CHANGES, is_applying=True),
)

_KINDS_IN_ORDER: Final = random.Random(1).sample(KINDS, 40, counts=[kind.weight for kind in KINDS])


def run(races: int, seed: int, jobs: int, progress: Callable[[int], None]) -> Figures:
    """Run at least this number of races; call `progress` with the number so far."""
    began = time.monotonic()
    figures = Figures(PART)
    numbers = itertools.count()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=begin) as processes:
        waiting: set[Future[Figures]] = set()
        while figures.races < races or waiting:
            while figures.races < races and len(waiting) < 2 * jobs:
                waiting.add(processes.submit(tell, seed, next(numbers)))
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                figures.add(future.result())
            progress(min(figures.races, races))
    figures.seconds = time.monotonic() - began
    return figures


def begin() -> None:
    """Prepare a process that runs races: no log, and rare garbage collection."""
    be_quiet()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def tell(seed: int, number: int, *, rounds: int = _ROUNDS) -> Figures:
    """Run one simulation of a seed: it continues the plan where the previous one of its kind ended."""
    lap, position = divmod(number, len(_KINDS_IN_ORDER))
    kind = _KINDS_IN_ORDER[position]
    first = (lap * kind.weight + _KINDS_IN_ORDER[:position].count(kind)) * _ROUNDS
    plan = Plan(kind)
    simulation: Simulation

    async def reported() -> None:
        nonlocal simulation
        simulation = Simulation(
            f"{seed}:{number}", kind.channel, lanes=kind.lanes, name=f"--seed {seed} --world {number}"
        )
        async with simulation:
            for nth in range(first, first + rounds):
                race = simulation.race_applying if kind.is_applying else simulation.race
                await race(plan.round(nth, simulation.chance))

    with pytest.MonkeyPatch.context() as patched:
        if number % 2:
            patched.setattr(follower, "MAX_QUEUED", 1)  # so that the queue fills up at times
        steering = steered(reported)
    figures = simulation.figures
    for wait_point, times in simulation.held_at.items():
        for place in wait_point.places:
            figures.held[place] += times
    figures.stood.update(steering.stood)
    return figures


def steered(story: Callable[[], Coroutine[Any, Any, None]]) -> ModelSteering:
    """Run a story in virtual time, on a loop whose tasks can be held."""
    steering = ModelSteering(PLACES)
    steering.watcher = arrive
    loop = VirtualLoop()
    loop.set_task_factory(steering.task_factory)
    try:
        loop.run_until_complete(story())
    finally:
        loop.close()
    return steering


@cache
def steps() -> dict[tuple[str, str], int]:
    """Return the number of steps at which each errand can be held, by the names of errand and start."""
    found: dict[tuple[str, str], int] = {}

    async def count() -> None:
        async with Simulation("steps", ChannelName.DIRECT, lanes=_LANES, name="steps") as simulation:
            for starts in (_STARTS, _CLOSED, _SILENT, _REFUSED):
                races = [Race(errand, start, _NOTHING, 0) for errand in ERRANDS for start in starts]
                for first in range(0, len(races), _LANES):
                    for each in await simulation.race(races[first : first + _LANES], is_meant=False):
                        found[each.race.errand.name, each.race.start.name] = each.steps

    steered(count)
    return found


class Plan:
    """All races of a kind, in an order that puts some of everything first."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._moments = [
            (errand, start, step)
            for errand in ERRANDS
            for start in kind.starts
            for step in range(1 if kind.is_applying else steps()[errand.name, start.name])
        ]

    def __len__(self) -> int:
        """Return the number of races before they repeat."""
        return len(self._moments) * len(self._kind.meanwhiles)

    def round(self, number: int, chance: random.Random) -> list[Race]:
        """Return the races of the nth round."""
        kind, lanes = self._kind, range(self._kind.lanes)
        whats = kind.meanwhiles
        if whats is not TROUBLED:
            chosen = [(number * len(lanes) + lane) * _STRIDE % len(self) for lane in lanes]
            races = [self._race(each // len(whats), whats[each % len(whats)]) for each in chosen]
        else:
            lap, which = divmod(number, len(whats))
            races = [self._race((lap * len(lanes) + lane) * _STRIDE, whats[which]) for lane in lanes]
        if kind.is_applying:
            trouble = chance.choice((*TROUBLED, *_OFTEN)) if chance.random() < _TROUBLED_SHARE else _NOTHING
            error = ERRORS[chance.choice(list(ERRORS))] if chance.random() < _THROWN_SHARE else None
            races = [
                replace(race, meanwhile=replace(race.meanwhile, trouble=trouble.trouble, verdict=error))
                for race in races
            ]
        return races

    def _race(self, number: int, meanwhile: Meanwhile) -> Race:
        errand, start, step = self._moments[number % len(self._moments)]
        return Race(errand, start, meanwhile, step)


def unvisited(figures: Figures) -> list[Place]:
    """Return the places without a race among those that the model must reach without the real stack."""
    return sorted(
        place
        for place in PLACES.all
        if place.module in _REACHED and place.key not in NOT_IN_THE_MODEL and not figures.held[place]
    )


@click.command()
@click.option("--seed", default=1, show_default=True)
@click.option("--world", "number", required=True, type=int)
def main(seed: int, number: int) -> None:
    """Repeat one simulation."""
    begin()
    figures = tell(seed, number)
    for line in (*figures.lines(), *figures.by_place(PLACES.all)):
        click.echo(line)
    for violation in figures.violations[SHOWN:]:
        click.echo(f"  VIOLATION {violation}")


if __name__ == "__main__":
    main()
