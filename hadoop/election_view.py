"""Decide which NameNode is the active one, from what each says of itself. (hadoop/election_view.py)

Pure: `hadoop.pool` asks the NameNodes and feeds the answers in. Nothing is elected here: who is active is
the NameNodes' own business, and this is what can be seen of it from outside.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hadoop.ha_state import HaState

FAILURES_OF_ACTIVE = 2
"""So many unanswered probes in a row take the active NameNode's place from it: one may be a long pause of its
garbage collector. Others count as unreachable after one."""


@dataclass(frozen=True, slots=True)
class NameNode:
    """One configured NameNode; both are "host:port"."""

    http: str
    rpc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a NameNode says of itself."""

    state: HaState
    started_ms: int  # when its process started, by its own clock
    transition_ms: int  # when it last changed its HA state, by its own clock; 0 without HA


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """The active NameNode, in one life as the active one."""

    namenode: NameNode
    started_ms: int
    transition_ms: int
    term: int  # counts up with each other or restarted active NameNode; never goes back


@dataclass(slots=True)
class _Seen:
    """What is known of one NameNode."""

    answer: Answer | None = None  # None: it counts as unreachable
    was_asked: bool = False  # it has answered, or failed to, at least once
    asked_at: float = float("-inf")  # when the question was sent that `answer` answers
    failures: int = 0  # probes without an answer since the last answer


class ElectionView:
    """The NameNodes as seen from here.

    Invariants:
        I1  `active` is the only one among all reachable NameNodes that says it is active, or None.
        I2  `confirmed_as_of` never goes back within a term.
        I3  A term stands for one NameNode in one life as the active one, and comes only once: after two have
            claimed to be active, or the active one has said that it is not, the next term is a new one.
    """

    def __init__(self, namenodes: Iterable[NameNode]) -> None:
        self._seen = {namenode: _Seen() for namenode in namenodes}
        self._active: Active | None = None  # the active one now
        self._latest: Active | None = None  # the one whom `_active` was last; None after a contradiction
        self._term = 0  # the highest that was given out
        self._confirmed_as_of: float | None = None

    @property
    def active(self) -> Active | None:
        """The active NameNode; None while none or several say that they are."""
        return self._active

    @property
    def confirmed_as_of(self) -> float | None:
        """When the oldest of the questions was sent whose answers show that `active` is the only active one.

        None while `active` is None. It stands still when NameNodes stop answering.
        """
        return self._confirmed_as_of

    @property
    def term(self) -> int:
        """The highest term so far; 0 before the first."""
        return self._term

    def is_reachable(self, namenode: NameNode) -> bool:
        """Whether it counts as reachable."""
        return self._seen[namenode].answer is not None

    def state_of(self, namenode: NameNode) -> HaState | None:
        """Return what it last said of itself; None if it counts as unreachable."""
        answer = self._seen[namenode].answer
        return None if answer is None else answer.state

    def answered(self, namenode: NameNode, asked_at: float, answer: Answer) -> None:
        """Take the answer to a question that was sent at `asked_at`; an answer out of order is ignored."""
        seen = self._seen[namenode]
        seen.failures, seen.was_asked = 0, True
        if asked_at < seen.asked_at:
            return
        seen.answer, seen.asked_at = answer, asked_at
        self._decide()

    def failed(self, namenode: NameNode) -> None:
        """Take it that a question was not answered in time."""
        seen = self._seen[namenode]
        seen.failures, seen.was_asked = seen.failures + 1, True
        is_active = self._active is not None and self._active.namenode == namenode
        if not is_active or seen.failures >= FAILURES_OF_ACTIVE:
            seen.answer = None
        self._decide()

    def _decide(self) -> None:
        reachable = [(namenode, seen) for namenode, seen in self._seen.items() if seen.answer is not None]
        claims = [
            (namenode, seen.answer)
            for namenode, seen in reachable
            if seen.answer is not None and seen.answer.state is HaState.ACTIVE
        ]
        if len(claims) != 1 or not all(seen.was_asked for seen in self._seen.values()):
            self._active = None
            self._confirmed_as_of = None
            if len(claims) > 1 or self._latest_is_demoted():
                self._latest = None
            return
        ((namenode, answer),) = claims
        if not self._is_latest(namenode, answer):
            self._term += 1
            self._confirmed_as_of = None
            self._latest = Active(
                namenode=namenode,
                started_ms=answer.started_ms,
                transition_ms=answer.transition_ms,
                term=self._term,
            )
        self._active = self._latest
        as_of = min(seen.asked_at for _, seen in reachable)
        if self._confirmed_as_of is None or as_of > self._confirmed_as_of:
            self._confirmed_as_of = as_of

    def _is_latest(self, namenode: NameNode, answer: Answer) -> bool:
        latest = self._latest
        return (
            latest is not None
            and latest.namenode == namenode
            and latest.started_ms == answer.started_ms
            and latest.transition_ms == answer.transition_ms
        )

    def _latest_is_demoted(self) -> bool:
        """Whether the one who was active says now that it is not; silence is no such word."""
        return self._latest is not None and self._seen[self._latest.namenode].answer is not None
