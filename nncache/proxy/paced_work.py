"""Work of which a bounded part is done in each turn of the event loop.

What comes in between two turns goes first: a crowd does not stop those who have nothing to do with it.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class PacedWork(Generic[_T]):
    """Has things worked on one after the other, each until it has no more to do or the turn is over.

    Invariants:
        T1  While one waits, exactly one turn is scheduled.
        T2  One waits at one place only.
    """

    def __init__(self, work: Callable[[_T, int], int], at_a_turn: int) -> None:
        """Begin with nothing.

        Args:
            work: does at most so much for one and returns how much that was; it calls `add` if more is left.
            at_a_turn: how much is done in one turn.
        """
        self._work = work
        self._at_a_turn = at_a_turn
        self._due: dict[_T, None] = {}
        self._is_scheduled = False

    def add(self, one: _T) -> None:
        """Have one worked on in its turn."""
        self._due[one] = None
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._work_once)

    def _work_once(self) -> None:
        self._is_scheduled = False
        left = self._at_a_turn
        while self._due and left > 0:
            one = next(iter(self._due))
            del self._due[one]
            left -= self._work(one, left)
        if self._due:
            self._schedule()
