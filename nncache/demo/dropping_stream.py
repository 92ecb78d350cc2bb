"""A channel that claims to have read every change and delivers none.

Never for use: with it the story must fail, which shows that its checks can.
"""

from nncache.invalidation.follower.stream import ZooKeeperInotifyEventInputStream
from nncache.invalidation.stream import Covered, Filters, StreamItem


class DroppingStream(ZooKeeperInotifyEventInputStream):
    """ZooKeeper's channel without its changes: breaks S1 and S2 of InotifyEventInputStream, and nothing else."""

    async def __anext__(self) -> StreamItem:
        """Return the next set of filters, or the next claim to have read everything."""
        while not isinstance(item := await super().__anext__(), Filters | Covered):
            pass
        return item
