"""Ending signals as one KeyboardInterrupt, so that a tool stops the processes that it started, in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_end_it(*, then_ignored: bool = False) -> Iterator[None]:
    """Turn the first ending signal into a KeyboardInterrupt, and ignore all later ones.

    A signal that is already ignored, such as SIGHUP under `nohup`, stays ignored. Needs the main thread.

    Args:
        then_ignored: ignore the signals afterwards, since the process is about to exit; else restore their handlers.
    """
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_IGN if then_ignored else before[number])


def wait_for_the_end() -> None:
    """Wait for an ending signal."""
    try:
        while True:
            signal.pause()
    except KeyboardInterrupt:
        return


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """Interrupt the current work. A second signal must not interrupt the stopping of servers."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
