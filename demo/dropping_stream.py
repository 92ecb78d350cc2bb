"""A channel that claims to have read every change and delivers none. (demo/dropping_stream.py)

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


class DroppingStream(InotifyEventInputStream):
    """ZooKeeper's channel without its changes: breaks S1 and S2 of InotifyEventInputStream, and nothing else."""

    def __init__(self, setup: ChannelSetup, stream: InotifyEventInputStream | None = None) -> None:
        """Wrap a stream, ZooKeeper's unless one is given."""
        self._stream = load_stream_class(ZOOKEEPER)(setup) if stream is None else stream

    @property
    def term(self) -> int:
        """The term of the active NameNode."""
        return self._stream.term

    async def open(self) -> None:
        """Begin a run."""
        await self._stream.open()

    async def close(self) -> None:
        """End the run."""
        await self._stream.close()

    async def __anext__(self) -> Filters | Covered:
        """Return the next set of filters, or the next claim to have read everything."""
        while True:
            match await anext(self._stream):
                case Filters() | Covered() as item:
                    return item
                case Changes() | Transactions():
                    continue

    def request_probe(self) -> None:
        """Ask for the next claim soon."""
        self._stream.request_probe()

    async def shut_down(self) -> None:
        """End the session with ZooKeeper."""
        await self._stream.shut_down()

    def stats(self) -> ChannelStats:
        """Return the channel's figures."""
        return self._stream.stats()
