"""An event loop whose time passes only while all tasks sleep: a minute of waiting costs nothing, and nothing races."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class _SkippingSelector(selectors.DefaultSelector):
    """Skips the waits that the loop asks for, and adds up their durations."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped_s = 1000.0  # not 0, like the clock of any machine that has been up for a while

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Advance the time. Nothing is ever ready: a story uses neither sockets nor threads."""
        assert timeout is not None, "everybody waits for somebody else"
        if timeout > 0:
            self.skipped_s += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time` is virtual."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self._skipping.skipped_s


def clock() -> float:
    """Return the time of the running loop."""
    return asyncio.get_running_loop().time()


def run(story: Coroutine[Any, Any, _T]) -> _T:
    """Run a story in virtual time, and return its result."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)


async def until(true: Callable[[], bool], *, within_s: float = 30.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110 - it costs no time here
            await asyncio.sleep(0.001)
