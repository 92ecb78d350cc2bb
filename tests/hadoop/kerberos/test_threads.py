"""Calls that may hang, and a loop that never does."""

import asyncio
import threading

import pytest

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.threads import KdcThreads
from tests.hadoop.kerberos.waiting import until
from tests.patience import HANG_S


async def test_what_a_call_returns_or_raises_is_passed_on() -> None:
    """And it runs in another thread."""
    threads = KdcThreads()
    assert await threads.call(threading.get_ident, timeout_s=HANG_S, what="x") != threading.get_ident()

    def fail() -> None:
        raise KerberosError("no ticket")

    with pytest.raises(KerberosError, match="no ticket"):
        await threads.call(fail, timeout_s=HANG_S, what="x")


async def test_a_hanging_call_fails_at_its_deadline() -> None:
    """The loop runs on meanwhile, and when the thread ends at last."""
    threads, released = KdcThreads(), threading.Event()
    hanging = threads.call(lambda: released.wait(HANG_S), timeout_s=0.01, what="no ticket for x")
    with pytest.raises(KerberosError, match=r"no ticket for x: the KDC has not answered in 0\.01 s"):
        await hanging
    assert threads.running == 1
    released.set()
    await until(lambda: not threads.running)


async def test_only_so_many_calls_hang_at_a_time() -> None:
    """A further one fails at once, and says why."""
    threads, released = KdcThreads(max_threads=2), threading.Event()
    hanging = [threads.call(lambda: released.wait(HANG_S), timeout_s=None, what="x") for _ in range(2)]
    with pytest.raises(KerberosError, match="has left 2 calls without an answer"):
        await threads.call(lambda: None, timeout_s=HANG_S, what="y")
    released.set()
    assert await asyncio.gather(*hanging) == [True, True]


def test_a_thread_that_outlives_the_loop_harms_nothing() -> None:
    """As when the process ends while the KDC is silent."""
    threads, released = KdcThreads(), threading.Event()

    async def begin() -> None:
        threads.call(lambda: released.wait(HANG_S), timeout_s=None, what="x")

    asyncio.run(begin())
    (thread,) = (each for each in threading.enumerate() if each.name == "Kerberos: x")
    assert thread.daemon
    released.set()
    thread.join(HANG_S)
    assert not thread.is_alive()
    assert threads.running == 0
