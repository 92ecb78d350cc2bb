"""The sums of the attacker's histories."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tests.hostile.attacker.history import AttackHistory, tell
from tests.sums import add_to

MIN_HIT_SHARE: Final = 0.9
"""The smallest acceptable share of hits among the polls: an attack on an empty cache proves nothing."""

WANTED: Final = (
    "flood",
    "scan",
    "upload",
    "odd name",
    "hiccup",
    "change of a victim",
    "CREATE",
    "RENAME",
    "odd",
)


@dataclass
class AttackFigures:
    """Sums over histories."""

    histories: int = 0
    calls: int = 0
    polls: int = 0
    hits: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    channels: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def take(self, history: AttackHistory) -> None:
        """Count one history."""
        self.histories += 1
        self.calls += history.calls
        self.polls += history.polls
        self.hits += history.hits
        self.kinds += history.kinds
        self.channels[history.channel.value] += 1
        if history.findings:
            first = history.findings[0]
            self.findings.append(
                f"--seed {history.seed} --histories 1, {history.channel.value}: {first.broken}: {first.what}"
            )

    def add(self, others: "AttackFigures") -> None:
        """Add the sums of other histories."""
        add_to(self, others)

    def lines(self) -> list[str]:
        """Return the report, one item a line."""
        channels = ", ".join(f"{number:,} on channel {name}" for name, number in self.channels.most_common())
        return [
            f"attacker in the model: {self.histories:,} histories ({channels}), {self.calls:,} calls",
            f"  {self.hits:,} of {self.polls:,} polls of others were hits",
            "  " + ", ".join(f"{kind} {number:,}" for kind, number in self.kinds.most_common()),
            f"  histories in which an invariant broke: {len(self.findings)}",
        ]

    def shortfalls(self, *, histories: int) -> list[str]:
        """Return each requirement that the run does not meet."""
        short = [f"attacker in the model: {what}" for what in self.findings[:20]]
        if self.histories < histories:
            short.append(f"attacker in the model: {self.histories:,} histories instead of {histories:,}")
        if self.hits < self.polls * MIN_HIT_SHARE or not self.polls:
            short.append(f"attacker in the model: only {self.hits:,} of {self.polls:,} polls were hits")
        short += [f"attacker in the model: there was no {kind}" for kind in WANTED if not self.kinds[kind]]
        return short


def tell_chunk(seeds: range) -> AttackFigures:
    """Run the histories of these seeds."""
    figures = AttackFigures()
    for seed in seeds:
        figures.take(tell(seed))
    return figures
