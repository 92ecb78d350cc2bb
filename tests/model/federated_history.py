"""One seeded history of two namespaces behind one proxy, run and judged.

The judge of each namespace checks the replies to its own clients, as in any other history. `federated_door.py`
judges the namespace of each request, and `federated_acts.py` the effect of a fault on the other namespace.
"""

import asyncio
import random
from typing import Final

from tests.invalidation.virtual_time import run
from tests.model.acts import PAUSES_S, Simulation
from tests.model.channels import ChannelName
from tests.model.federated_acts import FEDERATED_ACTS, TWO_NAMESPACES, TwoSimulations
from tests.model.federation import Federation
from tests.model.history import ALONE_EVERY, STEPS, ZOOKEEPER_EVERY, History, Step, judge_faults, judge_step
from tests.model.mount_oracle import NAMESPACES, TABLES

FEDERATED_EVERY: Final = 6
"""One of this many histories has two namespaces."""

_CALM_EVERY: Final = 25
"""Number of steps after which the spared namespace must answer from memory during a fault of the other."""

_NAMES: Final = list(FEDERATED_ACTS)
_WEIGHTS: Final = [weight for weight, _ in FEDERATED_ACTS.values()]


def is_federated(seed: int) -> bool:
    """Whether the history of this seed has two namespaces."""
    return seed % FEDERATED_EVERY == FEDERATED_EVERY - 1


def tell_federated(
    seed: int, steps: int = STEPS, *, channel: ChannelName | None = None, stop_early: bool = False
) -> History:
    """Run the history of a seed.

    Args:
        seed: determines everything in the history.
        steps: number of acts.
        channel: of both namespaces; None: the seed chooses one for each.
        stop_early: stop at the first violation.
    """
    chance = random.Random(seed)
    names = chance.choices(_NAMES, _WEIGHTS, k=steps)
    drawn = [(name, chance.randrange(1 << 24), chance.choice(PAUSES_S)) for name in names]
    random.seed(seed)  # parts of the product draw from the module's global generator
    return run(_story(drawn, seed, channel, stop_early=stop_early))


async def _story(
    reported: list[Step], seed: int, channel: ChannelName | None, *, stop_early: bool
) -> History:
    chance = random.Random(seed)
    channels = {name: channel or _drawn_channel(chance) for name in NAMESPACES}
    federation = Federation(
        TABLES[chance.randrange(len(TABLES))],
        chance,
        channels,
        poll_interval_s=chance.choice((0.2, 0.5, 1.0)),
        grants=chance.choice(("per_directory", "per_directory", "per_path")),
        max_two_step_windows=chance.choice((1, 100)),
        has_standby=seed % ALONE_EVERY != 0,
    )
    systems = tuple(federation.systems.values())
    spared, troubled = chance.sample(
        [Simulation(system, channels[system.name]) for system in systems], len(systems)
    )
    simulations = TwoSimulations(federation, spared, troubled)
    async with federation:
        for step, (act, number, pause_s) in enumerate(reported, 1):
            FEDERATED_ACTS[act][1](simulations, number)
            await asyncio.sleep(pause_s)
            if step % _CALM_EVERY == 0:
                await simulations.see_hits_beside_a_trouble(number)
            simulations.judge_spared()
            for each in (spared, troubled):
                judge_step(each, step)
            if stop_early and federation.violations:
                break
        for each in (spared, troubled):
            each.end_troubles(0)
    for system in systems:
        judge_faults(system)
    hits = sum(system.judge.hits for system in systems)
    return History(
        seed=seed,
        channel=max(channels.values(), key=list(ChannelName).index),
        steps=len(reported),
        hits=hits,
        features=frozenset(
            {
                TWO_NAMESPACES,
                *simulations.features,
                *spared.features,
                *troubled.features,
                *(("hit",) if hits else ()),
                *(("lost stream",) if troubled.stats().streams_lost else ()),
            }
        ),
        violations=federation.violations,
    )


def _drawn_channel(chance: random.Random) -> ChannelName:
    return ChannelName.DIRECT if chance.randrange(ZOOKEEPER_EVERY) else ChannelName.ZOOKEEPER
