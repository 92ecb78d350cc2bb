"""Signals that ask a tool to end, as one KeyboardInterrupt: what it has started is stopped in order."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_end_it() -> Iterator[None]:
    """Turn every signal that asks for the end into one KeyboardInterrupt, and ignore all that follow it.

    Needs the main thread.
    """
    before = {number: signal.signal(number, _interrupt) for number in ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
