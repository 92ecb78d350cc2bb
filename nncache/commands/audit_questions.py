"""Read the same path from proxy and NameNode, and judge the difference.

The judge is the one of the auditor in a proxy (`nncache.auditing.audit_judge`). All its times are by the proxy's clock:
`/explain` reports what the cache held, and what was applied, at one moment. So neither this host's clock nor a slow
network makes an answer wrong.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from nncache.auditing.audit_judge import COMPARED, COVERED_WITHIN_S, AuditOutcome, compared, why_different
from nncache.errors import AdminError

LOOK_S: Final = 0.1
"""Seconds between two checks whether the cache has applied a change."""

IDLE_S: Final = 1.0
"""Seconds until the next sample if the cache is empty."""

WRONG_SHOWN: Final = 20
"""How many paths of wrong answers are named."""


@dataclass(frozen=True, slots=True)
class StatusReply:
    """A reply to GETFILESTATUS; `is_hit`: it came from memory."""

    status: int
    body: bytes
    is_hit: bool = False


class Sides(Protocol):
    """The two sides of a comparison: a proxy, and the NameNodes behind it."""

    def explain(self, path: str) -> Mapping[str, Any]:
        """Return the proxy's `/explain` of a path. Raises AdminError."""

    def through_proxy(self, path: str) -> StatusReply | None:
        """Return the proxy's reply about a path; None without a reply."""

    def at_namenode(self, http: str, path: str) -> StatusReply | None:
        """Return the reply of the NameNode with this HTTP address; None without a reply."""


@dataclass
class AuditReport:
    """The results of an audit.

    Attributes:
        outcomes: the number of questions with each outcome.
        not_from_memory: questions that the proxy did not answer from memory, so that there was nothing to compare.
        wrong: the paths of the first WRONG_SHOWN wrong answers.
    """

    outcomes: Counter[AuditOutcome] = field(default_factory=Counter)
    not_from_memory: int = 0
    wrong: dict[str, None] = field(default_factory=dict)

    @property
    def compared(self) -> int:
        """The number of answers from memory that were compared."""
        return sum(self.outcomes[outcome] for outcome in COMPARED)

    @property
    def exit_code(self) -> int:
        """As in diff(1): 0, no answer was wrong; 1, some were; 2, the result is unknown."""
        if self.outcomes[AuditOutcome.BEYOND]:
            return 1
        return 0 if self.compared and not self.outcomes[AuditOutcome.UNPROVEN] else 2


class AuditQuestions:
    """Asks about one path after the other."""

    def __init__(self, sides: Sides, *, max_staleness_s: float, pause: Callable[[float], None]) -> None:
        """Start an empty report. `max_staleness_s` is the proxy's; `pause` sleeps for a number of seconds."""
        self._sides = sides
        self._max_staleness_s = max_staleness_s
        self._pause = pause
        self.report = AuditReport()

    def ask(self, path: str) -> None:
        """Ask about a canonical path, and add the outcome to the report."""
        try:
            outcome = self._outcome_of(path)
        except AdminError:  # it answered before: it may be restarting
            outcome = AuditOutcome.UNANSWERED
        if outcome is None:
            self.report.not_from_memory += 1
            return
        self.report.outcomes[outcome] += 1
        if outcome is AuditOutcome.BEYOND and len(self.report.wrong) < WRONG_SHOWN:
            self.report.wrong[path] = None

    def _outcome_of(self, path: str) -> AuditOutcome | None:
        before = self._sides.explain(path)
        kept = self._sides.through_proxy(path)
        if kept is None:
            return AuditOutcome.UNANSWERED
        if before["entry"] is None or not kept.is_hit:
            return None
        active = active_of(before)
        reply = None if active is None else self._sides.at_namenode(active, path)
        if reply is None:
            return AuditOutcome.UNANSWERED
        outcome = compared((kept.status, kept.body), (reply.status, reply.body), is_active=True)
        return self._why_different(path, before, active) if outcome is None else outcome

    def _why_different(self, path: str, before: Mapping[str, Any], active: str | None) -> AuditOutcome:
        """Wait until it is decided whether the cache forgets the entry, and return the meaning of the difference.

        If the cache held an entry before the hit and still holds it, the hit came from it: no entry comes back.
        """
        now = self._sides.explain(path)
        read_at = now["now"]  # by the proxy's clock, and after the NameNode's reply
        if active_of(now) != active:
            return AuditOutcome.REFUSED  # after a failover, the reply may not be the active NameNode's
        while True:
            entry, seen_as_of = now["entry"], now["seen_as_of"]
            outcome = why_different(
                is_held=entry is not None and entry["replied_at"] == before["entry"]["replied_at"],
                seen_as_of=-math.inf if seen_as_of is None else seen_as_of,
                read_at=read_at,
                left_s=read_at + self._max_staleness_s + COVERED_WITHIN_S - now["now"],
            )
            if outcome is not None:
                return outcome
            self._pause(LOOK_S)
            now = self._sides.explain(path)


def active_of(explained: Mapping[str, Any]) -> str | None:
    """Return the HTTP address of the NameNode that the proxy knows as active; None if there is none."""
    return next((str(each["http"]) for each in explained["namenodes"] if each["state"] == "active"), None)


def paced(
    choose: Callable[[], Sequence[str]],
    *,
    per_s: float,
    for_s: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[str]:
    """Yield `per_s` paths a second for `for_s` seconds. `choose` returns the next paths when all are used up."""
    began_at = due_at = clock()
    while True:
        paths = choose()
        if not paths:
            due_at = max(due_at, clock()) + IDLE_S
        for path in paths:
            if not _wait(due_at, began_at + for_s, clock, pause):
                return
            yield path
            due_at = max(due_at + 1 / per_s, clock())
        if not paths and not _wait(due_at, began_at + for_s, clock, pause):
            return


def _wait(due_at: float, end_at: float, clock: Callable[[], float], pause: Callable[[float], None]) -> bool:
    """Wait until `due_at`. Return False if `end_at` comes first."""
    if due_at >= end_at:
        return False
    if (left_s := due_at - clock()) > 0:
        pause(left_s)
    return True
