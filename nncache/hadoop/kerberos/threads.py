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

MAX_OVERDUE: Final = 8
"""Calls that the KDC has left without an answer; with so many, a further call fails immediately."""

MAX_RUNNING: Final = 256
"""Calls at a time, in time or not: each has a thread."""

_ResultT = TypeVar("_ResultT")


class KdcThreads:
    """A bounded number of threads, one for each call.

    Invariants:
        T1  No method blocks the event loop.
        T2  A call's future is settled by its deadline. The thread may run on; its result is dropped.
        T3  No call begins while `max_overdue` calls are past their deadlines, or MAX_RUNNING calls run. Many calls
            before their deadlines are no sign of a silent KDC: many connections may log in at the same time.
    """

    def __init__(self, max_overdue: int = MAX_OVERDUE) -> None:
        self._max_overdue = max_overdue
        self._lock = threading.Lock()
        self._deadlines = dict[object, float]()  # loop times, of the calls that have not returned

    @property
    def running(self) -> int:
        """The number of calls that have not returned."""
        return len(self._deadlines)

    def call(
        self, function: Callable[[], _ResultT], *, timeout_s: float | None, what: str
    ) -> "asyncio.Future[_ResultT]":
        """Return a future of the function's result or exception.

        It fails with KerberosError after `timeout_s` seconds (None: no timeout). The message begins with `what`.
        """
        call, now = object(), asyncio.get_running_loop().time()
        with self._lock:
            overdue = sum(deadline <= now for deadline in self._deadlines.values())
            if overdue >= self._max_overdue:
                return _failed(
                    f"{what}: the KDC has left {overdue} calls without an answer, so it is not asked again yet: "
                    "see that the KDCs that krb5.conf names are up and can be reached from this host"
                )
            if len(self._deadlines) >= MAX_RUNNING:
                return _failed(f"{what}: {MAX_RUNNING} calls wait for the KDC")
            self._deadlines[call] = now + (timeout_s or 0.0)
        try:
            future = on_daemon_thread(partial(self._counted, call, function), f"Kerberos: {what}")
        except RuntimeError as exc:  # the process may have no more threads
            self._end(call)
            return _failed(f"{what}: {exc}")
        if timeout_s is not None:
            timer = asyncio.get_running_loop().call_later(timeout_s, _expire, future, what, timeout_s)
            future.add_done_callback(lambda _: timer.cancel())
        return future

    def _end(self, call: object) -> None:
        with self._lock:
            del self._deadlines[call]

    def _counted(self, call: object, function: Callable[[], _ResultT]) -> _ResultT:
        try:
            return function()
        finally:
            self._end(call)


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
