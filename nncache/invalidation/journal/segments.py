"""Decide where transactions are that no cache holds any more, and whether the log still says what was taken from it.

Sans-I/O. A finalized segment at any JournalNode is in the log for good: a JournalNode finalizes what a majority has
(Journal.finalizeLogSegment of Hadoop 2.10.2 to 3.5.0).
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from nncache.hadoop.editlog.frames import Segment
from nncache.invalidation.errors import Discontinued, GapKind
from nncache.invalidation.journal.quorum import Shown

MAX_REMEMBERED: Final = 4096
"""Transactions of which the CRC is kept."""


@dataclass(frozen=True, slots=True)
class Located:
    """A finalized segment that holds a transaction, and a JournalNode that has it."""

    address: str
    segment: Segment


@dataclass(frozen=True, slots=True)
class Purged:
    """No JournalNode has a transaction any more; the first that is there follows on `last_txid`."""

    last_txid: int


def locate(
    txid: int, listed: Mapping[str, Sequence[Segment]], nodes: int, failed: Collection[str] = ()
) -> Located | Purged | None:
    """Return where a transaction is, by what the JournalNodes list; None: it is in no finalized segment yet.

    `nodes` are configured; those in `failed` did not send this segment. Raises LookupError: no other one has it, or
    too few list their segments to say that it is nowhere.
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
    return Purged(min(later) - 1) if later else None


class _Kept(NamedTuple):
    """What is kept of a transaction."""

    layout_version: int
    crc: int
    epoch: int  # whose log has said so


class Taken:
    """The CRCs of the last transactions that were taken from the log.

    What a majority has shown is lost where JournalNodes lose their power before it is on their disks, and the NameNode
    ends as well (HDFS-17710): the next NameNode gives its ids to other transactions. Hence what was taken is compared
    once with the log of the next epoch.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[int, _Kept] = OrderedDict()  # by transaction id, without a gap

    def resume(self, after_txid: int | None) -> None:
        """Keep what leads to this transaction, after which a run begins; nothing where another was taken last."""
        while self._kept and (after_txid is None or next(reversed(self._kept)) > after_txid):
            self._kept.popitem()
        if after_txid not in self._kept:
            self._kept.clear()

    def compare_from(self, epoch: int) -> int | None:
        """Return the first transaction to read again, as the log of this epoch says it; None for none."""
        return next((txid for txid, kept in self._kept.items() if kept.epoch != epoch), None)

    def take(self, epoch: int, shown: Iterable[Shown]) -> Discontinued | None:
        """Take what the log of an epoch says, in order; return what it means if it has said something else before."""
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
