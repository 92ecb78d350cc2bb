"""The sums of a run of forced races, and whether they suffice as evidence."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from tests.races.exemptions import NEVER_WAITS, OFF_THE_PATH
from tests.races.places import Place
from tests.sums import add_to

MIN_DECISIVE_SHARE: Final = 0.25
"""The smallest acceptable share of held fills whose reply was cached, or would have been unspoiled."""

SHOWN: Final = 20
"""Maximum number of violations shown."""


@dataclass
class Figures:
    """One part of a run; `add` sums several parts.

    Attributes:
        part: its name, such as "model" or "real, direct".
        races: forced races: a task was held, and something happened during that time.
        held: number of races at each place (each place of the wait point where the task was held).
        stood: number of times that a task waited at each place, held or not.
        disturbances: races by what happened during the hold.
        fills: races that held a read which had called the NameNode.
        kept: fills whose reply was cached.
        spoiled: fills whose reply would have been cached, had no change spoiled the ticket.
        violations: one line each: the fault, and how to reproduce it.
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
        """Add the figures of another part or process."""
        add_to(self, other)

    @property
    def decisive_share(self) -> float:
        """Share of the held fills whose reply was, or would have been, cached."""
        return (self.kept + self.spoiled) / self.fills if self.fills else 0.0

    def lines(self) -> list[str]:
        """Return the report, one item a line."""
        share = f"{self.decisive_share:.1%}"
        what = ", ".join(f"{name} {times:,}" for name, times in self.disturbances.most_common())
        return [
            f"{self.part}: {self.races:,} races in {self.seconds:.0f} s, {len(self.violations)} violations",
            f"  fills held {self.fills:,}: kept {self.kept:,}, spoiled {self.spoiled:,} ({share})",
            f"  what happened: {what}",
            *(f"  VIOLATION {violation}" for violation in self.violations[:SHOWN]),
        ]

    def shortfalls(self, *, races: int) -> list[str]:
        """Return each requirement that the run does not meet."""
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
        """Return the places where no race was held, and the exemptions that are wrong."""
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
        """Return a line for each place: races held there, and waits there."""
        return [f"  {self.held[place]:>9,} {self.stood[place]:>11,}  {place}" for place in sorted(places)]
