"""The acts of a history of two namespaces behind one proxy, by name.

Each act of a single namespace can happen to both. Faults happen to one of them only; the other namespace is
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
"""The feature of histories in which one namespace answered from memory while the other had a fault."""

_TROUBLES: Final = frozenset(
    {
        "be slow", "crash", "hold sync", "sync", "cut", "cut under a call", "fall silent", "lose edits",
        "small pages", "befall the channel", "break the cache", "end troubles",
    }
)  # fmt: skip


@dataclass
class TwoSimulations:
    """Both simulations, and the features that their history has shown.

    Attributes:
        spared: the namespace without faults of its own.
        troubled: the other namespace.
    """

    federation: Federation
    spared: Simulation
    troubled: Simulation
    features: set[str] = field(default_factory=set)
    _was_open: bool = False  # the gate of the spared namespace

    @property
    def spared_system(self) -> NamespaceSystem:
        """The system of the spared namespace."""
        system = self.spared.system
        assert isinstance(system, NamespaceSystem)
        return system

    def say(self, what: str) -> None:
        """Report that a fault of one namespace affected the other."""
        self.spared.system.judge.say(Guarantee.OWN_NAMESPACE, f"{what}, for a trouble of the other namespace")

    def judge_spared(self) -> None:
        """Judge that the spared namespace keeps its stream and its open gate."""
        if self.spared.stats().streams_lost:
            self.say("the stream was lost")
        is_open = self.spared.system.cache.gate.is_open(clock())
        if self._was_open and not is_open:
            self.say("the gate was closed")
        self._was_open |= is_open

    # -- faults of one, and hits of the other ----------------------------------------------------------------

    def go_away(self) -> None:
        """Stop all NameNodes of the troubled namespace from answering."""
        for namenode in self.troubled.system.cluster.namenodes:
            namenode.answers_http = namenode.is_reachable = False
            namenode.cut()

    async def see_hits_beside_a_trouble(self, number: int) -> None:
        """Read cached paths of one namespace before and during a fault of the other: all must be hits."""
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
        """Read paths near, above or outside the mount points."""
        draw, system = Draw(number), self.spared_system
        path, user = BESIDE[draw.of(len(BESIDE))], draw.user()
        for _ in range(3):
            system.come(system.read(path, user))

    def spell(self, number: int) -> None:
        """Read a path in several spellings, each several times."""
        draw, system = Draw(number), self.spared_system
        path, user = ALL_PATHS[draw.of(len(ALL_PATHS))], draw.user()

        async def story() -> None:
            for spelled in (path.replace("/", "//"), path, f"{path}/", path.replace("/", "//")):
                for _ in range(3):
                    await system.read(path, user, spelled=spelled)

        system.come(story())

    def rename(self, number: int) -> None:
        """Rename a path, possibly across mount points; then read both paths."""
        draw, system = Draw(number), self.spared_system
        source, to = (ALL_PATHS[draw.of(len(ALL_PATHS))] for _ in range(2))

        async def story() -> None:
            await system.write(rename(source, to))
            for path in (source, to):
                await system.read(path, USERS[0])

        system.come(story())

    def take_away(self, number: int) -> None:
        """Delete a mount point or another directory."""
        draw, system = Draw(number), self.spared_system
        path = ("/a", "/a/b", "/a/b/d", "/c", "/d", "/d/e", "/d/e/f", "/cf")[draw.of(8)]

        async def story() -> None:
            await system.write(delete(path))
            await system.read(path, USERS[0])

        system.come(story())

    def concatenate(self, number: int) -> None:
        """Send a CONCAT with several sources; the model's NameNodes change nothing on it."""
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
"""By name: the weight of an act in the draw, and the act."""

assert ACTS.keys() >= _TROUBLES, "a trouble that is no act"
