"""What a daemon did lately: totals of the last minutes, and when it began or ceased to do its work.

Pure: the wiring looks every so often and hands in what it saw. What comes and goes between two looks is not seen.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Generic, TypeVar

SAMPLE_EVERY_S: Final = 5.0
SAMPLES: Final = 121
"""Ten minutes of them."""

MINUTE_S: Final = 60.0
TRANSITIONS: Final = 20
"""Transitions that are remembered."""

_JUST_S: Final = 0.5
"""Looks come a little early or late."""


F = TypeVar("F")
"""A dataclass of figures since the start: each only grows, or is a mapping of such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Those of a proxy.

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
class Span(Generic[F]):
    """What happened from one moment to another, in so many seconds."""

    seconds: float
    totals: F


@dataclass(frozen=True, slots=True)
class Transition:
    """The daemon began or ceased to do its work, and why; `at` is local time in seconds."""

    at: float
    is_well: bool
    state: str


class History(Generic[F]):
    """Remembers what was seen, for a bounded time.

    Invariants:
        R1  `_samples` holds at least one, the oldest first, each `SAMPLE_EVERY_S` or so after the one before.
        R2  Transitions alternate between well and not, unless only the reason of not being well has changed.
    """

    def __init__(self, now: float, nothing: F) -> None:
        """Begin with a process that has done `nothing`; `now` is local time in seconds."""
        self._samples: deque[tuple[float, F]] = deque([(now, nothing)], maxlen=SAMPLES)
        self._transitions: deque[Transition] = deque(maxlen=TRANSITIONS)

    def look(self, now: float, totals: F, *, is_well: bool, state: str) -> None:
        """Take note of what is seen now."""
        if now - self._samples[-1][0] >= SAMPLE_EVERY_S:
            self._samples.append((now, totals))
        last = self._transitions[-1] if self._transitions else None
        if last is None or last.is_well is not is_well or (not is_well and _kind(last.state) != _kind(state)):
            self._transitions.append(Transition(now, is_well, state))

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """The transitions, the latest one first."""
        return tuple(reversed(self._transitions))

    def last_minute(self, now: float, totals: F) -> Span[F]:
        """Return what happened in the last minute or so, or since the start if that is less."""
        at, before = self._samples[0]
        for each in self._samples:
            if now - each[0] < MINUTE_S - _JUST_S:
                break
            at, before = each
        return Span(now - at, _grown(totals, before))

    def spans(self) -> Iterator[tuple[float, Span[F]]]:
        """Yield when each span between two samples ended, and what happened in it, the oldest first."""
        before: tuple[float, F] | None = None
        for at, totals in self._samples:
            if before is not None:
                yield at, Span(at - before[0], _grown(totals, before[1]))
            before = at, totals


def _grown(now: F, before: F) -> F:
    """Return by how much each figure has grown since then; of a mapping what has not grown is left out."""
    grown = dict[str, Any]()
    for each in fields(now):  # type: ignore[arg-type] # a TypeVar can't say that it is a dataclass
        figure, earlier = getattr(now, each.name), getattr(before, each.name)
        if isinstance(figure, Mapping):
            counts = {key: count - earlier.get(key, 0) for key, count in figure.items()}
            grown[each.name] = {key: count for key, count in counts.items() if count}
        else:
            grown[each.name] = figure - earlier
    return type(now)(**grown)


def _kind(state: str) -> str:
    """Return the reason without its figures: those differ at each look."""
    return "".join(char for char in state if not char.isdecimal())
