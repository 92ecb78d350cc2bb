"""Delete the marks of processes that have ended (coordination/linearizable.py)."""

from collections.abc import Callable
from typing import Final

from nncache.coordination.errors import ZnodeError
from nncache.coordination.linearizable import MARKS
from nncache.coordination.zookeeper import DeleteOp, Znodes
from nncache.namenode.node.observer_clocks import Absences

AFTER_S: Final = 3600.0
"""Time after which no process can still be resolving the outcome of its last transaction."""

_ALIVE: Final = "alive"


def alive(name: str) -> str:
    """Return the path of the ephemeral znode of a live process."""
    return f"{MARKS}/{name}/{_ALIVE}"


class Sweeper:
    """Deletes the marks of processes that were absent for an hour, by this observer's clock."""

    def __init__(self, znodes: Znodes, now: Callable[[], float]) -> None:
        self._znodes = znodes
        self._now = now
        self._absences = Absences(AFTER_S)

    async def tick(self) -> None:
        """Delete the marks of processes that are absent for too long."""
        names = await self._znodes.children(MARKS)
        found = await self._znodes.get_many([alive(name) for name in names])
        there = {name for name, znode in zip(names, found, strict=True) if znode is not None}
        for name in self._absences.look(set(names), there, self._now()):
            await self._sweep(name)

    async def _sweep(self, name: str) -> None:
        try:
            for mark in await self._znodes.children(f"{MARKS}/{name}"):
                await self._znodes.commit([DeleteOp(f"{MARKS}/{name}/{mark}")])
            await self._znodes.commit([DeleteOp(f"{MARKS}/{name}")])
        except ZnodeError:
            return  # the process has returned
