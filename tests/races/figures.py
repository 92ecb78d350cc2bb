"""What a run of forced races did, and whether that is enough to prove anything."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tests.races.exemptions import NEVER_WAITS, OFF_THE_PATH
from tests.races.places import Place
from tests.sums import add_to

MIN_DECISIVE_SHARE: Final = 0.25
"""Of the fills that were held: the reply was kept, or would have been but for a spoiled ticket."""

SHOWN: Final = 20
"""Violations shown."""


@dataclass
class Figures:
    """One part of a run; parts are added up with `add`.

    Attributes:
        part: its name, such as "model" or "real, direct".
        races: forced ones: a task was held, and something happened there.
        held: how many of these at each place (at all places of the stand in which it was held).
        stood: how often a task waited at each place, held or not.
        disturbances: races by what happened there.
        fills: races in which a read was held that had asked the NameNode.
        kept: of these, the cache took the reply.
        spoiled: of these, it would have, had not a change spoiled the ticket.
        violations: one line each: what was wrong, and how to see it again.
    """

    part: str
    races: int = 0
    held: Counter[Place] = field(default_factory=Counter)
    stood: Counter[Place] = field(default_factory=Counter)
    disturbances: Counter[str] = field(default_factory=Counter)
    fills: int = 0
    kept: int = 0
    spoiled: int = 0
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: "Figures") -> None:
        """Take the figures of another part, or of another process, on top of these."""
        add_to(self, other)

    @property
    def decisive_share(self) -> float:
        """Share of the held fills in which the reply was, or would have been, kept."""
        return (self.kept + self.spoiled) / self.fills if self.fills else 0.0

    def lines(self) -> list[str]:
        """Return the figures for a reader."""
        share = f"{self.decisive_share:.1%}"
        what = ", ".join(f"{name} {times:,}" for name, times in self.disturbances.most_common())
        return [
            f"{self.part}: {self.races:,} races in {self.seconds:.0f} s, {len(self.violations)} violations",
            f"  fills held {self.fills:,}: kept {self.kept:,}, spoiled {self.spoiled:,} ({share})",
            f"  what happened: {what}",
            *(f"  VIOLATION {violation}" for violation in self.violations[:SHOWN]),
        ]

    def shortfalls(self, *, races: int) -> list[str]:
        """Say what is wrong, or too little."""
        short = [f"{self.part}: {violation}" for violation in self.violations[:SHOWN]]
        if self.races < races:
            short.append(f"{self.part}: {self.races:,} races instead of {races:,}")
        if self.decisive_share < MIN_DECISIVE_SHARE:
            short.append(
                f"{self.part}: in {self.decisive_share:.1%} of the held fills the reply could have been kept; "
                f"{MIN_DECISIVE_SHARE:.0%} prove something"
            )
        return short

    def unvisited(self, places: Iterable[Place]) -> list[str]:
        """Say which of these places no race was held at, and what of the exemptions is not true."""
        wanted = sorted(places)
        known = {place.key for place in wanted}
        short = [
            f"an exemption is about nothing: {key}"
            for key in (NEVER_WAITS | OFF_THE_PATH)
            if key not in known
        ]
        for place in wanted:
            if place.key in NEVER_WAITS:
                if self.stood[place]:
                    short.append(f"a task waited where the exemptions say that none can: {place}")
            elif place.key not in OFF_THE_PATH and not self.held[place]:
                short.append(f"no race was held at {place} (stood there: {self.stood[place]})")
        return short

    def by_place(self, places: Iterable[Place]) -> list[str]:
        """Return a line for each place: races held there, and how often a task waited there."""
        return [f"  {self.held[place]:>9,} {self.stood[place]:>11,}  {place}" for place in sorted(places)]
