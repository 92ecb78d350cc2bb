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
"""By default, each of these signals ends the process without a message."""


@dataclass(slots=True)
class Signals:
    """The effects of signals on a daemon.

    Attributes:
        stop: set by SIGTERM and SIGINT.
        on_reload: called at SIGHUP.
    """

    stop: asyncio.Event
    on_reload: Callable[[], None] = lambda: _log.info("SIGHUP: ignored, nothing is served yet")

    def reload(self) -> None:
        """Handle SIGHUP."""
        self.on_reload()


def run_until_signal(serve: Callable[[Signals], Awaitable[None]], on_signal: str) -> None:
    """Run `serve` until it returns. SIGTERM and SIGINT set `stop`; `on_signal` is the effect of that, for the log.

    SIGQUIT writes the stack of each thread to standard error, as in a JVM. An error of `serve` propagates unchanged.
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
