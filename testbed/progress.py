"""How long work tells what it is doing."""

from collections.abc import Callable

Progress = Callable[[str], None]  # takes one line, without its end


def silent(line: str) -> None:
    """Say nothing."""
