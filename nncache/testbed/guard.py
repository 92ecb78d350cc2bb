"""Run a program that dies with the process that started it.

Run as a script: `python guard.py LIFELINE_FD LOCK_FILE DIRECTORY PROGRAM ARGUMENT...`.
The process forks once. The *original* becomes PROGRAM and keeps its pid, so signals and the exit status need no
relay. The child is the watcher. LIFELINE_FD is the read end of a pipe, and only the starter holds its write end.
At end of file the starter is gone, however it ended, and the watcher kills the program. A parent-death signal
(`prctl(PR_SET_PDEATHSIG)`) does not work here: it fires when the starting *thread* ends, and short-lived threads
start the processes.

Each watcher holds LOCK_FILE shared. After the loss of the starter it tries to lock it exclusively; the last watcher
succeeds and removes DIRECTORY, unless the argument is empty. The script uses the standard library alone and imports
nothing of the project, so that it starts fast.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import sys


def main(arguments: list[str]) -> None:
    """Fork the watcher and become the program. Never returns."""
    lifeline, lock, directory, *program = arguments
    lifeline_fd = int(lifeline)
    program_fd = os.pidfd_open(os.getpid())  # opened before the fork: it cannot refer to another process
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
    os.setsid()  # signals to the starter's group or terminal must not reach the watcher
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
        return  # another watcher still runs and removes the directory
    if directory:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1:])
