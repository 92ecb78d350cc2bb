"""A run, second by second: what became of the polls, and what the NameNodes were asked.

Pure. All times are seconds since the first poll was due.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

MEMORY: Final = "from memory"
ASKED: Final = "by the NameNode"
FAILED: Final = "failed"
OUTCOMES: Final = (MEMORY, ASKED, FAILED)
"""How a poll can end: the last is an error of the proxy or the network, or a poll that could not be sent in time."""


@dataclass(frozen=True, slots=True)
class Poll:
    """One poll: when it was due, how long it took from then on, and what came of it, one of `OUTCOMES`."""

    due_s: float
    took_s: float
    outcome: str


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that was caused: what, from when until when."""

    what: str
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Counted:
    """What the NameNodes had answered so far, by call, at a moment."""

    at_s: float
    calls: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """One second of the run.

    Attributes:
        polls: that were due in it, by outcome.
        p99_s: the time within which 99 % of those that got a reply did; 0 if none did.
    """

    polls: Mapping[str, int]
    p99_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A whole run.

    Attributes:
        seconds: from the first on.
        calls: (until, calls a second since the time before, by name) of the NameNodes together.
        happenings: in order.
    """

    pollers: int
    period_s: float
    date: str
    seconds: tuple[Second, ...]
    calls: tuple[tuple[float, Mapping[str, float]], ...]
    happenings: tuple[Happening, ...] = field(default_factory=tuple)

    @property
    def polls(self) -> int:
        """All that were due."""
        return sum(sum(second.polls.values()) for second in self.seconds)

    def count(self, outcome: str) -> int:
        """Return how many ended so."""
        return sum(second.polls[outcome] for second in self.seconds)


def by_second(polls: Iterable[Poll], duration_s: int) -> tuple[Second, ...]:
    """Return the seconds of a run; polls that were due later are left out."""
    counts = [dict.fromkeys(OUTCOMES, 0) for _ in range(duration_s)]
    times: list[list[float]] = [[] for _ in range(duration_s)]
    for poll in polls:
        number = math.floor(poll.due_s)
        if not 0 <= number < duration_s:
            continue
        counts[number][poll.outcome] += 1
        if poll.outcome != FAILED:
            times[number].append(poll.took_s)
    return tuple(Second(polls=polls, p99_s=_p99(took_s)) for polls, took_s in zip(counts, times, strict=True))


def _p99(times: list[float]) -> float:
    return sorted(times)[math.ceil(0.99 * len(times)) - 1] if times else 0.0


def rates(counted: Sequence[Counted]) -> tuple[tuple[float, Mapping[str, float]], ...]:
    """Return the calls a second between each two moments.

    A count that goes back is one of a server that began again: what it says is what it has answered since then.
    """
    found = []
    for before, after in pairwise(counted):
        lasted_s = after.at_s - before.at_s
        since = {
            name: value - before.calls.get(name, 0.0) if value >= before.calls.get(name, 0.0) else value
            for name, value in after.calls.items()
        }
        found.append((after.at_s, {name: value / lasted_s for name, value in since.items()}))
    return tuple(found)
