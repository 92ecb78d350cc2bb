"""What waits for a NameNode's reply for a while only: one timer for all of them.

A timer for each call costs more than to read its reply, and nearly none of them ever ends.
"""

import asyncio
from collections.abc import Callable
from typing import Final

_MOMENT_S: Final = 0.001  # an event loop counts in whole ones


class LateReplies:
    """Those that wait, all of them for the same time.

    Invariants:
        L1  `_waiting` has their ends, the earliest first.
        L2  While one waits a timer runs, which ends no later than that one's time.
    """

    def __init__(self) -> None:
        self._waiting: dict[Callable[[], None], float] = {}
        self._timer: asyncio.TimerHandle | None = None  # also for a while when none waits

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def expect(self, waiting: Callable[[], None], loop: asyncio.AbstractEventLoop, within_s: float) -> None:
        """Call one if its reply does not come within so many seconds; they must be as many for all."""
        self._waiting[waiting] = loop.time() + within_s
        if self._timer is None:
            self._timer = loop.call_later(within_s, self._look, loop)

    def forget(self, waiting: Callable[[], None]) -> None:
        """Wait for the reply no longer; one that does not wait is no error."""
        self._waiting.pop(waiting, None)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time() + _MOMENT_S
        late = []
        for waiting, ends_at in self._waiting.items():
            if ends_at > now:
                self._timer = loop.call_later(ends_at - now + _MOMENT_S, self._look, loop)
                break
            late.append(waiting)
        for waiting in late:
            if self._waiting.pop(waiting, None) is not None:  # what came of another may have ended it
                waiting()
