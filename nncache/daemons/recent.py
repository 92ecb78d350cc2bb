"""What a proxy did lately: totals of the last minutes, and when the gate opened and closed. (nncache/daemons/recent.py)

Pure: the wiring looks every so often and hands in what it saw. What comes and goes between two looks is not seen.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

SAMPLE_EVERY_S: Final = 5.0
SAMPLES: Final = 121
"""Ten minutes of them."""

MINUTE_S: Final = 60.0
TURNS: Final = 20
"""Openings and closings of the gate that are remembered."""

_JUST_S: Final = 0.5
"""Looks come a little early or late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Figures since the start; each only grows.

    Attributes:
        requests: of clients.
        from_memory: of these, answered from memory or with the reply to the same caller's identical request.
        failed: of these, answered with an error of the proxy.
        refused: of these, refused by the proxy.
        own_calls: calls to the NameNodes on the proxy's own account.
        forwarded: requests for which a NameNode was asked, by the word of the reason.
    """

    requests: int = 0
    from_memory: int = 0
    failed: int = 0
    refused: int = 0
    own_calls: int = 0
    forwarded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """What happened from one moment to another, in so many seconds."""

    seconds: float
    totals: Totals


@dataclass(frozen=True, slots=True)
class Turn:
    """The gate opened, or closed, and why; `at` is local time in seconds."""

    at: float
    is_open: bool
    gate: str


class Recent:
    """Remembers what was seen, for a bounded time.

    Invariants:
        R1  `_samples` holds at least one, the oldest first, each `SAMPLE_EVERY_S` or so after the one before.
        R2  Turns alternate between open and closed, but for closings whose reason changed.
    """

    def __init__(self, now: float) -> None:
        """Begin with a process that has done nothing; `now` is local time in seconds."""
        self._samples: deque[tuple[float, Totals]] = deque([(now, Totals())], maxlen=SAMPLES)
        self._turns: deque[Turn] = deque(maxlen=TURNS)

    def look(self, now: float, totals: Totals, *, is_open: bool, gate: str) -> None:
        """Take note of what is seen now."""
        if now - self._samples[-1][0] >= SAMPLE_EVERY_S:
            self._samples.append((now, totals))
        last = self._turns[-1] if self._turns else None
        if last is None or last.is_open is not is_open or (not is_open and _kind(last.gate) != _kind(gate)):
            self._turns.append(Turn(now, is_open, gate))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Openings and closings, the latest one first."""
        return tuple(reversed(self._turns))

    def last_minute(self, now: float, totals: Totals) -> Span:
        """Return what happened in the last minute or so, or since the start if that is less."""
        at, before = self._samples[0]
        for each in self._samples:
            if now - each[0] < MINUTE_S - _JUST_S:
                break
            at, before = each
        return Span(now - at, _difference(totals, before))

    def spans(self) -> Iterator[tuple[float, Span]]:
        """Yield when each span between two samples ended, and what happened in it, the oldest first."""
        before: tuple[float, Totals] | None = None
        for at, totals in self._samples:
            if before is not None:
                yield at, Span(at - before[0], _difference(totals, before[1]))
            before = at, totals


def _kind(gate: str) -> str:
    """Return the reason without its figures: those differ at each look."""
    return "".join(char for char in gate if not char.isdecimal())


def _difference(later: Totals, earlier: Totals) -> Totals:
    return Totals(
        requests=later.requests - earlier.requests,
        from_memory=later.from_memory - earlier.from_memory,
        failed=later.failed - earlier.failed,
        refused=later.refused - earlier.refused,
        own_calls=later.own_calls - earlier.own_calls,
        forwarded={
            reason: grown
            for reason, count in later.forwarded.items()
            if (grown := count - earlier.forwarded.get(reason, 0))
        },
    )
