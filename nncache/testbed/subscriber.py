"""A subscriber that follows a filter: `nncache watch --json` as a process, and what it has printed."""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from nncache.testbed.process import Lifeline, ServerProcess
from nncache.testbed.running import Running


class Subscriber(Running):
    """A running `nncache watch FILTER --json`; ends with the `with` block, or with this process.

    `arguments` are its flags beside the filter's name and `--json`.
    """

    def __init__(self, filter_name: str, *arguments: str, timeout_s: float = 30.0) -> None:
        """Lay it out; `start()` or a `with` block starts it. No wait on it takes longer than `timeout_s`."""
        self._close = ExitStack()
        with ExitStack() as undo:
            undo.callback(self._close.close)
            directory = Path(self._close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-")))
            lifeline = Lifeline(directory / "guard.lock", None)
            self._close.callback(lifeline.close)
            self.typed = ("watch", filter_name, "--json", *arguments)  # what one would type after `nncache`
            self.process = ServerProcess(
                "nncache watch",
                (str(Path(sys.executable).with_name("nncache")), *self.typed),
                log=directory / "watch.log",
                environ=os.environ,
                lifeline=lifeline,
                is_up=lambda: any("after" in line for line in self.lines()),
                timeout_s=timeout_s,
            )
            undo.pop_all()

    def start(self) -> Self:
        """Start it and wait until it follows its filter: it is told everything from then on.

        Raises:
            StartError: it ended, or does not follow in time.
        """
        try:
            self.process.start()
        except BaseException:
            self.process.stop()
            raise
        return self

    def close(self) -> None:
        """End it and remove what it has printed. May be called again."""
        self.process.stop()
        self._close.close()

    def lines(self) -> tuple[dict[str, Any], ...]:
        """Return what it has printed so far; empty when nothing, or when it is closed."""
        try:
            printed = self.process.log.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ()
        whole = printed[: printed.rfind("\n") + 1]
        return tuple(json.loads(line) for line in whole.splitlines() if line.startswith("{"))

    def last_words(self) -> str:
        """Return the last lines that say something."""
        return self.process.last_words()

    def events(self) -> tuple[dict[str, Any], ...]:
        """Return the events among it, in Hadoop's words: `type`, `path`, ..."""
        return tuple(line for line in self.lines() if "type" in line)

    def gaps(self) -> tuple[dict[str, Any], ...]:
        """Return the gaps among it."""
        return tuple(line for line in self.lines() if "gap" in line)

    def await_that(self, question: Callable[["Subscriber"], bool], otherwise: str) -> None:
        """Wait until it is so of what it has printed.

        Raises:
            StartError: it ended, or the time was not enough (`otherwise` says what for).
        """
        self.process.await_that(lambda: question(self), otherwise)
