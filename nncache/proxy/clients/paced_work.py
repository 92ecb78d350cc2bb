"""Work of which a bounded part is done in each iteration of the event loop.

What comes in between two iterations goes first: a crowd does not stop those who have nothing to do with it.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from nncache.proxy.clients.connection import ClientConnection

ARRIVALS_PER_ITERATION: Final = 32
"""So many take about five milliseconds."""

LOOKS_PER_ITERATION: Final = 512
"""Of those who wait; what they ask may be known by now, and costs little then."""

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class LoopCallback:
    """Has work go on in the next iteration of the event loop, and in each after that while more is left.

    Invariants:
        T1  While there is work, exactly one iteration is scheduled.
    """

    __slots__ = ("_is_scheduled", "_work")

    def __init__(self, work: Callable[[], bool]) -> None:
        """Begin with nothing; `work` does a part of it, and returns whether more is left."""
        self._work = work
        self._is_scheduled = False

    def schedule(self) -> None:
        """Have it go on."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._work_once)

    def _work_once(self) -> None:
        self._is_scheduled = False
        if self._work():
            self.schedule()


class PacedWork(Generic[_T]):
    """Has things worked on one after the other, each until it has no more to do or the iteration is over.

    Invariants:
        T2  One waits at one place only.
    """

    def __init__(self, work: Callable[[_T, int], int], per_iteration: int) -> None:
        """Begin with nothing.

        Args:
            work: does at most so much for one and returns how much that was; it calls `add` if more is left.
            per_iteration: how much is done in one iteration.
        """
        self._work = work
        self._per_iteration = per_iteration
        self._due: dict[_T, None] = {}
        self._callback = LoopCallback(self._work_once)

    def add(self, one: _T) -> None:
        """Have one worked on in its turn."""
        self._due[one] = None
        self._callback.schedule()

    def _work_once(self) -> bool:
        left = self._per_iteration
        while self._due and left > 0:
            one = next(iter(self._due))
            del self._due[one]
            left -= self._work(one, left)
        return bool(self._due)


class Arrivals:
    """Lets requests of which nothing is known begin a few in each iteration of the event loop.

    libuv reads every socket that is ready before anything else has its turn. A request of which nothing is known takes
    many times as long as one that is, so of a crowd that asks the same all would be parsed before the first one is
    answered, and teaches the fast path what the others ask. Connections wait holder by holder in turn, each holder's in
    the order in which they came, so that a crowd of few addresses makes no other client wait for all of it.

    Invariants:
        A1  While one waits, or one was let in since the last iteration, exactly one is scheduled.
        A2  While one waits, none is let in at once; of one holder, none before one that came earlier.
        A3  Who has probably left goes on when no other waits: it may have closed its half alone, and read on.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[ClientConnection]] = (
            OrderedDict()
        )  # by holder; whose turn it is first
        self._closed: deque[ClientConnection] = deque()  # A3
        self._let_in = 0  # since the last iteration
        self._callback = LoopCallback(self._work_once)

    def may_enter(self) -> bool:
        """Count one more, if it need not wait."""
        if self._waiting or self._let_in >= ARRIVALS_PER_ITERATION:
            return False
        self._let_in += 1
        self._callback.schedule()
        return True

    def add(self, newcomer: "ClientConnection") -> None:
        """Have one go on in its turn."""
        self._waiting.setdefault(newcomer.holder, deque()).append(newcomer)
        self._callback.schedule()

    def _work_once(self) -> bool:
        self._let_in = looks = 0
        while self._waiting and self._let_in < ARRIVALS_PER_ITERATION and looks < LOOKS_PER_ITERATION:
            looks += 1
            newcomer = self._take_next()
            if newcomer.has_closed():
                self._closed.append(newcomer)
            else:
                self._let_in += _go_on(newcomer)
        while (
            self._closed
            and not self._waiting
            and self._let_in < ARRIVALS_PER_ITERATION
            and looks < LOOKS_PER_ITERATION
        ):
            looks += 1
            self._let_in += _go_on(self._closed.popleft())
        return bool(self._waiting or self._closed or self._let_in)

    def _take_next(self) -> "ClientConnection":
        holder, those = self._waiting.popitem(last=False)
        newcomer = those.popleft()
        if those:
            self._waiting[holder] = those
        return newcomer


def _go_on(newcomer: "ClientConnection") -> bool:
    """Let one go on; an internal error costs its own connection, as in any call of a protocol, and no other."""
    try:
        return newcomer.go_on()
    except Exception:  # noqa: BLE001 - the others wait behind it
        _log.exception("internal error while a request was taken")
        newcomer.end()
        return True
