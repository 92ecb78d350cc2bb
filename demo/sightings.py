"""What readers saw, and what follows from it. (demo/sightings.py)

Pure. Times are seconds of one monotonic clock.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from nncache.hadoop.calls import PREFIX


@dataclass(frozen=True, slots=True)
class Question:
    """Whose GETFILESTATUS of which path."""

    user: str
    path: str

    @property
    def target(self) -> str:
        """The request target."""
        return f"{PREFIX}{quote(self.path)}?op=GETFILESTATUS&user.name={self.user}"


@dataclass(frozen=True, slots=True)
class View:
    """What an answer says: the status code (0: there was no answer) and, of a file, its length in bytes."""

    status: int
    length: int | None = None

    @property
    def is_failure(self) -> bool:
        """Whether a reader was let down."""
        return self.status == 0 or self.status >= 500  # noqa: PLR2004 - RFC 9110 15.6: server errors

    def __str__(self) -> str:
        if self.status == 0:
            return "no answer"
        return str(self.status) if self.length is None else f"{self.status} with {self.length} bytes"


MISSING: Final = View(404)
DENIED: Final = View(403)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One read: what it showed, from when to when, and whether nncache answered it from memory."""

    view: View
    is_hit: bool
    started_at: float
    ended_at: float


@dataclass(frozen=True, slots=True)
class Record:
    """One reader's sightings of one question, in order."""

    question: Question
    sightings: Sequence[Sighting]


Expected = Mapping[Question, View]
"""What each question should be answered with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What readers saw of one change, from a little before it on.

    Attributes:
        delays_s: for each reader whose answer the change alters and who saw that, the seconds from the writer's
            acknowledgement to the start of their first read that showed it; 0 when that one began before.
        blind: a line for each reader whose last read was not answered as it should be.
        oldest_s: seconds from the acknowledgement to the start of the last read that was still answered
            otherwise; 0 when there was none.
        reads: reads begun after the acknowledgement.
        failed: reads that were let down, before or after it.
    """

    delays_s: tuple[float, ...]
    blind: tuple[str, ...]
    oldest_s: float
    reads: int
    failed: int


def watched(
    records: Iterable[Record], acknowledged_at: float, *, before: Expected, after: Expected
) -> Watched:
    """Return what followed from a change that alters the answers from `before` to `after`."""
    delays: list[float] = []
    blind: list[str] = []
    oldest_s, reads, failed = 0.0, 0, 0
    for record in records:
        question, sightings = record.question, record.sightings
        right = after[question]
        if not sightings or sightings[-1].view != right:
            last = sightings[-1].view if sightings else View(0)
            blind.append(f"{question.user} still gets {last}")
        elif before[question] != right:
            first = next(seen for seen in sightings if seen.view == right)
            delays.append(max(0.0, first.started_at - acknowledged_at))
        later = [seen for seen in sightings if seen.started_at >= acknowledged_at]
        reads += len(later)
        oldest_s = max([oldest_s, *(s.started_at - acknowledged_at for s in later if s.view != right)])
        failed += sum(seen.view.is_failure for seen in sightings)
    return Watched(delays_s=tuple(delays), blind=tuple(blind), oldest_s=oldest_s, reads=reads, failed=failed)


def all_answered(
    records: Iterable[Record], expected: Expected, *, since: float = -math.inf, from_memory: bool = False
) -> bool:
    """Tell whether each reader's last read was begun since then and answered like that (and from memory)."""
    return all(
        bool(record.sightings)
        and record.sightings[-1].view == expected[record.question]
        and record.sightings[-1].started_at >= since
        and (record.sightings[-1].is_hit or not from_memory)
        for record in records
    )


def between(records: Iterable[Record], first: float, last: float) -> tuple[Record, ...]:
    """Return what was begun in this stretch of time, both ends included."""
    return tuple(
        Record(record.question, tuple(s for s in record.sightings if first <= s.started_at <= last))
        for record in records
    )
