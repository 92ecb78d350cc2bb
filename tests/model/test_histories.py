"""The short form of `make model`: random histories of the whole system, from seeds and from hypothesis."""

import asyncio
import random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.invalidation.virtual_time import VirtualLoop
from tests.model.acts import ACTS, PAUSES_S, Simulation
from tests.model.channels import ChannelName
from tests.model.figures import MIN_SHARE, WANTED, tell_chunk
from tests.model.history import STEPS, History, draw, tell
from tests.model.system import ModelSystem

SEEDED = 120

READS = ("read", "poll", "herd", "refresh")
CHANGES = ("change", "change and poll", "write", "change access", "write access", "write policy", "restore")
OPENINGS = ("create", "open", "flush", "close")
TROUBLES = tuple(name for name in ACTS if name not in {*READS, *CHANGES, *OPENINGS})

acts = st.one_of(*map(st.sampled_from, (READS, CHANGES, OPENINGS, TROUBLES)))
numbers = st.integers(0, (1 << 24) - 1)
pauses = st.sampled_from(PAUSES_S)


def test_seeded_histories_break_no_guarantee() -> None:
    """Every guarantee holds after each step, and enough histories show the wanted features."""
    figures = tell_chunk(range(1, SEEDED + 1), steps=STEPS, channel=None)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(histories=SEEDED, steps=STEPS) == []
    assert all(figures.share(feature) >= MIN_SHARE for feature in WANTED)


def test_a_seed_tells_the_same_again() -> None:
    """A seed reproduces its history, so a violation can be repeated."""
    assert draw(7, 20) == draw(7, 20)
    reported: list[History] = [tell(10, 30), tell(10, 30)]
    assert reported[0] == reported[1]


class WholeSystem(RuleBasedStateMachine):
    """Histories that hypothesis draws and shrinks, judged after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        self.simulation: Simulation | None = None

    @initialize(channel=st.sampled_from(ChannelName), per_path=st.booleans(), small=st.booleans())
    def begin(self, channel: ChannelName, *, per_path: bool, small: bool) -> None:
        """Start the system."""

        async def make() -> Simulation:
            system = ModelSystem(
                random.Random(1),
                channel,
                grants="per_path" if per_path else "per_directory",
                max_cache_entries=6 if small else 1000,
            )
            await system.__aenter__()
            return Simulation(system, channel)

        self.simulation = self.loop.run_until_complete(make())

    @rule(act=acts, number=numbers, pause_s=pauses)
    def act(self, act: str, number: int, pause_s: float) -> None:
        """Run an act of any kind, then judge the system."""
        simulation = self.simulation
        assert simulation is not None

        async def step() -> None:
            ACTS[act][1](simulation, number)
            await asyncio.sleep(pause_s)
            simulation.system.judge.sweep()
            simulation.system.cache.check()

        self.loop.run_until_complete(step())
        assert not simulation.system.judge.violations, simulation.system.judge.violations[0]

    def teardown(self) -> None:
        """End all faults; every client must have an answer."""
        if self.simulation is None:
            self.loop.close()
            return
        simulation = self.simulation

        async def end() -> None:
            simulation.end_troubles(0)
            await simulation.system.__aexit__(None, None, None)

        try:
            self.loop.run_until_complete(end())
        finally:
            self.loop.close()
        assert not simulation.system.judge.violations, simulation.system.judge.violations[0]


TestWholeSystem = WholeSystem.TestCase
TestWholeSystem.settings = settings(max_examples=40, stateful_step_count=30)
