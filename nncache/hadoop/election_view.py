"""Decide which NameNode is the active one, from what each says of itself.

Pure: `nncache.hadoop.namenodes.pool` asks the NameNodes and feeds the answers in. Nothing is elected here: who is
active is the NameNodes' own business, and this is what can be seen of it from outside.

A NameNode that was stopped and goes on says that it is active until it is fenced. With QuorumJournalManager alone that
happens at its next write, and reads of it would go back in time. The one that became active last is right. Clocks of
different hosts are compared only where what was seen from here does not decide.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import inf
from typing import TypeVar

from nncache.hadoop.namespace import Namespace

_T = TypeVar("_T", bound=Hashable)


class HaState(Enum):
    """The state of one NameNode. Without HA it is ACTIVE.

    Source: org.apache.hadoop.ha.HAServiceProtocol.HAServiceState of Hadoop 3.4.1 and 3.5.0.
    """

    INITIALIZING = auto()
    ACTIVE = auto()
    STANDBY = auto()
    OBSERVER = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One life of a NameNode as the active one, and what is known of its beginning. Times are local."""

    life: tuple[int, int]  # (start of the process, last HA transition), in ms by the NameNode's own clock
    after: float  # when it was asked last before this life was seen: the life began later; minus infinity if never
    by: float  # the life had begun by then; infinite while that is not known

    def is_later_than(self, other: "Claim") -> bool:
        """Whether it is known, without any other clock, to have begun after the other."""
        return self.after > other.by


def claim_after(
    before: Claim | None, *, life: tuple[int, int], asked_before: float, asked_at: float, known_by: float
) -> Claim:
    """Return the claim of a NameNode that says it is active.

    `before` is its last claim, if it has said nothing else since. `asked_before` is when the question before this one
    was sent, `asked_at` when this one was, and `known_by` a moment after its answer, infinite if there is none.
    """
    if before is not None and before.life == life:
        return replace(before, by=min(before.by, asked_at))
    return Claim(life=life, after=asked_before, by=known_by)


def latest_of(claims: Mapping[_T, Claim]) -> _T | None:
    """Return who became active last; None if there are no claims.

    Where the order was not seen from here the time of the last transition decides, and then the order of the claims.
    """
    candidates = [
        name
        for name, claim in claims.items()
        if not any(other.is_later_than(claim) for other in claims.values())
    ]
    return max(candidates, key=lambda name: claims[name].life[1], default=None)


FAILURES_OF_ACTIVE = 2
"""So many unanswered probes in a row take the active NameNode's place from it: one may be a long pause of its
garbage collector. Others count as unreachable after one."""


@dataclass(frozen=True, slots=True)
class NameNode:
    """One configured NameNode; both are "host:port"."""

    http: str
    rpc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """How far a NameNode's log had come, as it said after its state and in the same life of its process."""

    last_txid: int  # the last transaction it has written or, not being active, applied
    asked_at: float  # when this question was sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReply:
    """What a NameNode says of itself."""

    state: HaState
    started_ms: int  # when its process started, by its own clock
    transition_ms: int  # when it last changed its HA state, by its own clock; 0 without HA
    namespace: Namespace | None = None  # the one that it serves; None if it did not say
    journal: Journal | None = None  # None if it did not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """The active NameNode, in one life as the active one."""

    namenode: NameNode
    started_ms: int
    transition_ms: int
    term: int  # counts up with each other or restarted active NameNode; never goes back
    namespace: Namespace | None = None  # the one that it serves; None if it did not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A moment, and a transaction by which all changes before that moment were written.

    Every change that the active NameNode acknowledged before `as_of` has a transaction id <= `txid`:

    - As of `as_of` every NameNode that can be reached was asked, then or later, and one alone said that it is
      active. It was asked for its last transaction after it had said so, by the same process, hence not before
      `as_of`; and it assigns a transaction's id before it acknowledges the change.
    - A change that an earlier active NameNode acknowledged is in the log that this one read to the end before
      it said that it is active (FSNamesystem.startActiveServices; the state is set when that has returned).

    What an old active NameNode that cannot be reached acknowledges all the same is HDFS's to fence.
    """

    as_of: float  # `ElectionView.confirmed_as_of`
    txid: int  # what the active one said
    asked_at: float  # when it was asked for that; never before `as_of`
    term: int  # of the active one


@dataclass(slots=True)
class _Seen:
    """What is known of one NameNode."""

    answer: ProbeReply | None = None  # None: it counts as unreachable
    was_asked: bool = False  # it has answered, or failed to, at least once
    asked_at: float = float("-inf")  # when the question was sent that `answer` answers
    failures: int = 0  # probes without an answer since the last answer
    others_had: int = 0  # how far others' logs were known to have come when that question was sent
    claim: Claim | None = None  # to be active; None: its last answer made none
    is_observer: bool = False  # by its last answer, whatever silence followed


class ElectionView:
    """The NameNodes as seen from here.

    Invariants:
        I1  `active` is the only one among all reachable NameNodes that says it is active, or None.
        I2  `confirmed_as_of` never goes back within a term.
        I3  A term names one NameNode in one life as the active one, and comes only once: after two have
            claimed to be active, or the active one has said that it is not, the next term is a new one.
        I4  `last_probe` belongs to `active`, and its `as_of` never goes back within a term.
        I5  While reachable NameNodes name different namespaces, nothing is confirmed.
    """

    def __init__(self, namenodes: Iterable[NameNode]) -> None:
        self._seen = {namenode: _Seen() for namenode in namenodes}
        self._active: Active | None = None  # the active one now
        self._claimant: NameNode | None = None  # the one to be asked: active, or the latest that says it is
        self._latest: Active | None = None  # the one whom `_active` was last; None after a contradiction
        self.term = 0  # the highest so far; 0 before the first
        self._confirmed_as_of: float | None = None
        self._last_probe: Probe | None = None
        self.contradictions = 0  # probes in which a standby was ahead of the active NameNode

    @property
    def active(self) -> Active | None:
        """The active NameNode; None while none or several say that they are."""
        return self._active

    @property
    def claimant(self) -> NameNode | None:
        """The one that became active last, as far as it can be known, of those that say they are active.

        Reads and writes go there, also while `active` is None since several say so. None while no one says so.
        """
        return self._claimant

    @property
    def disagreement(self) -> str:
        """Which namespaces are named, if those NameNodes that are reachable name several; else ""."""
        named = {
            namenode: seen.answer.namespace
            for namenode, seen in self._seen.items()
            if seen.answer is not None and seen.answer.namespace is not None
        }
        if len(set(named.values())) <= 1:
            return ""
        each = ", ".join(
            f"{namenode.http} serves namespace {namespace}" for namenode, namespace in named.items()
        )
        return f"{each}: name the NameNodes of one nameservice only in --namenode-http and --namenode-rpc"

    @property
    def confirmed_as_of(self) -> float | None:
        """When the oldest of the questions was sent whose answers show that `active` is the only active one.

        None while `active` is None, or while `disagreement`. It does not move while NameNodes do not answer.
        """
        return self._confirmed_as_of

    @property
    def last_probe(self) -> Probe | None:
        """The latest moment by which it is known how far the log of `active` had come.

        None while `active` is None, or before it has said how far. It does not move while `confirmed_as_of` does not,
        while `active` does not say how far, and while another NameNode contradicts it.
        """
        return self._last_probe

    def is_reachable(self, namenode: NameNode) -> bool:
        """Whether it counts as reachable."""
        return self._seen[namenode].answer is not None

    def is_observer(self, namenode: NameNode) -> bool:
        """Whether it has said last that it is one: over WebHDFS it answers reads, from a log that may be behind."""
        return self._seen[namenode].is_observer

    def state_of(self, namenode: NameNode) -> HaState | None:
        """Return what it last said of itself; None if it counts as unreachable."""
        answer = self._seen[namenode].answer
        return None if answer is None else answer.state

    def last_txid_of_others(self, namenode: NameNode) -> int:
        """Return how far the log of any other has come, by its last answer; 0 if none has said.

        Note this before a NameNode is asked, and hand it in with the answer.
        """
        return max(
            (
                seen.answer.journal.last_txid
                for other, seen in self._seen.items()
                if other != namenode and seen.answer is not None and seen.answer.journal is not None
            ),
            default=0,
        )

    def answered(
        self, namenode: NameNode, asked_at: float, answer: ProbeReply, *, others_had: int = 0
    ) -> None:
        """Take the answer to a question that was sent at `asked_at`; an answer out of order is ignored.

        `others_had` is what `last_txid_of_others` said then.
        """
        seen = self._seen[namenode]
        seen.failures, seen.was_asked = 0, True
        if asked_at < seen.asked_at:
            return
        seen.claim = self._claim(seen, asked_at, answer)
        seen.answer, seen.asked_at, seen.others_had = answer, asked_at, others_had
        seen.is_observer = answer.state is HaState.OBSERVER
        self._decide()

    def failed(self, namenode: NameNode) -> None:
        """Take it that a question was not answered in time."""
        seen = self._seen[namenode]
        seen.failures, seen.was_asked = seen.failures + 1, True
        is_active = self._active is not None and self._active.namenode == namenode
        if not is_active or seen.failures >= FAILURES_OF_ACTIVE:
            seen.answer = None
        self._decide()

    @staticmethod
    def _claim(seen: _Seen, asked_at: float, answer: ProbeReply) -> Claim | None:
        if answer.state is not HaState.ACTIVE:
            return None
        return claim_after(
            seen.claim,
            life=(answer.started_ms, answer.transition_ms),
            asked_before=seen.asked_at,
            asked_at=asked_at,
            known_by=inf if answer.journal is None else answer.journal.asked_at,
        )

    def _decide(self) -> None:
        reachable = [(namenode, seen) for namenode, seen in self._seen.items() if seen.answer is not None]
        claims = [
            (namenode, seen.answer)
            for namenode, seen in reachable
            if seen.answer is not None and seen.answer.state is HaState.ACTIVE
        ]
        self._claimant = latest_of(
            {namenode: seen.claim for namenode, seen in reachable if seen.claim is not None}
        )
        if len(claims) != 1 or not all(seen.was_asked for seen in self._seen.values()):
            self._active = None
            self._confirmed_as_of = None
            self._last_probe = None
            if len(claims) > 1 or self._latest_is_demoted():
                self._latest = None
            return
        ((namenode, answer),) = claims
        latest = self._latest
        if latest is None or not _is_same_life(latest, namenode, answer):
            self.term += 1
            self._confirmed_as_of = None
            self._last_probe = None
            latest = self._latest = Active(
                namenode=namenode,
                started_ms=answer.started_ms,
                transition_ms=answer.transition_ms,
                term=self.term,
                namespace=answer.namespace,
            )
        elif latest.namespace is None and answer.namespace is not None:
            latest = self._latest = replace(latest, namespace=answer.namespace)
        self._active = latest
        if self.disagreement:
            self._confirmed_as_of = self._last_probe = None
            return
        as_of = min(seen.asked_at for _, seen in reachable)
        if self._confirmed_as_of is None or as_of > self._confirmed_as_of:
            self._confirmed_as_of = as_of
        self._note_probe(latest, answer.journal, self._confirmed_as_of)

    def _note_probe(self, active: Active, journal: Journal | None, as_of: float) -> None:
        if journal is None or (self._last_probe is not None and as_of <= self._last_probe.as_of):
            return
        if journal.last_txid < self._seen[active.namenode].others_had:
            # Others follow the log of the active one, so another NameNode has written to it. A larger number that came
            # after the active one was asked says nothing: the log may have grown in between.
            self.contradictions += 1
            return
        self._last_probe = Probe(
            as_of=as_of, txid=journal.last_txid, asked_at=journal.asked_at, term=active.term
        )

    def _latest_is_demoted(self) -> bool:
        """Whether the one who was active says now that it is not; silence is no such word."""
        return self._latest is not None and self._seen[self._latest.namenode].answer is not None


def _is_same_life(active: Active, namenode: NameNode, answer: ProbeReply) -> bool:
    return (
        active.namenode == namenode
        and active.started_ms == answer.started_ms
        and active.transition_ms == answer.transition_ms
    )
