"""An event loop in a thread of its own, for callers that have none."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")


class Portal:
    """Runs coroutines for callers that block."""

    def __init__(self, name: str = "nncache-events") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def wait_for(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Return its result; whatever interrupts the caller, such as Ctrl-C, cancels it."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def start(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Begin it; cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End what is still under way, the loop and its thread."""
        self.wait_for(_ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _ended() -> None:
    """Cancel the other tasks, and close generators that were not read to their end, as asyncio.Runner does."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
