"""The transactions of a journal's finalized segments, as they are on the disks of the JournalNodes."""

from collections.abc import Iterable
from pathlib import Path

from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.frames import read_segment
from nncache.hadoop.editlog.ops import decode_op
from tests.inotify.subscriber_log import Event
from tests.journal_faults.reader import event_of


class DamagedJournalError(Exception):
    """The JournalNodes themselves have lost transactions, or keep different ones: no reader can be judged."""


def transactions_between(
    directories: Iterable[Path], after_txid: int, through_txid: int
) -> tuple[Event, ...]:
    """Return the transactions of which a reader is told, in order; all that some JournalNode has.

    Raises:
        DamagedJournalError: a transaction is missing, or is not the same at all.
    """
    content: dict[str, bytes] = {}  # of segments, by name
    for directory in directories:
        for segment in directory.glob("edits_0*-0*"):
            _, last = _bounds(segment.name)
            if last <= after_txid:
                continue
            data = segment.read_bytes()
            if content.setdefault(segment.name, data) != data:
                raise DamagedJournalError(f"{segment.name} is not the same at all JournalNodes")
    found: list[Event] = []
    position = after_txid
    for name in sorted(content):
        first, last = _bounds(name)
        if first > position + 1 or position >= through_txid:
            break
        layout_version, frames = read_segment(content[name])
        assert layout_version is not None, f"{name} is empty"
        for frame in frames.frames:
            batch = batch_of(decode_op(frame, layout_version))
            if batch is not None and position < frame.txid <= through_txid:
                found.append(event_of(batch))
        position = max(position, last)
    if position < through_txid:
        raise DamagedJournalError(f"transaction {position + 1} is in no finalized segment of any JournalNode")
    return tuple(found)


def _bounds(name: str) -> tuple[int, int]:
    first, last = map(int, name.removeprefix("edits_").split("-"))
    return first, last
