"""How the story looks, on a terminal and elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

_WIDTH = 110


class Step(NamedTuple):
    """What should be seen, and what was."""

    title: str
    expected: str
    seen: str
    came_true: bool


def shown(seconds: float) -> str:
    """Return "0.4 ms", "12 ms" or "2.9 s"."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if 0 < seconds < 0.01 else f"{seconds * 1000:.0f} ms"  # noqa: PLR2004 - 10 ms


def counted(number: int, noun: str) -> str:
    """Return "1 read" or "1,200 reads"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Terminal:
    """Writes everything to one stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.is_terminal = stream.isatty()
        self._console = Console(file=stream, highlight=False, emoji=False, markup=False, width=_WIDTH)
        can_tick = (self._console.encoding or "").startswith("utf")
        self._yes, self._no = ("✓", "✗") if can_tick else ("ok", "NO")

    def say(self, line: str, style: str = "") -> None:
        """Write a line as it is, never folded: it may be there to be copied."""
        self._console.print(Text(line, style=style), soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Say that this is under way and how it goes on; at the end, what it took."""
        began = time.monotonic()
        self.say(what)
        yield lambda line: self.say(f"  {line}", "dim")
        self._tick(f"{what}, {time.monotonic() - began:.1f} s", came_true=True)

    def chapter(self, title: str, plot: str) -> None:
        """Say what a chapter is about, before it is played."""
        self.say(f"\n{title}", "bold")
        self._console.print(Padding(Text(plot, style="dim"), (0, 0, 0, 3)))

    def step(self, step: Step) -> None:
        """Write what became of a step."""
        self._tick(f"{step.title}: {step.seen}", came_true=step.came_true)
        if not step.came_true:
            self.say(f"     expected: {step.expected}")

    def verdict(self, steps: Sequence[Step]) -> None:
        """Say whether all steps came true; if not, which did not."""
        if untrue := [step.title for step in steps if not step.came_true]:
            line = f"{len(untrue)} of {len(steps)} steps did not come true: {'; '.join(untrue)}."
            self.say(f"\n{line}", "bold red")
        else:
            self.say(f"\nAll {len(steps)} steps came true.", "green")

    def hints(self, hints: Sequence[tuple[str, str]]) -> None:
        """Say what can be tried on the running system: what it is for, and a line to copy."""
        self.say("\nTry it yourself", "bold")
        for purpose, line in hints:
            self.say(f"   {purpose}", "dim")
            self.say(f"   {line}")
        self.say("")

    def _tick(self, words: str, *, came_true: bool) -> None:
        mark = Text(self._yes, style="green") if came_true else Text(self._no, style="bold red")
        self._console.print(Text.assemble("   ", mark, " ", words), soft_wrap=True)
