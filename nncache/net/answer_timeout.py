"""A timeout for an answer, which does not count the time in which our own event loop is blocked.

After a stall libuv runs the timers before it reads the sockets, and asyncio cancels a task whose reply it has just
read. So with `asyncio.timeout` an answer that is already in the socket would be late, and a NameNode that answered in
time would count as silent.
"""

import asyncio
from types import TracebackType
from typing import Final, Self

LATE_S: Final = 0.05
"""A timer that fires later than this was delayed by the loop, not by the resolution of the clock."""


class AnswerTimeout:
    """Like `asyncio.timeout_at`, extended by the lateness of the loop, to twice the timeout at most.

    Attributes:
        due: the expiry time, in seconds of the loop's clock, as far as it is known.
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
    """Return a timeout that starts now; its exit raises TimeoutError if it has expired."""
    return AnswerTimeout(asyncio.get_running_loop().time() + seconds)
