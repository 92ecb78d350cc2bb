"""Limits concurrent questions about subtrees of the registry, fairly by address."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from nncache.proxy.errors import RegistryUnavailableError, TooManyRequestsError

READINGS: Final = 4
"""Subtrees that are read concurrently, for all clients."""

OF_ONE: Final = 2
"""Limit of questions of one address: one is answered, the other waits for it, so that other addresses are served."""

MOST: Final = 256
"""Limit of questions of all addresses."""

_AGAIN_S: Final = 1


class FairLimiter:
    """Limits concurrent questions; those of one address are answered one after the other.

    Invariants:
        T1  At most READINGS questions are being answered, at most one of each address.
        T2  At most OF_ONE questions of one address, and MOST of all, are being answered or wait.
        T3  Questions that may be answered are answered in the order in which they became eligible.
    """

    def __init__(self) -> None:
        self._reading = asyncio.Semaphore(READINGS)
        self._held: Counter[str] = Counter()  # by address: questions being answered or waiting
        self._own: dict[str, asyncio.Lock] = {}  # of each address in `_held`

    @asynccontextmanager
    async def slot(self, holder: str) -> AsyncIterator[None]:
        """Run the block when it is this address's turn.

        Raises:
            TooManyRequestsError: this address has too many unanswered questions.
            RegistryUnavailableError: all addresses together have too many.
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
