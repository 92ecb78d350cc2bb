"""Signals that ask a tool to end, as one KeyboardInterrupt: what it has started is stopped in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_end_it(*, then_ignored: bool = False) -> Iterator[None]:
    """Turn the first signal that asks for the end into a KeyboardInterrupt, and ignore all that follow it.

    One that is ignored, as SIGHUP is by `nohup`, stays so. Needs the main thread.

    Args:
        then_ignored: afterwards they are ignored, since the process ends now; else they mean what they meant.
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
    """Wait for one of these signals."""
    try:
        while True:
            signal.pause()
    except KeyboardInterrupt:
        return


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """End what is under way. A second signal must not break into the stopping of servers."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
