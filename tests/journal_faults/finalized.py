"""The transactions of a journal's finalized segments, as stored on the disks of the JournalNodes."""

from collections.abc import Iterable
from pathlib import Path

from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.frames import read_segment
from nncache.hadoop.editlog.ops import decode_op
from nncache.hadoop.events import EventBatch
from nncache.invalidation.journal.quorum import ShownTransaction


class DamagedJournalError(Exception):
    """The JournalNodes themselves have lost transactions, or store different ones: no reader can be judged."""


def transactions_between(
    directories: Iterable[Path], after_txid: int, through_txid: int
) -> tuple[EventBatch, ...]:
    """Return the transactions that a reader must read, in order; each is on the disk of some JournalNode.

    A finalized segment may end with padding: a JournalNode that was killed while it wrote the segment keeps it.

    Raises:
        DamagedJournalError: a transaction is missing, or differs between JournalNodes.
    """
    found: dict[int, ShownTransaction] = {}
    for directory in directories:
        for segment in directory.glob("edits_0*-0*"):
            _, last_txid = map(int, segment.name.removeprefix("edits_").split("-"))
            if last_txid <= after_txid:
                continue
            layout_version, frames = read_segment(segment.read_bytes())
            assert layout_version is not None, f"{segment} is empty"
            for frame in frames.frames:
                each = ShownTransaction(layout_version, frame)
                if frame.txid <= last_txid and found.setdefault(frame.txid, each) != each:
                    raise DamagedJournalError(f"transaction {frame.txid} is not the same everywhere")
    wanted = range(after_txid + 1, through_txid + 1)
    if missing := [txid for txid in wanted if txid not in found]:
        raise DamagedJournalError(f"transaction {missing[0]} is in no finalized segment of any JournalNode")
    batches = (batch_of(decode_op(found[txid].frame, found[txid].layout_version)) for txid in wanted)
    return tuple(batch for batch in batches if batch is not None)
