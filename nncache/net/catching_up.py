"""Accepts the connections that a busy event loop leaves in the backlog.

libuv accepts one connection in each iteration of the loop (libuv#3696). While thousands of connections send requests
without a pause, an iteration answers all of them, and a new connection would stay in the backlog for minutes.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NoReturn

EVERY_S: Final = 0.05
"""Seconds between two checks. An idle loop has accepted everything by then: a check costs microseconds."""

AT_A_LOOK: Final = 64
"""Maximum of connections accepted by one check; they take a few milliseconds."""


class CatchingUp:
    """Checks the backlog periodically, in addition to the event loop's own accepting."""

    def __init__(self, make_protocol: Callable[[], asyncio.Protocol], listening: Iterable[int]) -> None:
        """Prepare to check these listening sockets, by their file descriptors, which the caller keeps."""
        self._make_protocol = make_protocol
        self._sockets = [socket.socket(fileno=os.dup(file)) for file in listening]
        for each in self._sockets:
            each.settimeout(0.0)

    async def run(self) -> NoReturn:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            if accepted := [found for each in self._sockets for found in _accept(each)]:
                async with asyncio.TaskGroup() as tasks:
                    for each in accepted:
                        tasks.create_task(self._serve(each))

    def stop(self) -> None:
        """Stop accepting, and release the sockets. Accepted connections are still served."""
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
