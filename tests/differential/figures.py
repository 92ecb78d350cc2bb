"""The figures of a differential run, and whether they suffice."""

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from tests.differential.exceptions import Excuse
from tests.real.figures import quantile
from tests.sums import add_to

JUDGED_SEGMENT_TXIDS: Final = 10_000
"""Latencies are guaranteed for open edit segments of at most this many transactions."""


class ReplyCheck(Enum):
    """The subject of an answer of 200 or 404, according to the NameNode."""

    CLOSED_FILE = "closed files"
    MISSING = "missing paths"
    DIRECTORY = "directories"
    OPEN_FILE = "open files"
    UNCACHEABLE = "below .snapshot, or snapshottable"


KEEPABLE: Final = (ReplyCheck.CLOSED_FILE, ReplyCheck.MISSING)
"""At least half of these answers must come from memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The required figures of a run."""

    p50_ms: float = 30.0
    p99_ms: float = 250.0
    hit_share: float = 0.5
    timed_share: float = 0.05  # timed changes for each operation


@dataclass(slots=True)
class Figures:
    """Counts of one run, or of several.

    Attributes:
        latencies_s: from the acknowledgement of a change behind the proxy's back to the start of the first read that
            showed it, for paths that were a hit less than a second before.
        wrong: the wrong answers, each with the operation before it.
        stale_after_write: number of wrong answers after a write through the proxy.
        impostors: number of questions with a false credential; `given_away`: how many of them were answered.
        refused: operations that the NameNode refused, by kind.
        answers, hits: answers of 200 or 404 after an operation, and those of them that came from memory.
        met: differences that each named exception excused.
        segment_txids: the most transactions seen in the NameNode's open edit segment.
    """

    operations: int = 0
    behind: int = 0
    compared: int = 0
    stale_after_write: int = 0
    impostors: int = 0
    given_away: int = 0
    segment_txids: int = 0
    took_s: float = 0.0
    wrong: list[str] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    answers: Counter[ReplyCheck] = field(default_factory=Counter)
    hits: Counter[ReplyCheck] = field(default_factory=Counter)
    met: Counter[Excuse] = field(default_factory=Counter)

    def add(self, other: "Figures") -> None:
        """Add the figures of another run."""
        most = max(self.segment_txids, other.segment_txids)
        add_to(self, other)
        self.segment_txids = most

    def share(self, *about: ReplyCheck) -> float:
        """Return the share of the answers about these subjects that came from memory."""
        answers = sum(self.answers[each] for each in about)
        return sum(self.hits[each] for each in about) / answers if answers else 0.0

    def quantile_ms(self, share: float) -> float:
        """Return a quantile of the latencies in milliseconds; 0 without any."""
        return 1000.0 * quantile(self.latencies_s, share)

    def line(self) -> str:
        """Return the main figures in one line."""
        return (
            f"{self.operations} operations ({self.behind} behind the proxy's back), {self.compared} answers compared: "
            f"{len(self.wrong)} wrong, {self.stale_after_write} stale after a write; "
            f"{self.share(*KEEPABLE):.1%} hits; a change seen after p50 {self.quantile_ms(0.5):.1f} ms, "
            f"p99 {self.quantile_ms(0.99):.1f} ms of {len(self.latencies_s)}; "
            f"open segment up to {self.segment_txids} transactions; {self.took_s:.0f} s"
        )

    def lines(self) -> list[str]:
        """Return all figures as lines of text."""
        kinds = sorted(self.accepted | self.refused)
        by_kind = ", ".join(f"{kind} {self.accepted[kind]}+{self.refused[kind]}" for kind in kinds)
        about = ", ".join(f"{each.value} {self.hits[each]} of {self.answers[each]}" for each in ReplyCheck)
        impostors = f"{self.impostors} questions, {self.given_away} of them answered"
        met = [f"{excuse.name} {number}" for excuse, number in self.met.items()]
        return [
            self.line(),
            f"operations by kind    accepted+refused by the NameNode: {by_kind}",
            (
                f"hits                  {self.share(*KEEPABLE):.1%} of closed files and missing paths, "
                f"{self.share(*ReplyCheck):.1%} of all 200 and 404"
            ),
            f"hits in full          {about}",
            f"named exceptions met  {', '.join(met) or 'none'}",
            *([f"without any right     {impostors}"] if self.impostors else []),
            *(f"WRONG: {wrong}" for wrong in self.wrong[:20]),
        ]

    def shortfalls(self, target: Target) -> list[str]:
        """Return the requirements that the run does not meet."""
        short = []
        if self.wrong:
            short.append(
                f"{len(self.wrong)} wrong answers, {self.stale_after_write} of them after a write through the proxy"
            )
        if self.given_away:
            short.append(f"{self.given_away} answers to one who has no right")
        if self.share(*KEEPABLE) < target.hit_share:
            short.append(f"only {self.share(*KEEPABLE):.1%} hits: too few to prove anything")
        if len(self.latencies_s) < self.operations * target.timed_share:
            short.append(f"only {len(self.latencies_s)} changes were timed: too few to prove anything")
        for name, share, at_most in (("p50", 0.5, target.p50_ms), ("p99", 0.99, target.p99_ms)):
            if self.quantile_ms(share) > at_most:
                short.append(
                    f"a change is seen after {self.quantile_ms(share):.1f} ms ({name}), not {at_most:g} ms"
                )
        return short

    def never_accepted(self) -> list[str]:
        """Return the kinds of operation that the NameNode always refused: the run proves nothing about them."""
        return sorted(kind for kind in self.refused if not self.accepted[kind])
