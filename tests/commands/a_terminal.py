"""A pseudo-terminal for commands."""

import os
import pty
import subprocess


def on_a_terminal(*command: str) -> str:
    """Run a command on a terminal of 100 columns and return what it shows."""
    ours, theirs = pty.openpty()
    environ = os.environ | {"COLUMNS": "100", "TERM": "xterm", "PYTHONPATH": "."}
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ)
    os.close(theirs)
    shown = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:  # EIO on Linux: the other end is closed
            break
        if not read:
            break
        shown += read
    os.close(ours)
    assert running.wait(30) == 0, shown
    return shown.decode()
