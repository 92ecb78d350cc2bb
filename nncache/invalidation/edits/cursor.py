"""Follow the NameNode's edits page by page and notice every gap.

Sans-I/O. The NameNode reports neither a purged transaction (the page simply begins later than requested) nor a log
that went back (it looks idle). The Java client checks the first, and no client the second. Both are checked here.
Source: Hadoop 3.4.1 and 3.5.0, NameNodeRpcServer.getEditsFromTxid and DFSInotifyEventInputStream.
"""

from dataclasses import dataclass

from nncache.hadoop.events import EditsPage, EventBatch
from nncache.invalidation.errors import GapKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The result of one page."""

    batches: tuple[EventBatch, ...]  # the transactions with events, in order
    through_txid: int  # every transaction up to this one has been read
    covered_at: float | None  # everything acknowledged before this poll has been read; None if unknown
    is_behind: bool  # the NameNode already has more
    advanced: bool  # transactions were read, with or without events
    is_durable: bool  # no NameNode can lose a transaction up to `through_txid`


@dataclass(frozen=True, slots=True)
class EditsGap:
    """Transactions are missing, or the log is not the one followed so far."""

    reason: str
    kind: GapKind
    first_txid: int | None = None  # the first transaction that is missing, where known
    last_txid: int | None = None  # the last transaction that is missing, where known


class EditsCursor:
    """A position in the edits: the transaction after which to continue.

    Invariants:
        C1  Every transaction from the first position up to `through_txid` has been returned in a PageResult.
        C2  A poll sent at t covers t once `through_txid` has reached the syncTxid of that poll's own reply: the
            NameNode syncs before it acknowledges, and reads syncTxid after it got the poll.
        C3  syncTxid never decreases within one log; if it does, the log is another one. A syncTxid of 0 means
            nothing: the NameNode has just become active, and shows only finalized segments.
        C4  The transactions of a page are durable (NameNodeRpcServer reads no further than syncTxid). The first
            position may not be durable; it is once a syncTxid has reached it.
    """

    def __init__(self, after_txid: int, *, synced_txid: int = 0) -> None:
        """Start after `after_txid`; `synced_txid` is known to be durable (0: nothing is).

        getCurrentEditLogTxid may be ahead of syncTxid for some milliseconds. So at the present end nothing is known to
        be durable; at a checkpoint everything up to it is.
        """
        self.through_txid = after_txid
        """Every transaction up to this one has been read."""
        self._synced = synced_txid  # highest syncTxid seen or known
        self._durable = synced_txid  # no transaction up to this one can be lost
        self._target: tuple[float, int] | None = None  # (time, syncTxid) of the oldest poll not yet covered

    @property
    def next_txid(self) -> int:
        """The transaction to request next."""
        return self.through_txid + 1

    def receive(self, page: EditsPage, asked_at: float) -> PageResult | EditsGap:
        """Process the reply to a poll for `next_txid` that was sent at `asked_at`; an EditsGap changes nothing."""
        gap = self._gap(page)
        if gap is not None:
            return gap
        advanced = page.first_txid >= 0
        batches, last_txid = read_once(page)
        if advanced:
            self.through_txid = last_txid
        self._synced = max(self._synced, page.sync_txid)
        self._durable = max(self._durable, page.sync_txid, page.last_txid)
        return PageResult(
            batches=batches,
            through_txid=self.through_txid,
            covered_at=self._covered(page.sync_txid, asked_at),
            is_behind=self.through_txid < page.sync_txid,
            advanced=advanced,
            is_durable=self.through_txid <= self._durable,
        )

    def _gap(self, page: EditsPage) -> EditsGap | None:
        asked, first, last = self.next_txid, page.first_txid, page.last_txid
        if 0 < page.sync_txid < self._synced:
            return EditsGap(
                f"the log went back: synced to {page.sync_txid}, was {self._synced}", GapKind.WENT_BACK
            )
        if first < 0 and last < 0:
            return _odd("a page of nothing has events") if page.batches else None
        if first > asked:
            return EditsGap(f"purged: asked for {asked}, got {first}", GapKind.PURGED, asked, first - 1)
        if first < asked or last < first:
            return _odd(f"not a page from {asked}: {first} to {last}")
        contents: dict[int, EventBatch] = {}
        for batch in page.batches:
            if not first <= batch.txid <= last:
                return _odd(f"transaction {batch.txid} is not in {first} to {last}")
            known = contents.setdefault(batch.txid, batch)
            if known is not batch and known != batch:
                return _odd(f"transaction {batch.txid} has two contents in {first} to {last}")
        return None

    def _covered(self, sync_txid: int, asked_at: float) -> float | None:
        if sync_txid <= 0:  # just became active: it doesn't know yet what is durable
            return None
        covered: float | None = None
        if self._target is not None and self.through_txid >= self._target[1]:
            covered, self._target = self._target[0], None
        if self.through_txid >= sync_txid:
            return asked_at
        if self._target is None:
            self._target = (asked_at, sync_txid)
        return covered


def read_once(page: EditsPage) -> tuple[tuple[EventBatch, ...], int]:
    """Return the transactions before the first repeated one, and the last transaction that they cover.

    With dfs.ha.tail-edits.in-progress a NameNode reads beyond the end of a segment like this: its own finalized segment
    to that end, and then all from the requested transaction once more, from JournalNodes (JournalSet.selectInputStreams
    and QuorumJournalManager.selectRpcInputStreams of Hadoop 3.5.0: not redundant, because they begin elsewhere).
    """
    batches = page.batches
    for number in range(1, len(batches)):
        if batches[number].txid <= (last_txid := batches[number - 1].txid):
            return batches[:number], last_txid
    return batches, page.last_txid


def _odd(reason: str) -> EditsGap:
    return EditsGap(reason, GapKind.UNREADABLE)
