"""The output of the story, on a terminal and elsewhere."""

import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, NamedTuple

from rich.console import Console
from rich.text import Text

from nncache.testbed.daemon import Program, ProxyDaemon

COMMAND: Final = Path(sys.executable).with_name("nncache")
"""The `nncache` of this environment."""

_WIDTH = 110


class Step(NamedTuple):
    """The expected and the actual result of one check."""

    title: str
    expected: str
    seen: str
    came_true: bool


class Chapter(NamedTuple):
    """A title, a plot, and the function that plays it; an error from `play` counts as a failed step."""

    title: str
    plot: str
    play: Callable[[], Sequence[Step]]


class Story(NamedTuple):
    """The chapters of a running system, and hints for it afterwards: a purpose, and a line to copy."""

    chapters: Sequence[Chapter]
    hints: Sequence[tuple[str, str]]
    proxy: ProxyDaemon


def shown(seconds: float) -> str:
    """Return "0.4 ms", "12 ms" or "2.9 s"."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if 0 < seconds < 0.01 else f"{seconds * 1000:.0f} ms"  # noqa: PLR2004 - 10 ms


def counted(number: int, noun: str) -> str:
    """Return "1 read" or "1,200 reads"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def typed(*arguments: str) -> str:
    """Return the shell line for `nncache ARGUMENTS` in the current directory."""
    here = Path.cwd()
    command = COMMAND.relative_to(here) if COMMAND.is_relative_to(here) else COMMAND
    return shlex.join((str(command), *arguments))


class Terminal:
    """Writes all output to one stream."""

    def __init__(self, stream: IO[str]) -> None:
        self._console = Console(file=stream, highlight=False, emoji=False, markup=False, width=_WIDTH)
        can_tick = (self._console.encoding or "").startswith("utf")
        self._yes, self._no = ("✓", "✗") if can_tick else ("ok", "NO")

    def say(self, line: str, style: str = "") -> None:
        """Write a line unchanged and never wrapped, so that it can be copied."""
        self._console.print(Text(line, style=style), soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Print that this work has started; yield a printer of its progress; print its duration at the end."""
        began = time.monotonic()
        self.say(what)
        yield lambda line: self.say(f"  {line}", "dim")
        self._tick(f"{what}, {time.monotonic() - began:.1f} s", came_true=True)

    def start(
        self, stack: ExitStack, what: str, program: Program, wait: Callable[[], None] | None = None
    ) -> None:
        """Start a program of nncache until the stack closes, print its command line, and call `wait` if given."""
        with self.working(what) as say:
            say(f"$ {typed(*program.typed)}")
            stack.enter_context(program)
            if wait is not None:
                wait()

    def chapter(self, number: int, chapter: Chapter) -> None:
        """Print the title and the plot of a chapter, before it is played."""
        self.say(f"\n{number}. {chapter.title}", "bold")
        for line in textwrap.wrap(chapter.plot, _WIDTH - 3):
            self.say(f"   {line}", "dim")

    def step(self, step: Step) -> None:
        """Print the result of a step."""
        self._tick(f"{step.title}: {step.seen}", came_true=step.came_true)
        if not step.came_true:
            self.say(f"     expected: {step.expected}")

    def _tick(self, words: str, *, came_true: bool) -> None:
        mark = Text(self._yes, style="green") if came_true else Text(self._no, style="bold red")
        self._console.print(Text.assemble("   ", mark, " ", words), soft_wrap=True)
