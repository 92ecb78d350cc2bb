"""Whose question about a subtree of the registry is answered when."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nncache.proxy.errors import RegistryUnavailableError, TooManyRequestsError

READINGS: Final = 4
"""Subtrees that are read at the same time, for all clients."""

OF_ONE: Final = 2
"""Of one address: one is answered, the others wait for it, so that it cannot keep others waiting."""

MOST: Final = 256
"""Of all."""

_AGAIN_S: Final = 1


class FairLimiter:
    """Lets a few questions at a time be answered, those of one address one after the other.

    Invariants:
        T1  At most READINGS are being answered, and at most one of one address.
        T2  At most OF_ONE of one address, and MOST of all, are being answered or wait.
        T3  Those that may be answered are, in the order in which they became so.
    """

    def __init__(self) -> None:
        self._reading = asyncio.Semaphore(READINGS)
        self._held: Counter[str] = Counter()  # by address: those being answered, and those that wait
        self._own: dict[str, asyncio.Lock] = {}  # of each of these addresses

    @asynccontextmanager
    async def slot(self, holder: str) -> AsyncIterator[None]:
        """Begin the block when it is the turn of a question of this address.

        Raises:
            TooManyRequestsError: this address has others that are not answered yet.
            RegistryUnavailableError: there are too many of all.
        """
        if self._held[holder] >= OF_ONE:
            raise TooManyRequestsError(
                f"too many questions about subtrees of the registry at the same time: {OF_ONE} of one address",
                _AGAIN_S,
            )
        if self._held.total() >= MOST:
            raise RegistryUnavailableError(f"{MOST} questions about subtrees of the registry wait: ask again")
        self._held[holder] += 1
        own = self._own.setdefault(holder, asyncio.Lock())
        try:
            async with own, self._reading:
                yield
        finally:
            self._held[holder] -= 1
            if not self._held[holder]:
                del self._held[holder], self._own[holder]
