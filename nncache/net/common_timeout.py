"""One timer for all operations with the same timeout, like libevent's `event_base_init_common_timeout`."""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, TypeVar

_MOMENT_S: Final = 0.001  # an event loop counts in whole ones

_T = TypeVar("_T")


class CommonTimeout(Generic[_T]):
    """Reports each operation that does not end in time.

    A timer of the event loop for each operation costs more than most operations, and almost none expires.

    Invariants:
        T1  `_waiting` maps operations to deadlines, the earliest first.
        T2  While an operation waits, a timer runs that fires no later than the earliest deadline.
    """

    def __init__(self, timeout_s: float, timed_out: Callable[[_T], None]) -> None:
        """Start with no operation; `timed_out` is called with each that does not end within `timeout_s`."""
        self._timeout_s = timeout_s
        self._timed_out = timed_out
        self._waiting: dict[_T, float] = {}
        self._timer: asyncio.TimerHandle | None = None  # also for a while when none waits

    def __len__(self) -> int:
        """Return the number of operations that wait."""
        return len(self._waiting)

    def begin(self, operation: _T, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timeout of an operation, which must not be waiting already."""
        self._waiting[operation] = loop.time() + self._timeout_s
        if self._timer is None:
            self._timer = loop.call_later(self._timeout_s, self._look, loop)

    def end(self, operation: _T) -> None:
        """End the timeout of an operation; no error if it does not wait."""
        self._waiting.pop(operation, None)

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time() + _MOMENT_S
        late = []
        for operation, ends_at in self._waiting.items():
            if ends_at > now:
                self._timer = loop.call_later(ends_at - now + _MOMENT_S, self._look, loop)
                break
            late.append(operation)
        for operation in late:
            if self._waiting.pop(operation, None) is not None:  # what came of another may have ended it
                self._timed_out(operation)
