"""A namespace in a fake ZooKeeper: its NameNodes write each edit to the feed in one transaction with the change."""

import copy
from collections.abc import Callable

from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop import feed_znodes
from nncache.hadoop.events import Event
from nncache.invalidation.feed.stream import FeedInotifyEventInputStream
from tests.coordination.fake_tree import FakeTree
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.invalidation.fakes import NAMESPACE, FakeLog, FakePool
from tests.invalidation.virtual_time import clock
from tests.setup import channel_setup

ROOT = feed_znodes.DEFAULT_ROOT


class _Mirrored(list[tuple[Event, ...]]):
    """A list of transactions that writes each of them elsewhere first."""

    def __init__(self, write: Callable[[tuple[Event, ...]], None]) -> None:
        super().__init__()
        self._write = write

    def append(self, events: tuple[Event, ...]) -> None:
        """Write the transaction elsewhere, then append it."""
        self._write(events)
        super().append(events)


class FakeFeed:
    """The feed, and the same log as a `FakeLog`."""

    def __init__(self, zookeeper: FakeZooKeeper) -> None:
        self.zookeeper = zookeeper
        self._writer = zookeeper.session()
        self.log = FakeLog(_Mirrored(self._write))
        self._segment = 1
        self._began = {1: 1}  # first transaction of each segment, by number
        self.commit(
            CreateOp(ROOT, b""),
            CreateOp(ROOT + feed_znodes.VERSION, feed_znodes.encode_namespace(NAMESPACE)),
            CreateOp(ROOT + feed_znodes.EDITS, feed_znodes.encode_first(1, 1)),
            CreateOp(ROOT + feed_znodes.segment(1), b""),
        )
        self.log.transactions.append(())

    def end_segment(self) -> None:
        """Append an edit without events, and begin another segment."""
        self.log.transactions.append(())
        self._segment += 1
        self._began[self._segment] = self.log.end + 1
        self.commit(CreateOp(ROOT + feed_znodes.segment(self._segment), b""))

    def purge(self) -> None:
        """Delete all segments but the last."""
        first = min(self._began)
        for number in range(first, self._segment):
            begin = self._began[number + 1]
            self.commit(SetDataOp(ROOT + feed_znodes.EDITS, feed_znodes.encode_first(number + 1, begin)))
            edits = range(begin - self._began.pop(number))
            for edit in edits:
                self.commit(DeleteOp(ROOT + feed_znodes.edit(number, edit)))
            self.commit(DeleteOp(ROOT + feed_znodes.segment(number)))
        self.log.first_kept = self._began[self._segment]

    def saved(self) -> tuple[FakeTree, int, int, dict[int, int]]:
        """Return a copy of ZooKeeper's data."""
        return copy.deepcopy(self.zookeeper.tree), self.log.end, self._segment, dict(self._began)

    def put_back(self, saved: tuple[FakeTree, int, int, dict[int, int]]) -> None:
        """Restore ZooKeeper's data from a copy; later transactions get higher zxids nevertheless."""
        zxid = self.zookeeper.tree.zxid
        tree, end, self._segment, began = saved
        self._began = dict(began)
        self.zookeeper.wipe()
        self.zookeeper.tree = copy.deepcopy(tree)
        self.zookeeper.tree.zxid = zxid + 1000
        del self.log.transactions[end:]
        self.log.first_kept = min(self._began.values())

    def stream(self, pool: FakePool) -> FeedInotifyEventInputStream:
        """Return the channel under test; its session is the newest one."""
        session = self.zookeeper.session()
        return FeedInotifyEventInputStream(
            channel_setup(pool, clock), connect=lambda _settings, _clock: session
        )

    def _write(self, events: tuple[Event, ...]) -> None:
        edit = feed_znodes.new_edit(self._segment)
        self.commit(CreateOp(ROOT + edit, feed_znodes.encode_edit(events), sequential=True))

    def commit(self, *operations: ZnodeOp) -> None:
        """Commit operations on its znodes."""
        self.zookeeper.commit(self._writer, operations)
