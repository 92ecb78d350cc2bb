"""Carry what may wait for the KDC away from the event loop.

A silent KDC blocks a call of libkrb5 for about 50 s, and nothing can end it earlier. The threads are daemons: the
process does not wait for them when it ends.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final, TypeVar

from nncache.hadoop.errors import KerberosError

MAX_THREADS: Final = 8
"""That wait for a KDC at a time; a further call fails at once."""

_ResultT = TypeVar("_ResultT")


class KdcThreads:
    """A thread for each call, a bounded number of them.

    Invariants:
        T1  The event loop never waits in here.
        T2  A call's future is settled at the latest after its deadline; its thread may go on, and its result is
            dropped.
        T3  Nothing that was used is part of a cycle: a daemon leaves what is old to no collector
            (`nncache/daemons/housekeeping.py`).
    """

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._max_threads = max_threads
        self._lock = threading.Lock()
        self.running = 0  # calls that have not returned

    def call(
        self, function: Callable[[], _ResultT], *, timeout_s: float | None, what: str
    ) -> "asyncio.Future[_ResultT]":
        """Return a future of what the function returns, or raises.

        It fails with KerberosError after `timeout_s` seconds (None: never), which says that `what` was not done.
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
        work = threading.Thread(
            target=self._work, args=(loop, future, function), name=f"Kerberos: {what}", daemon=True
        )
        try:
            work.start()
        except RuntimeError as exc:  # the process may have no more
            self._end()
            future.set_exception(KerberosError(f"{what}: {exc}"))
        return future

    def _end(self) -> None:
        with self._lock:
            self.running -= 1

    def _work(
        self,
        loop: asyncio.AbstractEventLoop,
        future: "asyncio.Future[_ResultT]",
        function: Callable[[], _ResultT],
    ) -> None:
        try:
            settle: Callable[[], None] = _giving(future, function())
        except Exception as exc:  # noqa: BLE001 - it is raised where the future is awaited
            settle = _failing(future, exc.with_traceback(None))  # which would lead back here: T3
        finally:
            self._end()
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop has ended meanwhile, and with it all who waited
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
