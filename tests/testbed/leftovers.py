"""Checks that a cluster leaves no process and no directory behind."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20.0


def eventually(question: Callable[[], bool]) -> bool:
    """Poll until the question is true; return False after PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running(word: str) -> list[int]:
    """Return the pids of the processes with this word on their command line."""
    return [int(process.name) for process in Path("/proc").iterdir() if word in _command_line(process)]


def nothing_is_left(directory: str) -> bool:
    """Return whether the cluster's directory, and every process that names it, disappears in time."""
    return eventually(lambda: not running(directory) and not Path(directory).exists())


def _command_line(process: Path) -> str:
    if not process.name.isdigit():
        return ""
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:  # it has ended since it was listed
        return ""
