"""Ends the connections that clients have closed, a few in each turn of the event loop.

To end one takes longer than to accept it: the operating system's close, a timer, what was counted. libuv hands over all
ends of connections that it finds at once, so when many clients leave together, all others would wait for it.
"""

import asyncio
from collections import deque
from typing import Final

AT_A_TURN: Final = 32
"""So many take about a millisecond."""


class Endings:
    """Connections that are to end, in the order in which their clients closed them.

    Invariants:
        E1  While one waits, exactly one turn is scheduled.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Transport] = deque()

    def add(self, transport: asyncio.Transport) -> None:
        """Close a transport in its turn."""
        if not self._waiting:
            self._schedule()
        self._waiting.append(transport)

    def _schedule(self) -> None:
        asyncio.get_running_loop().call_soon(self._work_once)

    def _work_once(self) -> None:
        for _ in range(min(AT_A_TURN, len(self._waiting))):
            self._waiting.popleft().close()
        if self._waiting:
            self._schedule()
