"""One timer for all that time out after the same while, as libevent's `event_base_init_common_timeout` has it."""

import asyncio
from collections.abc import Callable
from typing import Final

_MOMENT_S: Final = 0.001  # an event loop counts in whole ones


class CommonTimeout:
    """Calls back what is not ended in time.

    A timer of the event loop for each takes longer than most of what it is for, and nearly none ever runs out.

    Invariants:
        T1  `_waiting` has their ends, the earliest first.
        T2  While one waits a timer runs, which ends no later than that one's time.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._waiting: dict[Callable[[], None], float] = {}
        self._timer: asyncio.TimerHandle | None = None  # also for a while when none waits

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    def begin(self, timed_out: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        """Call this if it is not ended in time; it must not wait already."""
        self._waiting[timed_out] = loop.time() + self._timeout_s
        if self._timer is None:
            self._timer = loop.call_later(self._timeout_s, self._look, loop)

    def end(self, timed_out: Callable[[], None]) -> None:
        """Call it no more; one that does not wait is no error."""
        self._waiting.pop(timed_out, None)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time() + _MOMENT_S
        late = []
        for timed_out, ends_at in self._waiting.items():
            if ends_at > now:
                self._timer = loop.call_later(ends_at - now + _MOMENT_S, self._look, loop)
                break
            late.append(timed_out)
        for timed_out in late:
            if self._waiting.pop(timed_out, None) is not None:  # what came of another may have ended it
                timed_out()
