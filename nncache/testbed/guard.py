"""Become a given program, and see to it that the program dies with the process that started it.

Run as a script: `python guard.py LIFELINE_FD LOCK_FILE DIRECTORY PROGRAM ARGUMENT...`.
The process forks once. The *original* becomes PROGRAM (same pid: signals and the exit status need no
detour); the child watches. LIFELINE_FD is the read end of a pipe whose only write end is held by the
starter: when it reads as ended, the starter is gone, however it went, and the watcher kills the program. A
parent-death signal (`prctl(PR_SET_PDEATHSIG)`) would not do: it fires when the starting *thread* ends, and
processes are started from short-lived threads here.

The last watcher to go after the loss of the starter removes DIRECTORY (unless that is empty): each holds
LOCK_FILE shared and tries to make that exclusive. Uses the standard library alone and imports nothing of
the project, so that it starts fast.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import sys


def main(arguments: list[str]) -> None:
    """Fork the watcher and turn into the program. Never returns."""
    lifeline, lock, directory, *program = arguments
    lifeline_fd = int(lifeline)
    program_fd = os.pidfd_open(os.getpid())  # taken before the fork: can't be another process's
    if os.fork() == 0:
        try:
            watch(lifeline_fd, program_fd, lock, directory)
        finally:
            os._exit(0)
    os.close(lifeline_fd)
    os.close(program_fd)
    os.execv(program[0], program)  # noqa: S606 -- the program is the starter's own command line


def watch(lifeline: int, program: int, lock: str, directory: str) -> None:
    """Wait for the end of the program or of the lifeline, whichever comes first."""
    os.setsid()  # a signal to the starter's group or terminal is not for the watcher
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    held = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(held, fcntl.LOCK_SH)
    ready, _, _ = select.select([lifeline, program], [], [])
    if lifeline not in ready:
        return
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(program, signal.SIGKILL)
    select.select([program], [], [])
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # another watcher is still at work and will be the last
    if directory:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
