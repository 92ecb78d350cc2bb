"""A daemon runs until a signal stops it."""

import asyncio
import logging
import os
import signal

import pytest
import uvloop

from nncache.daemons.daemon import Signals, run_until_signal
from nncache.daemons.supervision import background, keep_running
from tests.patience import HANG_S
from tests.proxy.wire import until


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_and_is_logged(
    number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    """The work ends in order, on uvloop, the loop that the proxy is measured on."""
    ended_in_order = False

    async def serve(signals: Signals) -> None:
        nonlocal ended_in_order
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        os.kill(os.getpid(), number)
        async with asyncio.timeout(HANG_S):
            await signals.stop.wait()
        ended_in_order = True

    caplog.set_level(logging.INFO)
    run_until_signal(serve, "everything ends")
    assert ended_in_order
    assert f"{number.name}: everything ends" in caplog.messages


def test_sighup_reloads(caplog: pytest.LogCaptureFixture) -> None:
    """Before there is anything to reload, it is logged as ignored."""
    reloads = list[int]()

    async def serve(signals: Signals) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: "SIGHUP: ignored, nothing is served yet" in caplog.messages)
        signals.on_reload = lambda: reloads.append(1)
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: bool(reloads))

    caplog.set_level(logging.INFO)
    run_until_signal(serve, "everything ends")
    assert reloads == [1]


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM])
def test_a_signal_without_a_meaning_ends_nothing(
    number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    """The log names the ignored signal."""

    async def serve(_: Signals) -> None:
        os.kill(os.getpid(), number)
        await until(lambda: f"{number.name}: ignored" in caplog.messages)

    caplog.set_level(logging.INFO)
    run_until_signal(serve, "everything ends")


def test_sigquit_shows_what_each_thread_is_doing(capfd: pytest.CaptureFixture[str]) -> None:
    """The stacks go to standard error, as a JVM does on SIGQUIT."""

    async def serve(_: Signals) -> None:
        os.kill(os.getpid(), signal.SIGQUIT)

    run_until_signal(serve, "everything ends")
    assert "test_daemon.py" in capfd.readouterr().err


@pytest.mark.parametrize(("fault", "reported"), [(OSError("broken"), "failed"), (None, "ended by itself")])
async def test_work_that_ends_is_begun_again(
    fault: Exception | None, reported: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It may have raised or returned; each restart is logged."""
    begun = 0
    enough = asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            enough.set()
        await asyncio.sleep(0)
        if fault is not None:
            raise fault

    caplog.set_level(logging.ERROR)
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        task = group.create_task(keep_running("the watch", work, pause_s=0.0))
        await enough.wait()
        task.cancel()
    assert [record.getMessage() for record in caplog.records][:2] == [
        f"the watch {reported}, restarting in 0 s"
    ] * 2


async def test_background_work_runs_as_long_as_its_block() -> None:
    """All parts start concurrently and are supervised; each is cancelled when the block ends."""
    begun: list[str] = []
    ended: list[str] = []
    all_begun = asyncio.Event()

    async def work(name: str) -> None:
        begun.append(name)
        if len(begun) == 2:
            all_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async with asyncio.timeout(HANG_S):
        async with background([("one", lambda: work("one")), ("two", lambda: work("two"))]):
            await all_begun.wait()
            assert not ended
    assert sorted(begun) == sorted(ended) == ["one", "two"]
