"""A source of edits: transactions in order, and the position up to which it has read.

The interface between channels and publishers above and the readers of edits below: `edits/` polls the NameNode,
`journal/` reads JournalNodes or a NameNode's directory, `feed/` follows what a namespace in ZooKeeper writes.
"""

from dataclasses import dataclass
from typing import Protocol

from nncache.hadoop.events import EventBatch
from nncache.invalidation.stats import ChannelStats


@dataclass(frozen=True, slots=True)
class EditsRead:
    """The result of one read."""

    batches: tuple[EventBatch, ...]  # the transactions with events, in order
    through_txid: int  # every transaction up to this one has been read in this run
    fresh_as_of: float | None  # everything acknowledged before this time has been read; None if unknown
    is_durable: bool = True  # no NameNode can lose a transaction up to `through_txid`
    seen_as_of: float | None = (
        None  # everything that could be seen before this time has been read; None if unknown
    )


class EditsSource(Protocol):
    """A source that returns transactions in order and reports its position."""

    @property
    def term(self) -> int:
        """The term of the active NameNode whose edits are read."""

    async def start(self, after_txid: int | None) -> None:
        """Begin a run after this transaction, or (None) at the present end; see `PolledEdits.start`."""

    def stop(self) -> None:
        """End the run, if there is one."""

    async def shut_down(self) -> None:
        """Release what outlasts the runs; no run follows."""

    async def read(self) -> EditsRead:
        """Return the next edits; may be cancelled and called again. Raises MissingEventsError on a gap."""

    def wake(self) -> None:
        """Request that the next `read` returns soon."""

    def stats(self) -> ChannelStats:
        """Return the figures over all runs."""
