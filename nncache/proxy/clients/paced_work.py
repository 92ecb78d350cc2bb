"""Work that is done in bounded parts, one part in each iteration of the event loop.

Events that arrive between two iterations are handled first, so that a crowd does not block other clients.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from nncache.proxy.clients.connection import ClientConnection

ARRIVALS_PER_ITERATION: Final = 32
"""Number of unknown requests started in one iteration; they take about five milliseconds."""

CHECKS_PER_ITERATION: Final = 512
"""Number of waiting connections checked in one iteration; a request whose head is known by now costs little."""

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class LoopCallback:
    """Runs work in the next iteration of the event loop, and in each one after that while more is left.

    Invariants:
        T1  While there is work, exactly one iteration is scheduled.
    """

    __slots__ = ("_is_scheduled", "_work")

    def __init__(self, work: Callable[[], bool]) -> None:
        """Start idle; `work` does a part of the work, and returns whether more is left."""
        self._work = work
        self._is_scheduled = False

    def schedule(self) -> None:
        """Run `work` in the next iteration."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._work_once)

    def _work_once(self) -> None:
        self._is_scheduled = False
        if self._work():
            self.schedule()


class PacedWork(Generic[_T]):
    """Processes items one after the other, with a bounded amount of work in each iteration.

    Invariants:
        T2  An item is queued at most once.
    """

    def __init__(self, work: Callable[[_T, int], int], per_iteration: int) -> None:
        """Start with an empty queue.

        Args:
            work: does at most the given amount of work for an item, and returns how much; calls `add` if more is left.
            per_iteration: the amount of work in one iteration.
        """
        self._work = work
        self._per_iteration = per_iteration
        self._due: dict[_T, None] = {}
        self._callback = LoopCallback(self._work_once)

    def add(self, one: _T) -> None:
        """Queue an item."""
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
    """Starts a limited number of unknown requests in each iteration of the event loop.

    libuv reads every socket that is ready before anything else runs. A request with an unknown head takes many times as
    long as one with a known head. So if a crowd sends the same request, all copies would be parsed before the first
    answer teaches the fast path their head. Holders take turns, and connections of one holder are served in order of
    arrival, so that a crowd from few addresses does not delay every other client.

    Invariants:
        A1  While a connection waits, or one was admitted since the last iteration, exactly one iteration is scheduled.
        A2  While a connection waits, none is admitted immediately; each holder's connections keep their order.
        A3  A connection whose client has probably left is served when no other waits: its client may have half-closed
            and may still read.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[ClientConnection]] = OrderedDict()  # by holder, next one first
        self._closed: deque[ClientConnection] = deque()  # A3
        self._let_in = 0  # number of requests started since the last iteration
        self._callback = LoopCallback(self._work_once)

    def may_enter(self) -> bool:
        """Count a request that may start now; False: it must wait."""
        if self._waiting or self._let_in >= ARRIVALS_PER_ITERATION:
            return False
        self._let_in += 1
        self._callback.schedule()
        return True

    def add(self, newcomer: "ClientConnection") -> None:
        """Queue a connection that must wait."""
        self._waiting.setdefault(newcomer.holder, deque()).append(newcomer)
        self._callback.schedule()

    def _work_once(self) -> bool:
        self._let_in = looks = 0
        while self._waiting and self._let_in < ARRIVALS_PER_ITERATION and looks < CHECKS_PER_ITERATION:
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
            and looks < CHECKS_PER_ITERATION
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
    """Serve a connection. An internal error ends this connection only, as in any callback of a protocol."""
    try:
        return newcomer.go_on()
    except Exception:  # noqa: BLE001 - other connections wait after it
        _log.exception("internal error while a request was taken")
        newcomer.end()
        return True
