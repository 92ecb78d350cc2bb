"""Decide whether another source of edits can take over in a run, and with what it begins.

Sans-I/O. The one in use is read on while the other, which began at a position of this run, catches up with it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import msgspec

from nncache.hadoop.events import Create, Event, EventBatch
from nncache.invalidation.edits_source import EditsRead

MAX_AHEAD: Final = 50_000
"""Transactions with events by which the source in use may be ahead before the other is given up."""

_Events: TypeAlias = tuple[Event, ...]


class Overlap:
    """What two sources have read after the same position: the one in use, and the one that may take over.

    Invariants:
        O1  `take` returns all that the other one has read beyond what was returned, and nothing else.
        O2  It may take over only when it has read all that was returned, and for each transaction the same events.
        O3  Its coverage is what the other one said of its last read, which is among what is returned.
    """

    def __init__(self, after_txid: int) -> None:
        """Both begin after this transaction."""
        self.through_txid = after_txid
        """Every transaction up to this one was returned."""
        self.trouble = ""
        """Why the other one cannot take over; "" while it may."""
        self._returned: dict[int, _Events] = {}  # by the source in use, that the other has not read yet
        self._batches: list[
            EventBatch
        ] = []  # read by the other, and not compared yet or beyond what was returned
        self._last = EditsRead((), after_txid, None)  # of the other
        self._compared_txid = after_txid  # what both have read up to here is compared

    @property
    def is_near(self) -> bool:
        """Whether the other one has read so far that it covers something."""
        return not self.trouble and self._last.fresh_as_of is not None

    @property
    def is_ready(self) -> bool:
        """Whether the other one can take over."""
        return self.is_near and self._last.through_txid >= self.through_txid

    def returned(self, read: EditsRead) -> None:
        """Take what the source in use returned."""
        self.through_txid = read.through_txid
        self._returned.update(
            (batch.txid, _comparable(batch.events)) for batch in read.batches if batch.events
        )
        self._compare()
        if len(self._returned) > MAX_AHEAD:
            self.trouble = f"it does not catch up: it has read up to transaction {self._last.through_txid}"

    def read(self, read: EditsRead) -> None:
        """Take what the other one read."""
        if read.seen_as_of is None:
            read = replace(read, seen_as_of=self._last.seen_as_of)
        self._last = read
        self._batches += read.batches
        self._compare()

    def take(self) -> EditsRead:
        """Return the first read of the one that takes over; the other is given up with that."""
        assert self.is_ready, self.trouble
        return replace(self._last, batches=tuple(self._batches))

    def _compare(self) -> None:
        """Compare what both have read, and keep the rest."""
        both = min(self.through_txid, self._last.through_txid)
        if both == self._compared_txid:
            return
        versions: dict[int, list[_Events]] = {}  # a source may show a transaction that the log does not keep
        for batch in self._batches:
            if batch.txid <= both and batch.events:
                versions.setdefault(batch.txid, []).append(_comparable(batch.events))
        returned = {txid: events for txid, events in self._returned.items() if txid <= both}
        for txid in sorted(versions.keys() | returned.keys()):
            if not _agree(returned.get(txid), versions.get(txid, ())):
                self.trouble = f"it has other events for transaction {txid}"
                return
        self._compared_txid = both
        self._returned = {txid: events for txid, events in self._returned.items() if txid > both}
        self._batches = [batch for batch in self._batches if batch.txid > both]


def _agree(returned: _Events | None, versions: Sequence[_Events]) -> bool:
    return not versions if returned is None else returned in versions


def _comparable(events: _Events) -> _Events:
    """Return events without what NameNodes before Hadoop 3.3 do not say."""
    return tuple(
        msgspec.structs.replace(event, erasure_coded=False) if isinstance(event, Create) else event
        for event in events
    )
