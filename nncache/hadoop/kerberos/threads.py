"""Run calls that may block on the KDC outside the event loop.

A KDC that does not answer blocks a call of libkrb5 for about 50 s, and the call cannot be interrupted. The threads are
daemons: the process does not wait for them when it exits.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from nncache.hadoop.errors import KerberosError

MAX_THREADS: Final = 8
"""Concurrent calls; a further call fails immediately."""

_ResultT = TypeVar("_ResultT")


class KdcThreads:
    """A bounded number of threads, one for each call.

    Invariants:
        T1  No method blocks the event loop.
        T2  A call's future is settled by its deadline. The thread may run on; its result is dropped.
        T3  No finished call leaves a reference cycle: a daemon's old objects are not garbage-collected
            (`nncache/daemons/housekeeping.py`).
    """

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self.running = 0  # calls in flight

    def call(
        self, function: Callable[[], _ResultT], *, timeout_s: float | None, what: str
    ) -> "asyncio.Future[_ResultT]":
        """Return a future of the function's result or exception.

        It fails with KerberosError after `timeout_s` seconds (None: no timeout). The message begins with `what`.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_ResultT] = loop.create_future()
        with self._lock:
            if self.running >= self._max_threads:
                future.set_exception(
                    KerberosError(
                        f"{what}: the KDC has left {self.running} calls without an answer, so it is not asked again "
                        "yet: see that the KDCs that krb5.conf names are up and can be reached from this host"
                    )
                )
                return future
            self.running += 1
        if timeout_s is not None:
            timer = loop.call_later(timeout_s, _expire, future, what, timeout_s)
            future.add_done_callback(lambda _: timer.cancel())
        threading.Thread(
            target=self._work, args=(loop, future, function), name=f"Kerberos: {what}", daemon=True
        ).start()
        return future

    def _work(
        self,
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[_ResultT]",
        function: Callable[[], _ResultT],
    ) -> None:
        try:
            settle: Callable[[], None] = _giving(future, function())
        except Exception as exc:  # noqa: BLE001 - it is raised where the future is awaited
            settle = _failing(future, exc.with_traceback(None))  # a traceback would refer to this frame: T3
        finally:
            with self._lock:
                self.running -= 1
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop is closed, and with it every waiter
            return


def _giving(future: "asyncio.Future[_ResultT]", result: _ResultT) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_result(result)


def _failing(future: "asyncio.Future[_ResultT]", exc: Exception) -> Callable[[], None]:
    return lambda: None if future.done() else future.set_exception(exc)


def _expire(future: "asyncio.Future[_ResultT]", what: str, timeout_s: float) -> None:
    if not future.done():
        future.set_exception(
            KerberosError(
                f"{what}: the KDC has not answered in {timeout_s:g} s: see that the KDCs that krb5.conf names are up "
                "and can be reached from this host"
            )
        )
