"""One seeded history of the whole system, told and judged."""

import asyncio
import gc
import random
from dataclasses import dataclass
from typing import Final, TypeAlias

from tests.invalidation.virtual_time import run
from tests.model.acts import ACTS, PAUSES_S, Simulation
from tests.model.channels import ChannelName
from tests.model.guarantee import Guarantee
from tests.model.judge import Violation
from tests.model.scenarios import SCENARIOS
from tests.model.system import System
from tests.quiet import be_quiet

STEPS: Final = 50
ZOOKEEPER_EVERY: Final = 10
"""Of so many histories one is told on the ZooKeeper channel: they take several times as long."""

OTHERS: Final = {5: ChannelName.JOURNALNODES, 7: ChannelName.PUBLISHED}
"""Of ZOOKEEPER_EVERY histories those that are told on other channels than the direct one, by number."""

SCENARIO_EVERY: Final = 8
"""Of so many acts one is a scenario, where there are some."""

ALONE_EVERY: Final = 7
"""In one of so many histories there is one NameNode alone."""

CHECKED_EVERY: Final = 5
"""After so many steps the cache's own invariants are asserted; all else is judged after each."""

Step: TypeAlias = tuple[str, int, float]
"""An act, how much, which, or to whom, and the seconds that pass then."""

_NAMES: Final = list(ACTS)
_WEIGHTS: Final = [weight for weight, _ in ACTS.values()]


@dataclass(frozen=True)
class History:
    """What came of one.

    Attributes:
        hits: answers from memory.
        features: what happened in it: "hit", "gap", "crash", "open file", "permission change" among others.
    """

    seed: int
    channel: ChannelName
    steps: int
    hits: int
    features: frozenset[str]
    violations: tuple[Violation, ...]


def channel_of(seed: int) -> ChannelName:
    """Say on which channel a seed's history is told."""
    number = seed % ZOOKEEPER_EVERY
    return OTHERS.get(number, ChannelName.DIRECT) if number else ChannelName.ZOOKEEPER


def draw(seed: int, steps: int, *, has_scenarios: bool = False) -> list[Step]:
    """Draw the steps of a history, one of SCENARIO_EVERY a scenario if there shall be some."""
    chance = random.Random(seed)
    names = chance.choices(_NAMES, _WEIGHTS, k=steps)
    drawn = [(name, chance.randrange(1 << 24), chance.choice(PAUSES_S)) for name in names]
    if has_scenarios:
        for place in range(chance.randrange(SCENARIO_EVERY), steps, SCENARIO_EVERY):
            drawn[place] = (chance.choice(list(SCENARIOS)), *drawn[place][1:])
    return drawn


def tell(
    seed: int,
    steps: int = STEPS,
    *,
    channel: ChannelName | None = None,
    has_scenarios: bool = False,
    stop_early: bool = False,
) -> History:
    """Tell the history of a seed.

    Args:
        seed: of everything in it.
        steps: how many acts.
        channel: None leaves it to the seed.
        has_scenarios: some of them are scenarios.
        stop_early: end it with the first violation.
    """
    drawn = draw(seed, steps, has_scenarios=has_scenarios)
    return tell_steps(drawn, seed, channel or channel_of(seed), stop_early=stop_early)


def tell_steps(reported: list[Step], seed: int, channel: ChannelName, *, stop_early: bool = False) -> History:
    """Tell these steps; the seed says how long calls take, and how retries are spread."""
    random.seed(seed)  # parts of the product draw from the module's own chance
    return run(_story(reported, seed, channel, stop_early=stop_early))


async def _story(reported: list[Step], seed: int, channel: ChannelName, *, stop_early: bool) -> History:
    chance = random.Random(seed)
    system = System(
        chance,
        channel,
        poll_interval_s=chance.choice((0.2, 0.5, 1.0)),
        grants=chance.choice(("per_directory", "per_directory", "per_path")),
        max_cache_entries=chance.choice((6, 1000, 1000)),
        max_entry_age_s=chance.choice((20.0, 3600.0)),
        grant_ttl_s=chance.choice((10.0, 300.0)),
        max_two_step_windows=chance.choice((1, 100)),
        has_standby=seed % ALONE_EVERY != 0,
        two_step_query_timeout_s=1.0 if seed % 3 else 10.0,
    )
    system.upstream.known_credentials.reads_any_doas = seed % 2 == 0
    simulation = Simulation(system, channel)
    async with system:
        for step, (act, number, pause_s) in enumerate(reported):
            if act in SCENARIOS:
                system.come(SCENARIOS[act](simulation, number))
            else:
                ACTS[act][1](simulation, number)
            await asyncio.sleep(pause_s)
            judge_step(simulation, step)
            if stop_early and system.judge.violations:
                break
        simulation.end_troubles(0)
    judge_faults(system)
    stats = simulation.stats()
    if system.judge.hits:
        simulation.features.add("hit")
    if stats.streams_lost:
        simulation.features.add("lost stream")
    return History(
        seed=seed,
        channel=channel,
        steps=len(reported),
        hits=system.judge.hits,
        features=frozenset(simulation.features),
        violations=tuple(system.judge.violations),
    )


def judge_step(simulation: Simulation, step: int) -> None:
    """Judge all that is kept after a step."""
    system = simulation.system
    system.judge.sweep()
    if shown := system.channel.shown_to_strangers():
        system.judge.say(Guarantee.PROVEN_GRANT, shown)
    if not simulation.stats().is_open:
        system.judge.closed()
    if step % CHECKED_EVERY == 0:
        system.cache.check()


def judge_faults(system: System) -> None:
    """See that nothing of the product has failed but what was to fail."""
    if (errors := system.front_end.stats().cache_errors) > system.cache.failed:
        system.judge.failed("", f"{errors} faults of ours, of which {system.cache.failed} were asked for")


def begin() -> None:
    """Begin a process that tells histories: no log, and garbage is collected rarely."""
    be_quiet()
    gc.freeze()
