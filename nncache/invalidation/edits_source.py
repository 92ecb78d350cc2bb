"""A source of edits: transactions in order, and how far it has read.

The seam between channels and publishers above and what reads the edits below: today `poller.py`, which asks the
NameNode, or `feed.py`, which follows what a namespace in ZooKeeper writes; the log's own segments or JournalNodes have
room here.
"""

from dataclasses import dataclass
from typing import Protocol

from nncache.hadoop.events import EventBatch
from nncache.invalidation.stats import ChannelStats


@dataclass(frozen=True, slots=True)
class EditsRead:
    """What was read in one go."""

    batches: tuple[EventBatch, ...]  # the transactions with events, in order
    through_txid: int  # every transaction up to this one has been read in this run
    fresh_as_of: float | None  # all acknowledged before this time has been read; None when not known
    is_durable: bool = True  # no NameNode can lose a transaction up to `through_txid`
    seen_as_of: float | None = (
        None  # all that could be seen before this time has been read; None when not known
    )


class EditsSource(Protocol):
    """Something that yields transactions in order and says how far it has read."""

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read."""

    async def start(self, after_txid: int | None) -> None:
        """Begin a run after this transaction, or (None) at the present end; see `PolledEdits.start`."""

    def stop(self) -> None:
        """End the run; without one do nothing."""

    async def shut_down(self) -> None:
        """Give up what outlasts the runs; no run follows."""

    async def read(self) -> EditsRead:
        """Return what comes next; may be cancelled and called again. Raises MissingEventsError on a gap."""

    def wake(self) -> None:
        """Ask for the next `read` to return soon."""

    def stats(self) -> ChannelStats:
        """Return the figures over all runs."""
