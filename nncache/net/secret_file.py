"""Check whether others may read a file with a secret, and whether it was replaced."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class FileState:
    """Values that change when a file is replaced or rewritten, or gets another mode or owner; zeros without a file."""

    inode: int = 0
    size_bytes: int = 0
    changed_ns: int = 0  # of its content or of its inode (st_ctime)


def state_of(path: str) -> FileState:
    """Return the current state of the file."""
    try:
        found = Path(path).stat()
    except OSError:
        return FileState()
    return FileState(found.st_ino, found.st_size, found.st_ctime_ns)


def fault_of(path: str, what: str) -> str:
    """Return the fault of a file that must hold `what`, and the remedy; "" if its secret may be used."""
    try:
        mode = Path(path).stat().st_mode
    except OSError as exc:
        return f"{exc.strerror or exc}: must be a file with {what}"
    if not stat.S_ISREG(mode):
        return f"must be a file with {what}"
    if mode & _OTHERS:
        return (
            f"has mode {stat.S_IMODE(mode):04o}, so that others can pose as this service: chmod 0400 {path}, and "
            "chown it to the user of this process"
        )
    if not os.access(path, os.R_OK):
        return f"must be readable by this process's user (uid {os.geteuid()}): chown it"
    return ""


def shown(path: str) -> str:
    """Return the path as messages show it; "..." where it may be the secret itself, given in place of a file's name."""
    return path if "/" in path or Path(path).exists() else "..."
