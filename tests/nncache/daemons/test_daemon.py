"""A daemon runs until a signal asks it to end."""

import asyncio
import logging
import os
import signal

import pytest
import uvloop

from nncache.daemons.daemon import run_until_signal
from tests.patience import HANG_S


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sets_the_event_and_is_told(
    number: signal.Signals, caplog: pytest.LogCaptureFixture
) -> None:
    """What is under way ends in order, on the loop that the proxy is measured on."""
    ended_in_order = False

    async def serve(stop: asyncio.Event) -> None:
        nonlocal ended_in_order
        assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
        os.kill(os.getpid(), number)
        async with asyncio.timeout(HANG_S):
            await stop.wait()
        ended_in_order = True

    caplog.set_level(logging.INFO)
    run_until_signal(serve, "everything ends")
    assert ended_in_order
    assert f"{number.name}: everything ends" in caplog.messages


def test_an_error_leaves_as_it_is() -> None:
    """The command line tells it."""

    async def serve(_: asyncio.Event) -> None:
        raise OSError("taken")

    with pytest.raises(OSError, match="taken"):
        run_until_signal(serve, "everything ends")
