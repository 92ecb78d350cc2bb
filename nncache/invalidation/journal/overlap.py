"""Decides whether another source of edits can take over during a run, and what it returns first.

Sans-I/O. The source in use is still read while the other one, which began at a position of this run, catches up.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

import msgspec

from nncache.hadoop.events import Create, Event, EventBatch
from nncache.invalidation.edits_source import EditsRead

MAX_AHEAD: Final = 50_000
"""Limit of transactions with events by which the source in use may be ahead; beyond it the other one is given up."""

_Events: TypeAlias = tuple[Event, ...]


class Overlap:
    """The reads of two sources after the same position: the one in use, and the one that may take over.

    Invariants:
        O1  `take` returns exactly the transactions that the other source has read after those that were returned.
        O2  It may take over only once it has read all returned transactions, with the same events for each.
        O3  Its coverage is that of its last read, whose transactions were returned before or are returned by `take`.
    """

    def __init__(self, after_txid: int) -> None:
        """Begin both sources after this transaction."""
        self.through_txid = after_txid
        """All transactions up to this one were returned."""
        self.trouble = ""
        """Why the other source cannot take over; "" if it may."""
        self._returned: dict[int, _Events] = {}  # by the source in use; not read by the other one yet
        self._batches: list[EventBatch] = []  # read by the other one; not compared yet
        self._last = EditsRead((), after_txid, None)  # of the other source
        self._compared_txid = after_txid  # up to here the reads of both are compared

    @property
    def is_near(self) -> bool:
        """Whether the other source has coverage, and so may catch up soon."""
        return not self.trouble and self._last.fresh_as_of is not None

    @property
    def is_ready(self) -> bool:
        """Whether the other source can take over."""
        return self.is_near and self._last.through_txid >= self.through_txid

    def returned(self, read: EditsRead) -> None:
        """Take a read that the source in use returned."""
        self.through_txid = read.through_txid
        self._returned.update(
            (batch.txid, _comparable(batch.events)) for batch in read.batches if batch.events
        )
        self._compare()
        if len(self._returned) > MAX_AHEAD:
            self.trouble = f"it does not catch up: it has read up to transaction {self._last.through_txid}"

    def read(self, read: EditsRead) -> None:
        """Take a read of the other source."""
        if read.seen_as_of is None:
            read = replace(read, seen_as_of=self._last.seen_as_of)
        self._last = read
        self._batches += read.batches
        self._compare()

    def take(self) -> EditsRead:
        """Return the first read of the other source, which takes over; this ends the overlap."""
        assert self.is_ready, self.trouble
        return replace(self._last, batches=tuple(self._batches))

    def _compare(self) -> None:
        """Compare the transactions that both have read, and keep the rest."""
        both = min(self.through_txid, self._last.through_txid)
        if both == self._compared_txid:
            return
        versions: dict[int, list[_Events]] = {}  # a source may also show a version that the log does not keep
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
    """Return events without the field that NameNodes before Hadoop 3.3 omit."""
    return tuple(
        msgspec.structs.replace(event, erasure_coded=False) if isinstance(event, Create) else event
        for event in events
    )
