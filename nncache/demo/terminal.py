"""How the story looks: calm on a terminal, plain lines elsewhere."""

import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nncache.demo.steps import Step

_PLAIN_WIDTH = 110
_MAX_WIDTH = 120


class Terminal:
    """Writes everything to one stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.is_terminal = stream.isatty()
        self._console = Console(file=stream, highlight=False, emoji=False, markup=False)
        self._console.width = min(self._console.width, _MAX_WIDTH) if self.is_terminal else _PLAIN_WIDTH
        can_tick = (self._console.encoding or "").startswith("utf")
        self._yes, self._no = ("✓", "✗") if can_tick else ("ok", "NO")
        self._spinner = "dots" if can_tick else "line"

    def say(self, line: str, style: str = "") -> None:
        """Write a line as it is, never folded: it may be there to be copied."""
        self._console.print(Text(line, style=style), soft_wrap=True)

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show that this is under way and how it goes on; at the end, what it took."""
        began = time.monotonic()
        if self.is_terminal:
            with self._console.status(Text(what), spinner=self._spinner) as status:
                yield lambda line: status.update(Text.assemble(what, ("  " + line, "dim")))
        else:
            self.say(what)
            yield lambda line: self.say(f"  {line}")
        self._line(self._tick(came_true=True), f"{what}, {time.monotonic() - began:.1f} s")

    def command(self, line: str) -> None:
        """Show a command that is run now; it stays on the screen."""
        self.say(f"     $ {line}", "dim")

    @contextmanager
    def chapter(self, number: int, title: str, plot: str) -> Iterator[None]:
        """Say what a chapter is about, and that it is being played."""
        self.say("")
        self.say(f"{number}. {title}", "bold")
        for line in textwrap.wrap(plot, self._console.width - 3):
            self.say(f"   {line}", "dim")
        if self.is_terminal:
            with self._console.status(Text(""), spinner=self._spinner):
                yield
        else:
            yield

    def step(self, step: Step) -> None:
        """Say what came of a step."""
        self._line(self._tick(came_true=step.came_true), f"{step.title}: {step.seen}")
        if not step.came_true:
            self._line(Text(" "), f"expected: {step.expected}")

    def summary(self, steps: Sequence[Step], consequence: str, *, is_timed: bool = True) -> None:
        """Show all steps in a table and say whether they came true; if not, which and, if that is known, why."""
        table = Table("", box=box.SIMPLE, pad_edge=False, padding=(0, 1))
        for heading in ("step", "expected", "seen"):
            table.add_column(heading, overflow="fold")
        for step in steps:
            title = Text(step.title, style="" if step.came_true else "bold red")
            table.add_row(self._tick(came_true=step.came_true), title, step.expected, step.seen)
        self.say("")
        self._console.print(table)
        if is_timed:
            self.say(
                "Times count from the writer's acknowledgement to the start of the first read that shows it.\n"
            )
        untrue = [step.title for step in steps if not step.came_true]
        if not untrue:
            self.say(f"All {len(steps)} steps came true.", "green")
            return
        self.say(f"{len(untrue)} of {len(steps)} steps did not come true: {'; '.join(untrue)}.", "bold red")
        if consequence:
            self._console.print(consequence)

    def hints(self, hints: Sequence[tuple[str, str]]) -> None:
        """Say what can be tried on the running system: what it is for, and a line to copy."""
        self.say("\nTry it yourself", "bold")
        for purpose, line in hints:
            self.say(f"   {purpose}", "dim")
            self.say(f"   {line}")
        self.say("")

    def _tick(self, *, came_true: bool) -> Text:
        return Text(self._yes, style="green") if came_true else Text(self._no, style="bold red")

    def _line(self, mark: Text, words: str) -> None:
        line = Table.grid(padding=(0, 1))
        line.add_column(width=max(len(self._yes), len(self._no)))
        line.add_column(overflow="fold")
        line.add_row(mark, words)
        self._console.print(Padding(line, (0, 0, 0, 3), expand=False))
