"""nncache's own commands: run as an operator runs them, and shown as one types them. (demo/commands.py)"""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from nncache.demo.errors import CommandError

_TIMEOUT_S: Final = 30.0


def nncache_command(python: Path, directory: Path) -> str:
    """Return how to call nncache from this directory: it lies beside the Python that runs."""
    command = python.with_name("nncache")
    return str(command.relative_to(directory) if command.is_relative_to(directory) else command)


def shown(*arguments: str) -> str:
    """Return the line that a person would type here for `nncache ARGUMENTS`."""
    return shlex.join((nncache_command(Path(sys.executable), Path.cwd()), *arguments))


def run(*arguments: str) -> str:
    """Run `nncache ARGUMENTS` to its end and return what it printed.

    Raises:
        CommandError: it failed.
    """
    command = (str(Path(sys.executable).with_name("nncache")), *arguments)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"nncache {arguments[0]} has not ended after {_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or "it says nothing"
        raise CommandError(f"nncache {arguments[0]} ended with {done.returncode}: {said}")
    return done.stdout
