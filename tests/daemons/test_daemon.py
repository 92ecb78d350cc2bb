"""A daemon runs until a signal asks it to end."""

import asyncio
import logging
import os
import signal

import pytest
import uvloop

from nncache.daemons.daemon import Signals, run_until_signal
from tests.patience import HANG_S
from tests.proxy.wire import until


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_and_is_told(
    number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    """What is under way ends in order, on the loop that the proxy is measured on."""
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
    """As soon as there is something to reload."""
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
    """And the log says that it came."""

    async def serve(_: Signals) -> None:
        os.kill(os.getpid(), number)
        await until(lambda: f"{number.name}: ignored" in caplog.messages)

    caplog.set_level(logging.INFO)
    run_until_signal(serve, "everything ends")


def test_sigquit_shows_what_each_thread_is_doing(capfd: pytest.CaptureFixture[str]) -> None:
    """As operators know it of a JVM."""

    async def serve(_: Signals) -> None:
        os.kill(os.getpid(), signal.SIGQUIT)

    run_until_signal(serve, "everything ends")
    assert "test_daemon.py" in capfd.readouterr().err
