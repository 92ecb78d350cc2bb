"""`python -m nncache.demo`: from nothing to a running system, its story, and its end. (demo/command.py)"""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import IO, Final, NoReturn

from nncache.demo.errors import DemoError, WishError
from nncache.demo.guide import guide
from nncache.demo.stage import set_stage
from nncache.demo.step import exit_code
from nncache.demo.story import tell
from nncache.demo.terminal import Terminal
from nncache.demo.wishes import Wishes
from nncache.testbed import TestbedError

NOT_TOLD: Final = 1
"""Exit code as for a story that did not come true."""

BAD_WISH: Final = 2
INTERRUPTED: Final = 130
"""Exit code when Ctrl-C or a signal came before the story had ended (as a shell has it for SIGINT)."""

_ENDING_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(environ: Mapping[str, str] = os.environ, stream: IO[str] | None = None) -> int:
    """Run the demo and return its exit code. Needs the main thread."""
    terminal = Terminal(stream or sys.stdout)
    try:
        with _signals_end_it():
            return _run(Wishes.of(environ), terminal)
    except WishError as error:
        print(error, file=sys.stderr)
        return BAD_WISH
    except (DemoError, TestbedError) as error:
        print(f"The story could not be told: {error}", file=sys.stderr)
        return NOT_TOLD
    except KeyboardInterrupt:
        terminal.say("Interrupted; everything is stopped.")
        return INTERRUPTED


def _run(wishes: Wishes, terminal: Terminal) -> int:
    terminal.opening()
    with set_stage(wishes, terminal) as stage:
        steps = asyncio.run(tell(stage, terminal))
        terminal.table(steps)
        terminal.say(
            "Times count from the writer's acknowledgement to the start of the first read that shows it.\n"
        )
        terminal.verdict(steps, wishes.without.consequence)
        code = exit_code(steps)
        if code:
            if not wishes.without.consequence:
                terminal.log("The proxy's side of it:", stage.proxy.process.last_words())
                if stage.publisher is not None:
                    terminal.log("The publisher's side of it:", stage.publisher.process.last_words())
            return code
        terminal.hints(guide(stage))
        if terminal.is_terminal:
            terminal.say("It keeps running; Ctrl-C ends everything.")
            _wait_for_the_end()
        else:
            terminal.say("On a terminal it would keep running until Ctrl-C.")
    terminal.say("Everything is stopped.")
    return code


def _wait_for_the_end() -> None:
    try:
        while True:
            signal.pause()
    except KeyboardInterrupt:
        return


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """Turn every signal that asks for the end into one KeyboardInterrupt, and ignore all that follow it."""
    before = {number: signal.signal(number, _interrupt) for number in _ENDING_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    """End what is under way. A second signal must not break into the stopping of servers."""
    for number in _ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
