"""Lets requests of which nothing is known begin a few in each turn of the event loop.

libuv reads every socket that is ready before anything else has its turn. A request of which nothing is known takes
many times as long as one that is, so of a crowd that asks the same all would be parsed before the first one is
answered, and teaches the fast path what the others ask. Addresses take turns, so that a crowd of few addresses makes no
other client wait for all of it.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from typing import Final, Protocol

AT_A_TURN: Final = 32
"""So many take about five milliseconds."""

LOOKS_AT_A_TURN: Final = 512
"""Of those who wait; what they ask may be known by now, and costs little then."""


_log = logging.getLogger(__name__)


class Newcomer(Protocol):
    """A connection with a request that was not known when it came."""

    @property
    def holder(self) -> str:
        """Of the connection's share (`nncache.net.shares.holder_of`)."""

    def has_closed(self) -> bool:
        """Whether the client will send nothing more: it has left, or has closed its half alone."""

    def go_on(self) -> bool:
        """Serve what waits; whether it was unknown."""

    def end(self) -> None:
        """End the connection at once: what waits can't be served."""


class Arrivals:
    """Connections that wait: holder by holder in turn, each holder's in the order in which they came.

    Invariants:
        A1  While one waits, or one was let in since the last turn, exactly one turn is scheduled.
        A2  While one waits, none is let in at once; of one holder, none before one that came earlier.
        A3  Who has probably left goes on when no other waits: it may have closed its half alone, and read on.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[Newcomer]] = OrderedDict()  # by holder; whose turn it is first
        self._closed: deque[Newcomer] = deque()  # A3
        self._let_in = 0  # since the last turn
        self._is_scheduled = False

    def may_enter(self) -> bool:
        """Count one more, if it need not wait."""
        if self._waiting or self._let_in >= AT_A_TURN:
            return False
        self._let_in += 1
        self._schedule()
        return True

    def add(self, newcomer: Newcomer) -> None:
        """Have one go on in its turn."""
        self._waiting.setdefault(newcomer.holder, deque()).append(newcomer)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._work_once)

    def _work_once(self) -> None:
        self._is_scheduled = False
        self._let_in = looks = 0
        while self._waiting and self._let_in < AT_A_TURN and looks < LOOKS_AT_A_TURN:
            looks += 1
            newcomer = self._take_next()
            if newcomer.has_closed():
                self._closed.append(newcomer)
            else:
                self._let_in += _go_on(newcomer)
        while self._closed and not self._waiting and self._let_in < AT_A_TURN and looks < LOOKS_AT_A_TURN:
            looks += 1
            self._let_in += _go_on(self._closed.popleft())
        if self._waiting or self._closed or self._let_in:
            self._schedule()

    def _take_next(self) -> Newcomer:
        holder, those = self._waiting.popitem(last=False)
        newcomer = those.popleft()
        if those:
            self._waiting[holder] = those
        return newcomer


def _go_on(newcomer: Newcomer) -> bool:
    """Let one go on; an internal error costs its own connection, as in any call of a protocol, and no other."""
    try:
        return newcomer.go_on()
    except Exception:  # noqa: BLE001 - the others wait behind it
        _log.exception("internal error while a request was taken")
        newcomer.end()
        return True
