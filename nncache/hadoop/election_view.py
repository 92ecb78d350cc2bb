"""Decide which NameNode is the active one, from the state that each reports.

Pure: `nncache.hadoop.namenodes.pool` probes the NameNodes and passes the answers in. Nothing is elected here: the
NameNodes elect the active one among themselves, and this module observes the result.

A NameNode that was paused and resumes claims to be active until it is fenced. With QuorumJournalManager alone it is
fenced at its next write, and until then its reads would be stale. So the NameNode that became active last counts.
Clocks of different hosts are compared only if the order of the observations does not decide.
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
    """One incarnation of a NameNode as the active one, and bounds for its start. Times are local."""

    life: tuple[int, int]  # (start of the process, last HA transition), in ms by the NameNode's own clock
    after: float  # a lower bound: when the probe of the previous answer was sent; minus infinity if there was none
    by: float  # an upper bound; infinite while there is none

    def is_later_than(self, other: "Claim") -> bool:
        """Whether it certainly started after the other one, by the local clock alone."""
        return self.after > other.by


def claim_after(
    before: Claim | None, *, life: tuple[int, int], asked_before: float, asked_at: float, known_by: float
) -> Claim:
    """Return the claim of a NameNode that reports that it is active.

    `before` is the claim of its previous answer, None if that made none. `asked_before` is when the probe of the
    previous answer was sent, `asked_at` when this one was sent, and `known_by` a time after this answer, or infinite.
    """
    if before is not None and before.life == life:
        return replace(before, by=min(before.by, asked_at))
    return Claim(life=life, after=asked_before, by=known_by)


def latest_of(claims: Mapping[_T, Claim]) -> _T | None:
    """Return the NameNode that became active last; None if there are no claims.

    If the bounds do not decide the order, the time of the last transition does, and then the order of the claims.
    """
    candidates = [
        name
        for name, claim in claims.items()
        if not any(other.is_later_than(claim) for other in claims.values())
    ]
    return max(candidates, key=lambda name: claims[name].life[1], default=None)


FAILURES_OF_ACTIVE = 2
"""The active NameNode counts as unreachable after this number of failed probes in a row: one failure may be a long
garbage collection. Other NameNodes count as unreachable after one."""


@dataclass(frozen=True, slots=True)
class NameNode:
    """One configured NameNode; both addresses are "host:port"."""

    http: str
    rpc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The position of a NameNode's log, which the same process reported after its state."""

    last_txid: int  # the last transaction that it has written or, if it is not active, applied
    asked_at: float  # when this request was sent


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReply:
    """A NameNode's answer to a probe."""

    state: HaState
    started_ms: int  # when its process started, by its own clock
    transition_ms: int  # when it last changed its HA state, by its own clock; 0 without HA
    namespace: Namespace | None = None  # the namespace that it serves; None if unknown
    journal: Journal | None = None  # None if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """One incarnation of the active NameNode."""

    namenode: NameNode
    started_ms: int
    transition_ms: int
    term: int  # increases with each new incarnation; never decreases
    namespace: Namespace | None = None  # the namespace that it serves; None if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A time, and a transaction id that bounds all changes acknowledged before that time.

    Every change that the active NameNode acknowledged before `as_of` has a transaction id <= `txid`:

    - Every reachable NameNode was probed at `as_of` or later, and exactly one reported that it is active. After that,
      the same process was asked for its last transaction, hence not before `as_of`. A NameNode assigns a transaction's
      id before it acknowledges the change.
    - A change that an earlier active NameNode acknowledged is in the log that this one read to the end before it
      reported that it is active (FSNamesystem.startActiveServices; the state is set after that returns).

    An old active NameNode that cannot be reached may still acknowledge changes: HDFS has to fence it.
    """

    as_of: float  # `ElectionView.confirmed_as_of`
    txid: int  # the active NameNode's last transaction
    asked_at: float  # when it was asked for `txid`; never before `as_of`
    term: int  # of the active NameNode


@dataclass(slots=True)
class _Seen:
    """The observations of one NameNode."""

    answer: ProbeReply | None = None  # None: it counts as unreachable
    was_asked: bool = False  # it has answered, or failed to, at least once
    asked_at: float = float("-inf")  # when the probe of its last answer was sent
    failures: int = 0  # probes without an answer since the last answer
    others_had: int = 0  # the highest known position of the others' logs when that probe was sent
    claim: Claim | None = None  # None: it was not active by its last answer
    is_observer: bool = False  # by its last answer, even if it failed to answer since


class ElectionView:
    """The states of the NameNodes, as observed by probes.

    Invariants:
        I1  `active` is the only reachable NameNode that reports that it is active, or None.
        I2  `confirmed_as_of` never decreases within a term.
        I3  A term names one incarnation of one active NameNode, and is never reused: a new term begins after two
            NameNodes have claimed to be active, or after the active one has reported another state.
        I4  `last_probe` belongs to `active`, and its `as_of` never decreases within a term.
        I5  While reachable NameNodes name different namespaces, nothing is confirmed.
    """

    def __init__(self, namenodes: Iterable[NameNode]) -> None:
        self._seen = {namenode: _Seen() for namenode in namenodes}
        self._active: Active | None = None  # the active one now
        self._claimant: NameNode | None = None  # where calls go: active, or the latest to claim so
        self._latest: Active | None = None  # the last `_active`; None after a demotion or several claims
        self.term = 0  # the highest so far; 0 before the first
        self._confirmed_as_of: float | None = None
        self._last_probe: Probe | None = None
        self.contradictions = 0  # probes in which a standby was ahead of the active NameNode

    @property
    def active(self) -> Active | None:
        """The active NameNode; None while none or several claim to be active."""
        return self._active

    @property
    def claimant(self) -> NameNode | None:
        """Of the NameNodes that claim to be active, the one that became active last, as far as is known.

        Reads and writes go there, even while `active` is None because there are several. None if there is no claim.
        """
        return self._claimant

    @property
    def disagreement(self) -> str:
        """A message with the namespaces, if the reachable NameNodes name several; else ""."""
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
        """When the oldest of the probes was sent whose answers prove that `active` is the only active NameNode.

        None while `active` is None, or while there is a `disagreement`. It stays while NameNodes do not answer.
        """
        return self._confirmed_as_of

    @property
    def last_probe(self) -> Probe | None:
        """The latest known position of the log of `active`, with its time.

        None while `active` is None, or until it reports a position. It stays while `confirmed_as_of` stays, while
        `active` reports no position, and while another NameNode's log is ahead of it.
        """
        return self._last_probe

    def is_reachable(self, namenode: NameNode) -> bool:
        """Whether it counts as reachable."""
        return self._seen[namenode].answer is not None

    def is_observer(self, namenode: NameNode) -> bool:
        """Whether its last answer was OBSERVER: over WebHDFS it answers reads, but its log may lag behind."""
        return self._seen[namenode].is_observer

    def state_of(self, namenode: NameNode) -> HaState | None:
        """Return the HA state that it last reported; None if it counts as unreachable."""
        answer = self._seen[namenode].answer
        return None if answer is None else answer.state

    def last_txid_of_others(self, namenode: NameNode) -> int:
        """Return the highest position in the last answers of the other NameNodes; 0 if there is none.

        Read it before a probe of this NameNode, and pass it to `answered` with the answer.
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
        """Handle the answer to a probe that was sent at `asked_at`; an answer out of order is ignored.

        `others_had` is the value of `last_txid_of_others` at that time.
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
        """Handle a failed probe."""
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
            # Standbys apply the log of the active one, so another NameNode has written to it. A larger number that
            # arrived after the active one was asked proves nothing: the log may have grown in between.
            self.contradictions += 1
            return
        self._last_probe = Probe(
            as_of=as_of, txid=journal.last_txid, asked_at=journal.asked_at, term=active.term
        )

    def _latest_is_demoted(self) -> bool:
        """Whether the last active NameNode is reachable, and so reports another state. Silence does not count."""
        return self._latest is not None and self._seen[self._latest.namenode].answer is not None


def _is_same_life(active: Active, namenode: NameNode, answer: ProbeReply) -> bool:
    return (
        active.namenode == namenode
        and active.started_ms == answer.started_ms
        and active.transition_ms == answer.transition_ms
    )
