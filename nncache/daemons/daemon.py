"""Run a daemon on its event loop until a signal ends it."""

import asyncio
import faulthandler
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import uvloop

_log = logging.getLogger(__name__)

_ENDING: Final = (signal.SIGTERM, signal.SIGINT)
_IGNORED: Final = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGVTALRM)
"""Any of these would end a process that has no use for it, without a word."""


@dataclass(slots=True)
class Signals:
    """What signals do.

    Attributes:
        stop: set by SIGTERM and SIGINT.
        on_reload: called at SIGHUP.
    """

    stop: asyncio.Event
    on_reload: Callable[[], None] = lambda: _log.info("SIGHUP: ignored, nothing is served yet")

    def reload(self) -> None:
        """Act on SIGHUP."""
        self.on_reload()


def run_until_signal(serve: Callable[[Signals], Awaitable[None]], on_signal: str) -> None:
    """Run `serve` to its end; SIGTERM and SIGINT set the event, and `on_signal` says what that does.

    SIGQUIT writes to standard error what each thread is doing, as a JVM does. An error of `serve` leaves as it is.
    """
    faulthandler.register(signal.SIGQUIT, all_threads=True)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_serve(serve, on_signal))
    finally:
        faulthandler.unregister(signal.SIGQUIT)


async def _serve(serve: Callable[[Signals], Awaitable[None]], on_signal: str) -> None:
    signals = Signals(asyncio.Event())

    def set_stop(number: signal.Signals) -> None:
        _log.info("%s: %s", number.name, on_signal)
        signals.stop.set()

    loop = asyncio.get_running_loop()
    for number in _ENDING:
        loop.add_signal_handler(number, set_stop, number)
    loop.add_signal_handler(signal.SIGHUP, signals.reload)
    for number in _IGNORED:
        loop.add_signal_handler(number, _log.info, "%s: ignored", number.name)
    await serve(signals)
