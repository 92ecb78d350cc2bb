"""Hold conversations until enough requests are compared."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.alike.comparing import Comparison, hold
from tests.alike.drawing import draw
from tests.alike.steps import Conversation
from tests.quiet import be_quiet

MIN_SHARES: Final = {"quick": 0.22, "plain": 0.18, "fills": 0.04}
"""The smallest acceptable shares of the requests, by the names in `Comparison.counts`."""

_MAX_TRIALS: Final = 400  # to shorten a conversation


@dataclass
class Figures:
    """The sums of a run.

    Attributes:
        counts: as in `Comparison`, summed over the conversations.
        difference: the first difference; "" if there is none.
        reported: the steps that reproduce it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    conversations: int = 0
    difference: str = ""
    reported: Conversation = ()

    def line(self) -> str:
        """Return the figures in one line."""
        parts = (f"{name}: {self.counts[name]:,} ({self.share(name):.1%})" for name in MIN_SHARES)
        return (
            f"{self.counts['requests']:,} requests in {self.conversations:,} conversations compared, of these "
            f"{', '.join(parts)}; {self.counts['handed_over']:,} begun as plain calls and handed over"
        )

    def share(self, name: str) -> float:
        """Return the share of requests in this count."""
        return self.counts[name] / (self.counts["requests"] or 1)

    def shortfalls(self, *, requests: int) -> list[str]:
        """Return each requirement that the run does not meet."""
        if self.difference:
            return [self.difference]
        short = [
            f"{self.share(name):.1%} of the requests are {name}, not {least:.0%}"
            for name, least in MIN_SHARES.items()
            if self.share(name) < least
        ]
        if self.counts["requests"] < requests:
            short.append(f"{self.counts['requests']:,} requests instead of {requests:,}")
        return short


def compare(
    *, requests: int, seed: int, first: int = 1, progress: Callable[[Figures], None] = lambda _: None
) -> Figures:
    """Compare this number of requests, or until there is a difference."""
    be_quiet()
    figures = Figures()
    for number in range(first, first + requests):
        conversation = draw(f"{seed}/{number}")
        outcome = hold(conversation)
        figures.conversations += 1
        figures.counts += outcome.counts
        if outcome.difference:
            figures.reported, shown = shorten(conversation, outcome)
            figures.difference = f"conversation {number} of seed {seed}: {shown}"
        progress(figures)
        if outcome.difference or figures.counts["requests"] >= requests:
            break
    return figures


def shorten(conversation: Conversation, outcome: Comparison) -> tuple[Conversation, str]:
    """Remove steps while a difference remains; return the remaining steps and the difference."""
    kept, shown, trials = conversation[: outcome.steps], outcome.difference, 0
    if not hold(kept).difference:
        kept = conversation
    size = len(kept) // 2
    while size and trials < _MAX_TRIALS:
        start = 0
        while start < len(kept) and trials < _MAX_TRIALS:
            fewer = kept[:start] + kept[start + size :]
            trials += 1
            if tried := hold(fewer).difference:
                kept, shown = fewer, tried
            else:
                start += size
        size //= 2
    return kept, shown
