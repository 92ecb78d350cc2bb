"""Run what may block for long, such as a disk or a name server, on a daemon thread.

At its end Python waits for the threads of `asyncio.to_thread` and of `concurrent.futures`, but for no daemon thread.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


def on_daemon_thread(call: Callable[[], _T], name: str) -> "asyncio.Future[_T]":
    """Return a future of what `call` returns or raises, on a thread of this name.

    The thread goes on when the future is cancelled, and its result is dropped. Nothing that was used is part of a
    cycle: a daemon leaves what is old to no collector (`nncache/daemons/housekeeping.py`).
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()
    threading.Thread(target=_work, args=(loop, future, call), name=name, daemon=True).start()
    return future


def _work(loop: asyncio.AbstractEventLoop, future: "asyncio.Future[_T]", call: Callable[[], _T]) -> None:
    try:
        settle: Callable[[], None] = _giving(future, call())
    except Exception as exc:  # noqa: BLE001 - it is raised where the future is awaited
        settle = _failing(future, exc.with_traceback(None))  # which would lead back here: a cycle
    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:  # the loop has ended meanwhile, and with it all who waited
        return


def _giving(future: "asyncio.Future[_T]", result: _T) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_result(result)


def _failing(future: "asyncio.Future[_T]", exc: Exception) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_exception(exc)
