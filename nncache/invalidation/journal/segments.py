"""Locates transactions that no cache contains any more, and detects transactions that the log has lost.

Sans-I/O. A finalized segment at any JournalNode stays in the log: a JournalNode finalizes only what a majority has
(Journal.finalizeLogSegment of Hadoop 2.10.2 to 3.5.0).
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from nncache.hadoop.editlog.frames import Segment
from nncache.invalidation.errors import Discontinued, GapKind
from nncache.invalidation.journal.quorum import ShownTransaction

MAX_REMEMBERED: Final = 4096
"""Limit of transactions whose CRC is kept."""


@dataclass(frozen=True, slots=True)
class Located:
    """A finalized segment that holds a transaction, and a JournalNode that has it."""

    address: str
    segment: Segment


@dataclass(frozen=True, slots=True)
class PurgedEdits:
    """No JournalNode has the transaction any more; `last_txid` is the last missing one."""

    last_txid: int


def locate(
    txid: int, listed: Mapping[str, Sequence[Segment]], nodes: int, failed: Collection[str] = ()
) -> Located | PurgedEdits | None:
    """Return a JournalNode's segment with a transaction, or Purged; None if no finalized segment contains it yet.

    `nodes` is the number of configured JournalNodes; those in `failed` did not send this segment. Raises LookupError
    if no other JournalNode has it, or too few list their segments to prove that none has it.
    """
    found = [
        Located(address, segment)
        for address, segments in listed.items()
        for segment in segments
        if segment.first_txid <= txid <= segment.last_txid
    ]
    if found:
        if (usable := next((each for each in found if each.address not in failed), None)) is None:
            raise LookupError(f"no JournalNode sends the segment with transaction {txid}")
        return usable
    if len(listed) * 2 <= nodes:
        raise LookupError(f"{len(listed)} of {nodes} JournalNodes list their finalized segments")
    later = [each.first_txid for segments in listed.values() for each in segments if each.first_txid > txid]
    return PurgedEdits(min(later) - 1) if later else None


class _Kept(NamedTuple):
    """The part of a transaction that is kept."""

    layout_version: int
    crc: int
    epoch: int  # of the log that contained it


class TransactionCrcs:
    """The CRCs of the last transactions that were taken from the log.

    A transaction shown by a majority is lost if JournalNodes lose power before it is on their disks, and the NameNode
    ends too (HDFS-17710). The next NameNode uses its id for another transaction. Hence taken transactions are compared
    once with the log of the next epoch.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()  # by transaction id, without a gap

    def resume(self, after_txid: int | None) -> None:
        """Keep the CRCs up to this transaction, after which a run begins; drop all if its own is not among them."""
        while self._kept and (after_txid is None or next(reversed(self._kept)) > after_txid):
            self._kept.popitem()
        if after_txid not in self._kept:
            self._kept.clear()

    def compare_from(self, epoch: int) -> int | None:
        """Return the first transaction to compare with the log of this epoch; None if there is none."""
        return next((txid for txid, kept in self._kept.items() if kept.epoch != epoch), None)

    def take(self, epoch: int, shown: Iterable[ShownTransaction]) -> Discontinued | None:
        """Record transactions in the log of an epoch, in order; return a discontinuity if one differs from before."""
        for each in shown:
            txid, says = each.frame.txid, _Kept(each.layout_version, each.frame.crc, epoch)
            before = self._kept.get(txid, says)
            if before[:2] != says[:2]:
                self._kept.clear()
                return Discontinued(
                    f"transaction {txid} is another one than was read before: JournalNodes have lost what was not "
                    "on their disks yet",
                    GapKind.WENT_BACK,
                )
            self._kept[txid] = says
            if len(self._kept) > MAX_REMEMBERED:
                self._kept.popitem(last=False)
        return None
