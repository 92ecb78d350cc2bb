"""A channel that says it has read everything and delivers nothing. (demo/deaf.py)

Never for use: with it the story must fail, which shows that its checks can.
"""

from nncache.invalidation.settings import ZOOKEEPER
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.stream import (
    Changes,
    ChannelSetup,
    Covered,
    Filters,
    InotifyEventInputStream,
    Transactions,
    load_stream_class,
)


class DeafStream(InotifyEventInputStream):
    """ZooKeeper's channel without its changes: breaks S1 and S2 of InotifyEventInputStream, and nothing else."""

    def __init__(self, setup: ChannelSetup, heard: InotifyEventInputStream | None = None) -> None:
        """Keep to itself what another stream hears, ZooKeeper's unless one is given."""
        self._heard = load_stream_class(ZOOKEEPER)(setup) if heard is None else heard

    @property
    def term(self) -> int:
        """The term of the active NameNode."""
        return self._heard.term

    async def open(self) -> None:
        """Begin a run."""
        await self._heard.open()

    async def close(self) -> None:
        """End the run."""
        await self._heard.close()

    async def __anext__(self) -> Filters | Covered:
        """Return the next set of filters, or the next claim to have read everything."""
        while True:
            match await anext(self._heard):
                case Filters() | Covered() as item:
                    return item
                case Changes() | Transactions():
                    continue

    def request_probe(self) -> None:
        """Ask for the next claim soon."""
        self._heard.request_probe()

    async def shut_down(self) -> None:
        """End the session with ZooKeeper."""
        await self._heard.shut_down()

    def stats(self) -> ChannelStats:
        """Return the channel's figures."""
        return self._heard.stats()
