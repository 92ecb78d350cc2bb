"""Decides from the answers of JournalNodes which transactions are in the log, and as of when all are known.

Sans-I/O. A NameNode acknowledges a change once a majority of all JournalNodes has it (QuorumOutputStream). A single
JournalNode may show transactions that never enter the log, and later another content of the same transaction id. The
reader of Hadoop counts transactions without comparing them (QuorumJournalManager.selectRpcInputStreams, 3.5.0).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from nncache.hadoop.editlog.frames import Frame
from nncache.invalidation.errors import Discontinued, GapKind

START_LOG_SEGMENT: Final = 24
"""The opcode of the first transaction of a segment; each NameNode that becomes active begins a segment."""


class ShownTransaction(NamedTuple):
    """A transaction as a JournalNode shows it. Two are equal if all their bytes and the layout are."""

    layout_version: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class NewTransactions:
    """The new transactions in one answer."""

    seen: tuple[
        ShownTransaction, ...
    ]  # shown for the first time by any JournalNode; the log may not keep them
    durable: tuple[ShownTransaction, ...]  # the transactions after the position; they stay in the log
    discarded: int = 0  # other versions of `durable` transactions that were returned as `seen`


@dataclass(slots=True)
class _Node:
    """The state of one JournalNode."""

    epoch: int = -1  # promised, as reported over the current connection; -1: unknown
    epoch_as_of: float = -math.inf  # when the request for the epoch was sent
    as_of: float = -math.inf  # when the last request with a whole answer that counts was sent
    last_txid: int = 0  # the last transaction in this answer; 0 for none
    shown: dict[int, ShownTransaction] | None = None  # by txid, after the position; None: no answer counts
    is_away: bool = False  # the last request got no answer that counts
    is_missing: bool = False  # the transaction after the position is not in its cache


class JournalQuorum:
    """The answers of all JournalNodes of one journal, during one epoch.

    Invariants:
        Q1  The position moves over a transaction only when a majority of all configured JournalNodes shows exactly
            the same bytes. Every later recovery includes one of them, and keeps it (SegmentRecoveryComparator).
        Q2  `fresh_as_of` is a time t only if a majority has given answers that count to requests sent at t or later,
            and all transactions in them were returned as `seen`. A change acknowledged before t is at one JournalNode
            of any majority, which shows it or reports that it is not in its cache.
        Q3  An answer counts only while its JournalNode has promised the followed epoch. A JournalNode that was cut off
            shows another log; one whose disk was wiped has forgotten transactions that it acknowledged.
        Q4  Once a segment begins, `fresh_as_of` is None until a majority, asked later, reports the same epoch: this run
            must not cover the answers of another NameNode.
    """

    def __init__(self, names: Sequence[str], after_txid: int) -> None:
        """Follow the journal after this transaction; `names` are all configured JournalNodes."""
        self._nodes = {name: _Node() for name in names}
        self._majority = len(self._nodes) // 2 + 1
        self.through_txid = after_txid
        """The position: every transaction up to this one was returned as `durable`."""
        self._seen: dict[
            int, set[ShownTransaction]
        ] = {}  # by txid after the position: all versions returned as `seen`
        self._segment_seen_at = -math.inf  # when the beginning of a segment was returned as `seen`
        self._target: tuple[float, int] | None = None  # (time, txid) of the oldest freshness not yet durable
        self._durable_as_of: float | None = None
        self.epoch: int | None = None
        """The followed epoch: the first that a majority has promised; None before."""
        self._epoch_as_of = -math.inf  # when a majority was known to have promised it

    @property
    def next_txid(self) -> int:
        """The transaction to request from each JournalNode."""
        return self.through_txid + 1

    @property
    def counting(self) -> tuple[str, ...]:
        """The JournalNodes whose last answer counts."""
        return tuple(name for name, node in self._nodes.items() if self._counts(node))

    @property
    def is_quorate(self) -> bool:
        """Whether the last answers of a majority count."""
        return len(self.counting) >= self._majority

    def needs_epoch(self, name: str, now: float, every_s: float) -> bool:
        """Whether to request this JournalNode's epoch before the next transactions."""
        asked_at = self._nodes[name].epoch_as_of
        return now - asked_at >= every_s or asked_at <= self._segment_seen_at

    def promised(self, name: str, epoch: int, asked_at: float) -> Discontinued | None:
        """Record the epoch of a JournalNode, as reported over the connection that carries its next answers.

        JournalNodes with a higher epoch count as unavailable while they are less than a majority: a NameNode died
        before it became active, and another one still writes to the rest (QuorumJournalManager.createNewUniqueEpoch).
        """
        node = self._nodes[name]
        node.epoch, node.epoch_as_of = epoch, asked_at
        known = [each for each in self._nodes.values() if each.epoch >= 0]
        if self.epoch is None:
            if sum(each.epoch == epoch for each in known) >= self._majority:
                self.epoch, self._epoch_as_of = epoch, asked_at
            return None
        if sum(each.epoch > self.epoch for each in known) >= self._majority:
            return Discontinued(
                f"most JournalNodes have promised an epoch after {self.epoch}, {name} epoch {epoch}: another NameNode "
                "is becoming active"
            )
        lower = [each for each in known if each.epoch < self.epoch and each.epoch_as_of > self._epoch_as_of]
        if len(lower) >= self._majority:
            return Discontinued(
                f"most JournalNodes have promised no epoch as high as {self.epoch}: the journal was formatted",
                GapKind.WENT_BACK,
            )
        return None

    def failed(self, name: str) -> None:
        """Record that a JournalNode gave no answer that counts; its epoch is needed before the next one counts."""
        self._nodes[name] = _Node(is_away=True)

    def missed(self, name: str) -> Discontinued | None:
        """Record that the transaction after the position is not in a JournalNode's cache."""
        node = self._nodes[name]
        node.shown, node.as_of, node.is_missing = None, -math.inf, True
        node.is_away = False
        nodes = self._nodes.values()
        if len(nodes) - sum(1 for each in nodes if each.is_missing or each.is_away) >= self._majority:
            return None
        return Discontinued(
            f"transaction {self.next_txid} is in the caches of too few JournalNodes, of {len(nodes)} not in those of "
            + ", ".join(name for name, each in self._nodes.items() if each.is_missing)
            + " (they were restarted, or dfs.journalnode.edit-cache-size.bytes is too small)",
            GapKind.PURGED,
        )

    def answered(
        self, name: str, shown: Iterable[ShownTransaction], *, asked_at: float, now: float, is_whole: bool
    ) -> NewTransactions:
        """Record the transactions that a JournalNode shows, from `next_txid` or an earlier one on.

        `is_whole`: it has no further ones. They are returned as `seen` even if the answer does not count.
        """
        node = self._nodes[name]
        node.shown = {each.frame.txid: each for each in shown if each.frame.txid > self.through_txid}
        node.is_missing = node.is_away = False
        seen = self._first_seen(node.shown.values(), now)
        if not self._counts(node):
            return NewTransactions(seen, ())
        if is_whole:
            node.as_of, node.last_txid = asked_at, max(node.shown, default=0)
        return NewTransactions(seen, *self._durable())

    def caught_up(self, shown: Iterable[ShownTransaction], now: float) -> NewTransactions:
        """Record the next transactions, from finalized segments: they are in the log, whatever JournalNodes show."""
        taken = tuple(each for each in shown if each.frame.txid > self.through_txid)
        seen = self._first_seen(taken, now)
        return NewTransactions(seen, taken, sum(map(self._move_over, taken)))

    @property
    def fresh_as_of(self) -> float | None:
        """The time before which all acknowledged changes were returned as `seen`; None while it is unknown."""
        in_epoch = sum(
            1
            for node in self._nodes.values()
            if node.epoch == self.epoch and node.epoch_as_of > self._segment_seen_at
        )
        if in_epoch < self._majority:
            return None
        times = sorted((node.as_of for node in self._nodes.values() if self._counts(node)), reverse=True)
        if len(times) < self._majority or times[self._majority - 1] == -math.inf:
            return None
        return times[self._majority - 1]

    def durable_as_of(self) -> float | None:
        """Return the time before which all acknowledged changes were returned as `durable`; None while unknown."""
        if self._target is not None and self.through_txid >= self._target[1]:
            self._durable_as_of, self._target = self._target[0], None
        fresh_as_of = self.fresh_as_of
        if fresh_as_of is None:
            return None
        last = max(node.last_txid for node in self._nodes.values() if self._counts(node))
        if self.through_txid >= last:
            self._durable_as_of = fresh_as_of
        elif self._target is None:
            self._target = fresh_as_of, last
        return self._durable_as_of

    def _counts(self, node: _Node) -> bool:
        return node.shown is not None and self.epoch is not None and node.epoch == self.epoch

    def _counted(self, node: _Node) -> dict[int, ShownTransaction]:
        """Return the transactions that a JournalNode shows, if its answer counts."""
        return node.shown if node.shown is not None and self._counts(node) else {}

    def _first_seen(self, shown: Iterable[ShownTransaction], now: float) -> tuple[ShownTransaction, ...]:
        first: list[ShownTransaction] = []
        for each in shown:
            versions = self._seen.setdefault(each.frame.txid, set())
            if each not in versions:
                versions.add(each)
                first.append(each)
                if each.frame.opcode == START_LOG_SEGMENT:
                    self._segment_seen_at = now
        return tuple(first)

    def _durable(self) -> tuple[tuple[ShownTransaction, ...], int]:
        """Move the position while a majority agrees; return the transactions, and the number of discarded versions."""
        taken: list[ShownTransaction] = []
        discarded = 0
        counting = [self._counted(node) for node in self._nodes.values()]
        while True:
            txid = self.next_txid
            versions = [shown[txid] for shown in counting if txid in shown]
            agreed = next((each for each in versions if versions.count(each) >= self._majority), None)
            if agreed is None:
                return tuple(taken), discarded
            taken.append(agreed)
            discarded += self._move_over(agreed)
            for shown in counting:
                shown.pop(txid, None)

    def _move_over(self, taken: ShownTransaction) -> int:
        """Move the position over the next transaction; return how many other versions of it were seen."""
        self.through_txid = taken.frame.txid
        for node in self._nodes.values():
            node.is_missing = False
        return len(self._seen.pop(self.through_txid)) - 1
