"""Permits for what is bounded, given in turn to those who wait."""

import asyncio
from collections import OrderedDict, deque

from nncache.net.shares import Shares


class Permits:
    """Lends permits; those who wait are served holder by holder in turn, each holder's calls in their order.

    Invariants:
        P1  At most `limit` permits are lent, to each holder at most its share (`nncache.net.shares`).
        P2  Whenever a permit is free, all who wait have their share.
        P3  A holder is listed as waiting only while calls of it wait.
    """

    def __init__(self, limit: int) -> None:
        self._shares = Shares(limit)
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()  # whose turn it is first

    @property
    def in_use(self) -> int:
        """Permits lent."""
        return self._shares.in_use

    @property
    def waiting(self) -> int:
        """Calls that wait."""
        return sum(map(len, self._waiting.values()))

    def held(self, holder: str) -> int:
        """Return how many permits it has."""
        return self._shares.held(holder)

    def fewest_held(self) -> int | None:
        """Return what that holder has who waits with the fewest permits; None if none waits."""
        return min(map(self._shares.held, self._waiting), default=None)

    def take(self, holder: str) -> bool:
        """Take a permit without waiting; false if the holder must wait."""
        return holder not in self._waiting and self._shares.take(holder)

    async def wait(self, holder: str) -> None:
        """Wait for a permit in turn."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(holder, deque()).append(future)
        try:
            await future
        except BaseException:
            if future.done() and not future.cancelled():
                self.give_back(holder)  # it was given in the same turn of the loop
            else:
                self._leave(holder, future)
            raise

    def give_back(self, holder: str) -> None:
        """Give a permit back, and hand what is free to those whose turn it is.

        Costs at most one look at each of the few who have their share.
        """
        self._shares.give_back(holder)
        looks = len(self._waiting)
        while looks and not self._shares.is_exhausted:
            looks -= 1
            next_holder, calls = next(iter(self._waiting.items()))
            while calls and calls[0].done():  # cancelled in this turn of the loop
                calls.popleft()
            if not calls:
                del self._waiting[next_holder]
                continue
            self._waiting.move_to_end(next_holder)
            if self._shares.take(next_holder):
                calls.popleft().set_result(None)
                if not calls:
                    del self._waiting[next_holder]

    def _leave(self, holder: str, future: asyncio.Future[None]) -> None:
        calls = self._waiting.get(holder)
        if calls is None or future not in calls:
            return  # passed over since it was cancelled
        calls.remove(future)
        if not calls:
            del self._waiting[holder]
