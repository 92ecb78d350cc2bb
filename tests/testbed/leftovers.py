"""What a cluster may leave behind: looked for, not assumed."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE_S = 20.0


def eventually(question: Callable[[], bool]) -> bool:
    """Ask until it is so; False when that takes too long."""
    end = time.monotonic() + PATIENCE_S
    while not question():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def running(word: str) -> list[int]:
    """List the processes with this word on their command line."""
    return [int(process.name) for process in Path("/proc").iterdir() if word in _command_line(process)]


def nothing_is_left(directory: str) -> bool:
    """Tell whether neither the cluster's directory nor a process that names it comes to stay."""
    return eventually(lambda: not running(directory) and not Path(directory).exists())


def _command_line(process: Path) -> str:
    if not process.name.isdigit():
        return ""
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:  # gone since it was listed
        return ""
