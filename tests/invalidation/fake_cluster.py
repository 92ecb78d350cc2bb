"""One NameNode, or a pair, with a source of edits over it, in virtual time."""

from collections.abc import Callable
from dataclasses import dataclass

from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.edits.source import EditsRead
from nncache.invalidation.settings import PollingSettings
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.virtual_time import clock


@dataclass
class FakeCluster:
    """One or two NameNodes, the pool, and the source under test."""

    namenode: FakeNameNode
    pool: FakePool
    source: PolledEdits

    async def read_until(self, true: Callable[[EditsRead], bool]) -> list[EditsRead]:
        """Read until something is read."""
        reads = [await self.source.read()]
        while not true(reads[-1]):
            reads.append(await self.source.read())
        return reads

    async def read_a_change(self) -> None:
        """Change something, read it, and read once more."""
        self.namenode.unlink("/a")
        await self.read_until(lambda read: bool(read.batches))
        await self.source.read()


def fake_cluster(*peers: FakeNameNode, **settings: float) -> FakeCluster:
    """Set the stage: 10 transactions have happened."""
    namenode = FakeNameNode()
    for number in range(10):
        namenode.unlink(f"/before/{number}")
    pool = FakePool(clock, namenode, *peers)
    chosen = PollingSettings(**settings)  # type: ignore[arg-type]  # integers among the floats
    return FakeCluster(namenode, pool, PolledEdits(pool, chosen, clock, chance=lambda: 1.0))


async def reading(*peers: FakeNameNode, **settings: float) -> FakeCluster:
    """Set up, and read what there is at the present end."""
    on = fake_cluster(*peers, **settings)
    await on.source.start(None)
    await on.source.read()
    return on


def txids(reads: list[EditsRead]) -> list[int]:
    """Return the transactions with events of these reads."""
    return [batch.txid for read in reads for batch in read.batches]
