"""A channel that says it has read everything and delivers nothing. (demo/deaf.py)

Never for use: with it the story must fail, which shows that its checks can.
"""

from invalidation.direct import DirectInotifyEventInputStream
from invalidation.stats import ChannelStats
from invalidation.stream import ChannelSetup, Covered, InotifyEventInputStream


class DeafStream(InotifyEventInputStream):
    """The direct channel without its changes: breaks S1 and S2 of InotifyEventInputStream, and nothing else."""

    def __init__(self, setup: ChannelSetup) -> None:
        self._heard: InotifyEventInputStream = DirectInotifyEventInputStream(setup)

    @property
    def term(self) -> int:
        """The term of the active NameNode."""
        return self._heard.term

    async def open(self) -> None:
        """Begin a life."""
        await self._heard.open()

    async def close(self) -> None:
        """End the life."""
        await self._heard.close()

    async def __anext__(self) -> Covered:
        """Return the next claim to have read everything."""
        while True:
            item = await anext(self._heard)
            if isinstance(item, Covered):
                return item

    def request_probe(self) -> None:
        """Ask for the next claim soon."""
        self._heard.request_probe()

    def stats(self) -> ChannelStats:
        """Return the figures of the polling."""
        return self._heard.stats()
