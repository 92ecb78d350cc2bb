"""What can happen to two namespaces behind one proxy, by name.

All that can happen to one happens to both, but for troubles: those befall one of them alone, and the other one is
`spared`.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tests.invalidation.virtual_time import clock
from tests.model.acts import ACTS, Simulation
from tests.model.draws import PATHS, USERS, Draw
from tests.model.federation import Federation, NamespaceSystem
from tests.model.guarantee import Guarantee
from tests.model.mount_oracle import BESIDE
from tests.model.namespace import SUPERUSER, TRUE
from tests.model.scenario_setup import SETTLED_S
from tests.model.writes import delete, rename

ALL_PATHS: Final = (*PATHS, *BESIDE)

TWO_NAMESPACES: Final = "two namespaces"
BESIDE_A_TROUBLE: Final = "hits beside a trouble"
"""The feature of histories in which one namespace answered from memory while the other one could not."""

_TROUBLES: Final = frozenset(
    {
        "be slow", "crash", "hold sync", "sync", "cut", "cut under a call", "fall silent", "lose edits",
        "small pages", "befall the channel", "break the cache", "end troubles",
    }
)  # fmt: skip


@dataclass
class TwoSimulations:
    """Both, and what has been seen in their history.

    Attributes:
        spared: the namespace that has no trouble of its own.
        troubled: the other one.
    """

    federation: Federation
    spared: Simulation
    troubled: Simulation
    features: set[str] = field(default_factory=set)
    _was_open: bool = False  # the gate of the one that is spared

    @property
    def spared_system(self) -> NamespaceSystem:
        """What answers for the one that is spared."""
        system = self.spared.system
        assert isinstance(system, NamespaceSystem)
        return system

    def say(self, what: str) -> None:
        """Write down that a trouble of one has cost the other something."""
        self.spared.system.judge.say(Guarantee.OWN_NAMESPACE, f"{what}, for a trouble of the other namespace")

    def judge_spared(self) -> None:
        """See that the stream goes on and the gate stays open where there is no trouble."""
        if self.spared.stats().streams_lost:
            self.say("the stream was lost")
        is_open = self.spared.system.cache.gate.is_open(clock())
        if self._was_open and not is_open:
            self.say("the gate was closed")
        self._was_open |= is_open

    # -- troubles of one, and hits of the other ------------------------------------------------------------------------

    def go_away(self) -> None:
        """Let no NameNode of a namespace answer."""
        for namenode in self.troubled.system.cluster.namenodes:
            namenode.answers_http = namenode.is_reachable = False
            namenode.cut()

    async def see_hits_beside_a_trouble(self, number: int) -> None:
        """Read what is kept of one namespace before and while the other one has a trouble: it must not matter."""
        draw, system = Draw(number), self.spared_system
        trouble, takes_s = _CALM_TROUBLES[draw.of(len(_CALM_TROUBLES))], (0.5, 4.0, 20.0)[draw.of(3)]
        self.troubled.end_troubles(0)
        await self.federation.clients_left()
        await asyncio.sleep(SETTLED_S)
        own = [path for path in ALL_PATHS if self.federation.oracle.holder(path) == system.name]
        asked = [(path, user) for path in own for user in USERS]
        for path, user in asked:
            await system.read(path, user)
        kept = [each for each in asked if (reported := await system.read(*each)) and reported.is_from_memory]
        trouble(self, draw.number)
        elsewhere = [path for path in ALL_PATHS if path not in own]
        for path in elsewhere:
            self.troubled.system.come(self.troubled.system.read(path, USERS[0]))
        await asyncio.sleep(takes_s)
        fetches = system.upstream.fetches
        for path, user in kept:
            reported = await system.read(path, user)
            if reported is None or not reported.is_from_memory:
                self.say(f"{path} is not answered from memory to {user}: {reported}")
        if system.upstream.fetches != fetches:
            self.say("the NameNode was asked for what is kept")
        if kept and not self.troubled.system.cache.gate.is_open(clock()):
            self.features.add(BESIDE_A_TROUBLE)
        self.judge_spared()
        self.troubled.end_troubles(0)

    # -- the mount table -----------------------------------------------------------------------------------------------

    def read_beside(self, number: int) -> None:
        """Ask for what lies near, above or outside of mount points."""
        draw, system = Draw(number), self.spared_system
        path, user = BESIDE[draw.of(len(BESIDE))], draw.user()
        for _ in range(3):
            system.come(system.read(path, user))

    def spell(self, number: int) -> None:
        """Ask for a path in several spellings, each of them several times."""
        draw, system = Draw(number), self.spared_system
        path, user = ALL_PATHS[draw.of(len(ALL_PATHS))], draw.user()

        async def story() -> None:
            for spelled in (path.replace("/", "//"), path, f"{path}/", path.replace("/", "//")):
                for _ in range(3):
                    await system.read(path, user, spelled=spelled)

        system.come(story())

    def rename(self, number: int) -> None:
        """Rename something, across mount points or to one; then see that both paths are as they were."""
        draw, system = Draw(number), self.spared_system
        source, to = (ALL_PATHS[draw.of(len(ALL_PATHS))] for _ in range(2))

        async def story() -> None:
            await system.write(rename(source, to))
            for path in (source, to):
                await system.read(path, USERS[0])

        system.come(story())

    def take_away(self, number: int) -> None:
        """Delete a mount point, or something else."""
        draw, system = Draw(number), self.spared_system
        path = ("/a", "/a/b", "/a/b/d", "/c", "/d", "/d/e", "/d/e/f", "/cf")[draw.of(8)]

        async def story() -> None:
            await system.write(delete(path))
            await system.read(path, USERS[0])

        system.come(story())

    def concatenate(self, number: int) -> None:
        """Name several sources of a CONCAT: the model's NameNodes change nothing then."""
        draw, system = Draw(number), self.spared_system
        path, *sources = (ALL_PATHS[draw.of(len(ALL_PATHS))] for _ in range(3))
        target = f"{path}?op=CONCAT&sources={','.join(sources)}&user.name={SUPERUSER}"
        system.come(system.call_that_changes_nothing("POST", target, TRUE))


def _lose_edits(simulations: TwoSimulations, number: int) -> None:
    simulations.troubled.lose_edits(number)


_CALM_TROUBLES: Final[tuple[Callable[[TwoSimulations, int], None], ...]] = (
    lambda simulations, _: simulations.go_away(),
    lambda simulations, _: simulations.go_away(),
    lambda simulations, number: simulations.troubled.crash(number),
    lambda simulations, number: simulations.troubled.fall_silent(number),
    lambda simulations, number: simulations.troubled.befall(number),
    _lose_edits,
)


def _of_either(act: Callable[[Simulation, int], None], simulations: TwoSimulations, number: int) -> None:
    act((simulations.spared, simulations.troubled)[number % 2], number // 2)


def _of_troubled(act: Callable[[Simulation, int], None], simulations: TwoSimulations, number: int) -> None:
    act(simulations.troubled, number)


FEDERATED_ACTS: Final[Mapping[str, tuple[int, Callable[[TwoSimulations, int], None]]]] = {
    **{
        name: (weight, partial(_of_troubled if name in _TROUBLES else _of_either, act))
        for name, (weight, act) in ACTS.items()
    },
    "read beside": (8, TwoSimulations.read_beside),
    "spell": (3, TwoSimulations.spell),
    "rename": (8, TwoSimulations.rename),
    "take away": (3, TwoSimulations.take_away),
    "concatenate": (2, TwoSimulations.concatenate),
    "go away": (2, lambda simulations, _: simulations.go_away()),
}
"""By name: how often, compared with the others, and what."""

assert ACTS.keys() >= _TROUBLES, "a trouble that is no act"
