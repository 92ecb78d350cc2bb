"""Run a daemon on its event loop until a signal ends it. (nncache/daemons/daemon.py)"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable

import uvloop

_log = logging.getLogger(__name__)


def run_until_signal(serve: Callable[[asyncio.Event], Awaitable[None]], on_signal: str) -> None:
    """Run `serve` to its end; SIGTERM and SIGINT set the event, and `on_signal` says what that does.

    An error of `serve` leaves as it is.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(serve, on_signal))


async def _serve(serve: Callable[[asyncio.Event], Awaitable[None]], on_signal: str) -> None:
    stop = asyncio.Event()

    def set_stop(number: signal.Signals) -> None:
        _log.info("%s: %s", number.name, on_signal)
        stop.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, set_stop, number)
    await serve(stop)
