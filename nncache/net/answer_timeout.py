"""A timeout for an answer that does not run while our own event loop stands still.

After a stall libuv runs the timers before it reads the sockets, and asyncio cancels a task whose reply it has just
read: with `asyncio.timeout` an answer that lies in the socket comes too late, and a NameNode that has answered in time
is taken for one that has not.
"""

import asyncio
from types import TracebackType
from typing import Final, Self

LATE_S: Final = 0.05
"""A timer that is later than this was held back by the loop, and not by the clock's grain."""


class AnswerTimeout:
    """As `asyncio.timeout_at`, but for what the loop's own lateness adds, at most as long again.

    Attributes:
        due: when it expires, in seconds of the loop's clock, as far as is known.
    """

    def __init__(self, due: float) -> None:
        self.due = due
        self._timeout = asyncio.timeout(None)
        self._left_s = 0.0  # that may be added
        self._timer: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        await self._timeout.__aenter__()
        self._left_s = max(0.0, self.due - loop.time())
        self._timer = loop.call_at(self.due, self._look)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._timeout.__aexit__(kind, exc, trace)  # raises TimeoutError in place of its cancellation

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        late_s = loop.time() - self.due
        if late_s > LATE_S and self._left_s > 0:
            self.due = loop.time() + min(late_s, self._left_s)
            self._left_s -= late_s
            self._timer = loop.call_at(self.due, self._look)
        else:
            self._timeout.reschedule(loop.time())


def answer_timeout(seconds: float) -> AnswerTimeout:
    """Return a timeout that begins now; leaving it raises TimeoutError when it has expired."""
    return AnswerTimeout(asyncio.get_running_loop().time() + seconds)
