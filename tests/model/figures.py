"""The sums of many histories, and whether they suffice as evidence."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from tests.model.channels import ChannelName
from tests.model.federated_acts import BESIDE_A_TROUBLE, TWO_NAMESPACES
from tests.model.federated_history import FEDERATED_EVERY, is_federated, tell_federated
from tests.model.history import History, tell
from tests.sums import add_to

MIN_SHARE: Final = 0.10
"""The smallest acceptable share of the histories that show each wanted feature."""

SCENARIOS_EVERY: Final = 4
"""One of this many histories has scenarios in it."""

WANTED: Final = ("hit", "gap", "crash", "open file", "permission change")


@dataclass
class Figures:
    """Sums over histories."""

    histories: int = 0
    steps: int = 0
    hits: int = 0
    channels: Counter[str] = field(default_factory=Counter)
    features: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def take(self, history: History) -> None:
        """Count one history."""
        self.histories += 1
        self.steps += history.steps
        self.hits += history.hits
        self.channels[history.channel.value] += 1
        self.features.update(history.features)
        if history.violations:
            first = history.violations[0]
            self.violations.append(
                f"--seed {history.seed} --histories 1, {history.channel.value}: {first.guarantee}: {first.what}"
            )

    def add(self, others: "Figures") -> None:
        """Add the sums of other histories."""
        add_to(self, others)

    def share(self, feature: str) -> float:
        """Return the share of the histories with this feature."""
        return self.features[feature] / self.histories if self.histories else 0.0

    def lines(self) -> list[str]:
        """Return the report, one item a line."""
        channels = ", ".join(f"{number:,} on channel {name}" for name, number in self.channels.most_common())
        others = [feature for feature, _ in self.features.most_common() if feature not in WANTED]
        return [
            f"histories             {self.histories:,} ({channels})",
            f"steps                 {self.steps:,}; answers from memory judged: {self.hits:,}",
            "shares of histories   "
            + ", ".join(f"{feature} {self.share(feature):.1%}" for feature in (*WANTED, *others)),
            f"violations            {len(self.violations)}",
            *(f"VIOLATION: {violation}" for violation in self.violations[:20]),
        ]

    def shortfalls(self, *, histories: int, steps: int) -> list[str]:
        """Return each requirement that the run does not meet."""
        short = []
        if self.violations:
            short.append(f"{len(self.violations)} histories with a violation")
        if self.histories < histories:
            short.append(f"only {self.histories:,} histories were told")
        if self.steps < self.histories * steps:
            short.append(f"only {self.steps:,} steps were made")
        short += [
            f"only {self.share(feature):.1%} of the histories had: {feature}"
            for feature in WANTED
            if self.share(feature) < MIN_SHARE
        ]
        beside, both = self.features[BESIDE_A_TROUBLE], self.features[TWO_NAMESPACES]
        if both < histories // FEDERATED_EVERY or beside < both * MIN_SHARE:
            short.append(
                f"only {both:,} histories of two namespaces, {beside:,} of them with hits beside a trouble"
            )
        return short


def tell_chunk(seeds: range, *, steps: int, channel: ChannelName | None) -> Figures:
    """Run the histories of these seeds, some with scenarios, and some with two namespaces."""
    figures = Figures()
    for seed in seeds:
        if is_federated(seed):
            figures.take(tell_federated(seed, steps, channel=channel))
        else:
            figures.take(tell(seed, steps, channel=channel, has_scenarios=seed % SCENARIOS_EVERY == 1))
    return figures
