"""Look at a keytab's file: may others read it, and was it replaced? (hadoop/kerberos/keytab.py)"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class KeytabState:
    """What changes when a keytab is replaced or written again; zeros while it cannot be seen."""

    inode: int = 0
    size_bytes: int = 0
    modified_ns: int = 0


def state_of(keytab: str) -> KeytabState:
    """Return the state of the file as it is now."""
    try:
        found = Path(keytab).stat()
    except OSError:
        return KeytabState()
    return KeytabState(found.st_ino, found.st_size, found.st_mtime_ns)


def fault_of(keytab: str) -> str:
    """Return what is wrong with the file and what to do; "" if its key may be used."""
    try:
        mode = Path(keytab).stat().st_mode
    except OSError as exc:
        return f"{exc.strerror or exc}: must be a keytab that this process's user may read"
    if not stat.S_ISREG(mode):
        return "must be a file, written by ktadd or ktutil"
    if mode & _OTHERS:
        return (
            f"has mode {stat.S_IMODE(mode):04o}, so that others can pose as this service: chmod 0400 {keytab}, and "
            "chown it to the user of this process"
        )
    if not os.access(keytab, os.R_OK):
        return f"must be readable by this process's user (uid {os.geteuid()}): chown it"
    return ""
