"""An event loop whose time passes only while everybody sleeps: a minute of waiting costs nothing and nothing races."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


class _SkippingSelector(selectors.DefaultSelector):
    """Skips the wait that the loop asks for, and remembers how long it would have been."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped_s = 1000.0  # not 0, as on any machine that has been up for a while

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass. Nothing is ever ready: there are no sockets and no threads in a story."""
        assert timeout is not None, "everybody waits for somebody else"
        if timeout > 0:
            self.skipped_s += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop; its `time` is the clock of the story."""

    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        """Return the seconds of the story."""
        return self._skipping.skipped_s


def clock() -> float:
    """Return the time of the running loop; 0 outside of one."""
    return asyncio.get_running_loop().time()


def run(story: Coroutine[Any, Any, _T]) -> _T:
    """Run a story in virtual time; return what it returns."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story)


async def until(true: Callable[[], bool], *, within_s: float = 30.0) -> None:
    """Wait for it to become true."""
    async with asyncio.timeout(within_s):
        while not true():  # noqa: ASYNC110 - it costs no time here
            await asyncio.sleep(0.001)
