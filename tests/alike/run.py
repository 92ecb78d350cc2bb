"""Hold conversations until enough requests were compared."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.alike.comparing import Comparison, hold
from tests.alike.drawing import draw
from tests.alike.steps import Conversation
from tests.quiet import be_quiet

MIN_QUICK_SHARE: Final = 0.22
"""Of the requests: those answered from memory by the quick ways. With fewer too little is compared."""

MIN_PLAIN_SHARE: Final = 0.04
"""The same of those that were passed on as plain calls, and answered as such."""

MIN_FILLS_SHARE: Final = 0.01
"""The same of those among them that may be kept."""

_MAX_TRIALS: Final = 400  # to make a conversation shorter


@dataclass(kw_only=True)
class Figures:
    """What a run has come to.

    Attributes:
        requests: that were compared, in so many conversations.
        quick: of these, answered from memory by the quick ways.
        plain: of these, passed on as plain calls and answered as such.
        fills: of these, such as may be kept.
        handed_over: of all, begun as plain calls and ended by the ordinary path, or by their client.
        difference: what was not the same; "" for nothing.
        reported: the steps that show it.
    """

    requests: int = 0
    conversations: int = 0
    quick: int = 0
    plain: int = 0
    fills: int = 0
    handed_over: int = 0
    difference: str = ""
    reported: Conversation = ()

    def line(self) -> str:
        """Say it in a line."""
        return (
            f"{self.requests:,} requests in {self.conversations:,} conversations compared, "
            f"{self.quick:,} of them ({self.quick_share:.1%}) answered from memory by the quick ways, "
            f"{self.plain:,} ({self.plain_share:.1%}) by plain calls, "
            f"{self.fills:,} ({self.fills_share:.1%}) of them of what may be kept, "
            f"{self.handed_over:,} begun as plain calls and handed over"
        )

    @property
    def quick_share(self) -> float:
        """Share of the requests that the quick ways answered from memory."""
        return self.quick / self.requests if self.requests else 0.0

    @property
    def plain_share(self) -> float:
        """Share of the requests that plain calls answered."""
        return self.plain / self.requests if self.requests else 0.0

    @property
    def fills_share(self) -> float:
        """Share of the requests that plain calls answered with what may be kept."""
        return self.fills / self.requests if self.requests else 0.0

    def shortfalls(self, *, requests: int) -> list[str]:
        """Say what is wrong, or too little."""
        if self.difference:
            return [self.difference]
        short = []
        if self.requests < requests:
            short.append(f"{self.requests:,} requests instead of {requests:,}")
        if self.quick_share < MIN_QUICK_SHARE:
            short.append(f"{self.quick_share:.1%} answered by the quick ways, not {MIN_QUICK_SHARE:.0%}")
        if self.plain_share < MIN_PLAIN_SHARE:
            short.append(f"{self.plain_share:.1%} answered by plain calls, not {MIN_PLAIN_SHARE:.0%}")
        if self.fills_share < MIN_FILLS_SHARE:
            short.append(f"{self.fills_share:.1%} answered by plain fills, not {MIN_FILLS_SHARE:.0%}")
        return short


def compare(
    *, requests: int, seed: int, first: int = 1, progress: Callable[[Figures], None] = lambda _: None
) -> Figures:
    """Compare so many requests, or as many as it takes to see a difference."""
    be_quiet()
    figures = Figures()
    for number in range(first, first + requests):
        conversation = draw(f"{seed}/{number}")
        outcome = hold(conversation)
        figures.conversations += 1
        figures.requests += outcome.requests
        figures.quick += outcome.quick
        figures.plain += outcome.plain
        figures.fills += outcome.fills
        figures.handed_over += outcome.handed_over
        if outcome.difference:
            figures.reported, shown = shorten(conversation, outcome)
            figures.difference = f"conversation {number} of seed {seed}: {shown}"
        progress(figures)
        if outcome.difference or figures.requests >= requests:
            break
    return figures


def shorten(conversation: Conversation, outcome: Comparison) -> tuple[Conversation, str]:
    """Leave out steps as long as there is a difference; return the steps left, and the difference."""
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
