"""An event loop in a thread, for synchronous callers."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.client.portal import BlockingPortal, Entered
from nncache.clock import boottime
from tests.patience import HANG_S


def test_results_and_errors_come_back() -> None:
    """The loop runs in a thread with the portal's name, which ends with the portal."""
    portal = BlockingPortal("a-portal")

    async def name() -> str:
        return threading.current_thread().name

    async def fail() -> None:
        raise ValueError("x")

    assert portal.wait_for(name()) == "a-portal"
    with pytest.raises(ValueError, match="x"):
        portal.wait_for(fail())
    portal.close()
    assert "a-portal" not in {thread.name for thread in threading.enumerate()}


def test_what_interrupts_the_caller_cancels_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is an example."""
    portal, cancelled = BlockingPortal("a-portal"), threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("concurrent.futures.Future.result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            portal.wait_for(hang())
    assert cancelled.wait(60)
    portal.close()


def test_its_end_leaves_nothing_under_way() -> None:
    """Pending tasks and unfinished generators are closed, and release their resources."""
    portal, released = BlockingPortal("a-portal"), list[str]()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            released.append("work")

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            released.append("generator")

    async def first(numbers: AsyncIterator[int]) -> int:
        return await anext(numbers)

    numbers = endless()
    portal.start(hang())
    assert portal.wait_for(first(numbers)) == 1
    portal.close()
    assert released == ["work", "generator"]


def test_the_clock_counts_suspended_time() -> None:
    """CLOCK_BOOTTIME is at least CLOCK_MONOTONIC, which excludes suspended time."""
    before = time.clock_gettime(time.CLOCK_MONOTONIC)
    assert boottime() >= before
    assert boottime() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_context_that_is_never_left_stays_open() -> None:
    """Also without a reference to it: at interpreter exit its thread may be gone, so nothing may wait for it."""
    left = list[str]()

    @asynccontextmanager
    async def opened() -> AsyncIterator[str]:
        yield "value"
        left.append("left")

    async def answer() -> int:
        return 42

    entered = Entered("a-portal", opened())
    portal, value = entered.__enter__()
    del entered
    gc.collect()
    assert (value, portal.wait_for(answer()), left) == ("value", 42, [])
    portal.close()


def test_a_call_from_its_own_thread_is_an_error() -> None:
    """Such as one of the registry by the function of an update: the loop would wait for itself."""
    portal = BlockingPortal("a-portal")

    async def answer() -> int:
        return 42

    async def ask() -> int:
        return portal.wait_for(answer())

    asking = portal.start(ask())
    assert "comes from the function of an update" in str(asking.exception(HANG_S))
    portal.close()
