"""Show on a terminal how far something is."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

PATIENCE_S: Final = 0.5
"""Seconds after which it is shown."""


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far something is, on a terminal and if it takes long; yields what takes "so many of so many"."""
    console = Console(stderr=True)
    began = time.monotonic()
    shown = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), console=console, transient=True
    )
    task = shown.add_task(what)
    is_started = False

    def tell(done: int, of: int) -> None:
        nonlocal is_started
        if not is_started and console.is_terminal and time.monotonic() - began > PATIENCE_S:
            shown.start()
            is_started = True
        shown.update(task, completed=done, total=of)

    try:
        yield tell
    finally:
        if is_started:
            shown.stop()
