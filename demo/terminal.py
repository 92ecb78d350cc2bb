"""How the story looks: calm on a terminal, plain lines elsewhere. (demo/terminal.py)"""

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

from nncache.demo.chapter import Chapter
from nncache.demo.guide import Hint
from nncache.demo.step import Step

_PLAIN_WIDTH = 110  # where nobody says how wide it is
_MAX_WIDTH = 120


class Terminal:
    """Says everything on one stream."""

    def __init__(self, stream: IO[str]) -> None:
        self.is_terminal = stream.isatty()
        self._console = Console(file=stream, highlight=False, emoji=False, markup=False)
        width = min(self._console.width, _MAX_WIDTH) if self.is_terminal else _PLAIN_WIDTH
        self._console.width = width
        can_tick = (self._console.encoding or "").startswith("utf")
        self._yes, self._no = ("✓", "✗") if can_tick else ("ok", "NO")
        self._spinner = "dots" if can_tick else "line"

    def opening(self) -> None:
        """Say what this is."""
        self._console.print(Text("nncache: a short story on a real cluster", style="bold"))
        self._console.print()

    @contextmanager
    def working(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show that this is under way and what it says; at the end, what it took."""
        began = time.monotonic()
        if self.is_terminal:
            with self._console.status(Text(what), spinner=self._spinner) as status:
                yield lambda line: status.update(Text.assemble(what, ("  " + line, "dim")))
        else:
            self._console.print(what)
            yield lambda line: self._console.print(f"  {line}", soft_wrap=True)
        self._line(self._tick(came_true=True), f"{what}, {time.monotonic() - began:.1f} s")

    def command(self, line: str) -> None:
        """Show a command that is given now; it stays on the screen."""
        # Whole, whatever the width: it is there to be copied.
        self._console.print(Text(f"     $ {line}", style="dim"), soft_wrap=True)

    @contextmanager
    def chapter(self, number: int, chapter: Chapter) -> Iterator[None]:
        """Say what a chapter is about, and that it is being played."""
        self._console.print()
        self._console.print(Text(f"{number}. {chapter.title}", style="bold"))
        # Not rich's own wrapping: it fills each line with spaces, which a file would keep.
        for line in textwrap.wrap(chapter.plot, self._console.width - 3):
            self._console.print(Text(f"   {line}", style="dim"))
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

    def table(self, steps: Sequence[Step]) -> None:
        """Show all steps, what was expected and what was seen."""
        table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1))
        table.add_column("")
        for heading in ("step", "expected", "seen"):
            table.add_column(heading, overflow="fold")
        for step in steps:
            style = "" if step.came_true else "bold red"
            table.add_row(
                self._tick(came_true=step.came_true), Text(step.title, style=style), step.expected, step.seen
            )
        self._console.print()
        self._console.print(table)

    def verdict(self, steps: Sequence[Step], consequence: str) -> None:
        """Say whether the story came true and, if not, what did not and why (empty: nobody knows)."""
        untrue = [step.title for step in steps if not step.came_true]
        if not untrue:
            self._console.print(Text(f"All {len(steps)} steps came true.", style="green"))
            return
        self._console.print(
            Text(
                f"{len(untrue)} of {len(steps)} steps did not come true: {'; '.join(untrue)}.",
                style="bold red",
            )
        )
        if consequence:
            self._console.print(consequence)

    def hints(self, hints: Sequence[Hint]) -> None:
        """Say what can be tried on the running system."""
        self._console.print()
        self._console.print(Text("Try it yourself", style="bold"))
        for hint in hints:
            self._console.print(Text(f"   {hint.purpose}", style="dim"))
            # Whole, whatever the width: it is there to be copied.
            self._console.print(Text(f"   {hint.line}"), soft_wrap=True)
        self._console.print()

    def log(self, heading: str, lines: str) -> None:
        """Show lines that a process wrote, as they are."""
        self._console.print(heading)
        self._console.print(Text(lines, style="dim"), soft_wrap=True)

    def say(self, line: str) -> None:
        """Say one thing."""
        self._console.print(line)

    def _tick(self, *, came_true: bool) -> Text:
        return Text(self._yes, style="green") if came_true else Text(self._no, style="bold red")

    def _line(self, mark: Text, words: str) -> None:
        line = Table.grid(padding=(0, 1))
        line.add_column(width=max(len(self._yes), len(self._no)))
        line.add_column(overflow="fold")
        line.add_row(mark, words)
        self._console.print(Padding(line, (0, 0, 0, 3), expand=False))
