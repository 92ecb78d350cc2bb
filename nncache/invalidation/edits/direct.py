"""Channels of a proxy that reads the edits itself, from the NameNode, from JournalNodes or from a feed in ZooKeeper."""

from collections import deque

from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.stream import (
    ChannelSetup,
    CoveredThrough,
    InotifyEventInputStream,
    StreamItem,
    TransactionEvents,
)


class EditsInputStream(InotifyEventInputStream):
    """The stream of the edits that a source reads.

    Invariant:
        D1  The items of a read are queued together, its Covered last: a reader that stops before the Covered does not
            get it, and one that continues gets the other items first.
    """

    def __init__(self, source: EditsSource) -> None:
        self._source = source
        self._items: deque[StreamItem] = deque()  # read, but not yielded yet
        self._covered = (float("-inf"), -1)  # (as_of, txid) of the last Covered queued
        self._seen_as_of = float("-inf")  # the latest `seen_as_of` of the source

    @property
    def term(self) -> int:
        """The term of the active NameNode whose changes this run yields."""
        return self._source.term

    async def open(self) -> None:
        """Begin a run at the present end of the edits."""
        await self.close()
        await self._source.start(None)

    async def close(self) -> None:
        """End the run."""
        self._source.stop()
        self._items.clear()
        self._covered = (float("-inf"), -1)
        self._seen_as_of = float("-inf")

    async def __anext__(self) -> StreamItem:
        """Return the next item; see InotifyEventInputStream."""
        while not self._items:
            read = await self._source.read()
            self._items.extend(TransactionEvents(batch) for batch in read.batches)
            if read.seen_as_of is not None:
                self._seen_as_of = read.seen_as_of
            if read.fresh_as_of is None:
                continue
            covered = (read.fresh_as_of, read.through_txid)
            if read.seen_as_of is not None or covered != self._covered:
                self._covered = covered
                self._items.append(CoveredThrough(*covered, self._seen_as_of))
        return self._items.popleft()

    async def shut_down(self) -> None:
        """End the run, and release what the source holds beyond it."""
        await self.close()
        await self._source.shut_down()

    def request_probe(self) -> None:
        """Ask for the next Covered soon."""
        self._source.wake()

    def stats(self) -> ChannelStats:
        """Return the figures of the source."""
        return self._source.stats()


class DirectInotifyEventInputStream(EditsInputStream):
    """The stream of the source that `edits_source` names; by default polls of getEditsFromTxid."""

    def __init__(self, setup: ChannelSetup) -> None:
        super().__init__(setup.edits or PolledEdits(setup.namenodes, setup.polling, setup.clock))
