"""One seeded history of the whole system, run and judged."""

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
from tests.model.system import ModelSystem
from tests.quiet import be_quiet

STEPS: Final = 50
ZOOKEEPER_EVERY: Final = 10
"""One of this many histories uses the ZooKeeper channel, on which a history takes several times as long."""

OTHERS: Final = {5: ChannelName.JOURNALNODES, 7: ChannelName.PUBLISHED}
"""The histories on a channel other than the direct one, by their seeds modulo ZOOKEEPER_EVERY."""

SCENARIO_EVERY: Final = 8
"""One of this many acts is a scenario, in a history with scenarios."""

ALONE_EVERY: Final = 7
"""One of this many histories has a single NameNode."""

CHECKED_EVERY: Final = 5
"""Number of steps after which the cache's own invariants are asserted; the rest is judged after each step."""

Step: TypeAlias = tuple[str, int, float]
"""An act, the number that determines its amount, path or user, and the pause in seconds after it."""

_NAMES: Final = list(ACTS)
_WEIGHTS: Final = [weight for weight, _ in ACTS.values()]


@dataclass(frozen=True)
class History:
    """The outcome of a history.

    Attributes:
        hits: number of answers from memory.
        features: what it has shown: "hit", "gap", "crash", "open file", "permission change" and others.
    """

    seed: int
    channel: ChannelName
    steps: int
    hits: int
    features: frozenset[str]
    violations: tuple[Violation, ...]


def channel_of(seed: int) -> ChannelName:
    """Return the channel of a seed's history."""
    number = seed % ZOOKEEPER_EVERY
    return OTHERS.get(number, ChannelName.DIRECT) if number else ChannelName.ZOOKEEPER


def draw(seed: int, steps: int, *, has_scenarios: bool = False) -> list[Step]:
    """Draw the steps of a history; with `has_scenarios` one in SCENARIO_EVERY is a scenario."""
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
    """Run the history of a seed.

    Args:
        seed: determines everything in the history.
        steps: number of acts.
        channel: None: the seed chooses it.
        has_scenarios: some of the acts are scenarios.
        stop_early: stop at the first violation.
    """
    drawn = draw(seed, steps, has_scenarios=has_scenarios)
    return tell_steps(drawn, seed, channel or channel_of(seed), stop_early=stop_early)


def tell_steps(reported: list[Step], seed: int, channel: ChannelName, *, stop_early: bool = False) -> History:
    """Run these steps; the seed determines the duration of calls and the jitter of retries."""
    random.seed(seed)  # parts of the product draw from the module's global generator
    return run(_story(reported, seed, channel, stop_early=stop_early))


async def _story(reported: list[Step], seed: int, channel: ChannelName, *, stop_early: bool) -> History:
    chance = random.Random(seed)
    system = ModelSystem(
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
    """Judge the state of the cache after a step."""
    system = simulation.system
    system.judge.sweep()
    if shown := system.channel.shown_to_strangers():
        system.judge.say(Guarantee.PROVEN_GRANT, shown)
    if not simulation.stats().is_open:
        system.judge.closed()
    if step % CHECKED_EVERY == 0:
        system.cache.check()


def judge_faults(system: ModelSystem) -> None:
    """Judge that only injected faults of the cache have occurred."""
    if (errors := system.front_end.stats().cache_errors) > system.cache.failed:
        system.judge.failed("", f"{errors} faults of ours, of which {system.cache.failed} were asked for")


def begin() -> None:
    """Prepare a process that runs histories: no log, and the present objects are exempt from collection."""
    be_quiet()
    gc.freeze()
