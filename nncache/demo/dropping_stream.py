"""A channel that claims to have read every change, and delivers none.

Only for the demo: the story must fail with it, which proves that its checks can fail.
"""

from nncache.invalidation.follower.stream import ZooKeeperInotifyEventInputStream
from nncache.invalidation.stream import CoveredThrough, FiltersInForce, StreamItem


class DroppingStream(ZooKeeperInotifyEventInputStream):
    """ZooKeeper's channel without its changes: it violates only S1 and S2 of InotifyEventInputStream."""

    async def __anext__(self) -> StreamItem:
        """Return the next set of filters, or the next claim to have read everything."""
        while not isinstance(item := await super().__anext__(), FiltersInForce | CoveredThrough):
            pass
        return item
