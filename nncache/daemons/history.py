"""A daemon's recent history: totals of the last minutes, and the times at which it started or stopped working.

Pure: the wiring passes in regular samples. A state that begins and ends between two samples is not recorded.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Generic, TypeVar

SAMPLE_EVERY_S: Final = 5.0
SAMPLES: Final = 121
"""Samples of ten minutes."""

MINUTE_S: Final = 60.0
TRANSITIONS: Final = 20
"""How many transitions are kept."""

_JUST_S: Final = 0.5
"""Tolerance: samples come a little early or late."""


F = TypeVar("F")
"""A dataclass of counters since start. Each field is a counter, or a mapping of counters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The counters of a proxy.

    Attributes:
        requests: requests of clients.
        from_memory: requests answered from memory, or with the reply to the same caller's identical request.
        failed: requests answered with an error of the proxy.
        refused: requests that the proxy refused.
        own_calls: calls to the NameNodes that the proxy makes for itself.
        forwarded: requests for which a NameNode was asked, by forward reason.
    """

    requests: int = 0
    from_memory: int = 0
    failed: int = 0
    refused: int = 0
    own_calls: int = 0
    forwarded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span(Generic[F]):
    """The increase of the counters over a period."""

    seconds: float
    totals: F


@dataclass(frozen=True, slots=True)
class Transition:
    """A moment at which the daemon started or stopped working, and why; `at` is local time in seconds."""

    at: float
    is_well: bool
    state: str


class History(Generic[F]):
    """Samples of the last ten minutes, and the latest transitions.

    Invariants:
        R1  `_samples` is not empty, and in order of time. Samples are about `SAMPLE_EVERY_S` apart.
        R2  Transitions alternate between well and not well, unless only the reason for not being well has changed.
    """

    def __init__(self, now: float, nothing: F) -> None:
        """Start with the zero counters `nothing`; `now` is local time in seconds."""
        self._samples: deque[tuple[float, F]] = deque([(now, nothing)], maxlen=SAMPLES)
        self._transitions: deque[Transition] = deque(maxlen=TRANSITIONS)

    def look(self, now: float, totals: F, *, is_well: bool, state: str) -> None:
        """Record the current counters and state."""
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
        """Return the span of about the last minute, or since start if that is shorter."""
        at, before = self._samples[0]
        for each in self._samples:
            if now - each[0] < MINUTE_S - _JUST_S:
                break
            at, before = each
        return Span(now - at, _grown(totals, before))

    def spans(self) -> Iterator[tuple[float, Span[F]]]:
        """Yield each span between two samples with the time of its end, the oldest first."""
        before: tuple[float, F] | None = None
        for at, totals in self._samples:
            if before is not None:
                yield at, Span(at - before[0], _grown(totals, before[1]))
            before = at, totals


def _grown(now: F, before: F) -> F:
    """Return the increase of each counter since `before`. Mappings omit counters that have not increased."""
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
    """Return the reason without its digits: figures differ from sample to sample."""
    return "".join(char for char in state if not char.isdecimal())
