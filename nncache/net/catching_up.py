"""Accepts the connects that a busy event loop leaves waiting.

libuv accepts one connection in each turn of the loop (libuv#3696). While thousands of connections ask without a pause,
a turn lasts as long as it takes to answer all of them, and who is new would wait in the kernel for minutes.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NoReturn

EVERY_S: Final = 0.05
"""Seconds from one look to the next. A loop that is not busy has accepted all by then: a look costs microseconds."""

AT_A_LOOK: Final = 64
"""So many take a few milliseconds."""


class CatchingUp:
    """Looks now and then for connects that wait, beside the event loop's own accepting."""

    def __init__(self, make_protocol: Callable[[], asyncio.Protocol], listening: Iterable[int]) -> None:
        """Prepare to look at these listening sockets, given by their file descriptors, which stay the caller's."""
        self._make_protocol = make_protocol
        self._sockets = [socket.socket(fileno=os.dup(file)) for file in listening]
        for each in self._sockets:
            each.settimeout(0.0)

    async def run(self) -> NoReturn:
        """Look, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            if accepted := [found for each in self._sockets for found in _accept(each)]:
                async with asyncio.TaskGroup() as tasks:
                    for each in accepted:
                        tasks.create_task(self._serve(each))

    def stop(self) -> None:
        """Accept no more, and let go of the sockets. Those who were accepted are served."""
        for each in self._sockets:
            each.close()
        self._sockets.clear()

    async def _serve(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(self._make_protocol, accepted)
        except OSError:  # it has gone
            accepted.close()


def _accept(listening: socket.socket) -> Iterator[socket.socket]:
    for _ in range(AT_A_LOOK):
        try:
            accepted, _ = listening.accept()
        except OSError:  # none waits; of what else may be wrong libuv makes the best
            return
        accepted.settimeout(0.0)
        yield accepted
