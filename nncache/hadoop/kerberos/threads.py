"""Run calls that may block on the KDC outside the event loop.

A KDC that does not answer blocks a call of libkrb5 for about 50 s, and the call cannot be interrupted.
"""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from nncache.hadoop.errors import KerberosError
from nncache.net.daemon_thread import on_daemon_thread

MAX_THREADS: Final = 8
"""Concurrent calls; a further call fails immediately."""

_ResultT = TypeVar("_ResultT")


class KdcThreads:
    """A bounded number of threads, one for each call.

    Invariants:
        T1  No method blocks the event loop.
        T2  A call's future is settled by its deadline. The thread may run on; its result is dropped.
    """

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self.running = 0  # calls that have not returned

    def call(
        self, function: Callable[[], _ResultT], *, timeout_s: float | None, what: str
    ) -> "asyncio.Future[_ResultT]":
        """Return a future of the function's result or exception.

        It fails with KerberosError after `timeout_s` seconds (None: no timeout). The message begins with `what`.
        """
        with self._lock:
            if self.running >= self._max_threads:
                return _failed(
                    f"{what}: the KDC has left {self.running} calls without an answer, so it is not asked again yet: "
                    "see that the KDCs that krb5.conf names are up and can be reached from this host"
                )
            self.running += 1
        try:
            future = on_daemon_thread(partial(self._counted, function), f"Kerberos: {what}")
        except RuntimeError as exc:  # the process may have no more threads
            self._end()
            return _failed(f"{what}: {exc}")
        if timeout_s is not None:
            timer = asyncio.get_running_loop().call_later(timeout_s, _expire, future, what, timeout_s)
            future.add_done_callback(lambda _: timer.cancel())
        return future

    def _end(self) -> None:
        with self._lock:
            self.running -= 1

    def _counted(self, function: Callable[[], _ResultT]) -> _ResultT:
        try:
            return function()
        finally:
            self._end()


def _failed(why: str) -> "asyncio.Future[_ResultT]":
    future: asyncio.Future[_ResultT] = asyncio.get_running_loop().create_future()
    future.set_exception(KerberosError(why))
    return future


def _expire(future: "asyncio.Future[_ResultT]", what: str, timeout_s: float) -> None:
    if not future.done():
        future.set_exception(
            KerberosError(
                f"{what}: the KDC has not answered in {timeout_s:g} s: see that the KDCs that krb5.conf names are up "
                "and can be reached from this host"
            )
        )
