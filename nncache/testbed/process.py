"""One server as a process of its own: started, asked whether it is up, signalled, stopped."""

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Self

from nncache.testbed import guard
from nncache.testbed.errors import StartError

ASK_EVERY_S = 0.05  # a question costs a server about a millisecond
_LAST_LINES = 12
_LAST_BYTES = 16_384


class Lifeline:
    """The pipe by which guards notice that this process has gone; see `nncache.testbed.guard`.

    The write end is this process's alone: it is closed on exec and belongs to no other process. `directory` is
    what the last guard removes if this process goes without stopping its servers; None keeps everything.
    """

    def __init__(self, lock: Path, directory: Path | None) -> None:
        self.descriptor, self._write = (
            os.pipe()
        )  # both close on exec (PEP 446); a guard must inherit the first
        self._lock = lock
        self._directory = directory

    def wrap(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command that runs this one under a guard."""
        places = str(self.descriptor), str(self._lock), str(self._directory or "")
        return sys.executable, "-I", "-S", guard.__file__, *places, *command

    def close(self) -> None:
        """Let go: whatever still runs under a guard is killed."""
        for descriptor in (self._write, self.descriptor):
            os.close(descriptor)


class ServerProcess:
    """A server of the cluster. Its pid is the server's own.

    Invariants:
        S1  At most one process of this server runs; only that one is ever signalled.
        S2  What the server writes is in `log`, all runs one after another.
    """

    def __init__(
        self,
        name: str,
        command: tuple[str, ...],
        *,
        log: Path,
        environ: Mapping[str, str],
        lifeline: Lifeline,
        is_up: Callable[[], bool],
        timeout_s: float,
    ) -> None:
        self.name = name
        self.log = log
        self.start_s = 0.0  # how long the last start took until the server was up
        self._command = command
        self._environ = dict(environ)
        self._lifeline = lifeline
        self._is_up = is_up
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0  # time.monotonic() of the last launch
        self._was_up = False  # since the last launch
        self._asked_since = 0.0  # time.monotonic() from which the time for an answer counts

    @property
    def pid(self) -> int | None:
        """The process id, or None when it doesn't run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def running_pid(self) -> int:
        """The process id of one that is known to run."""
        pid = self.pid
        assert pid is not None, f"{self.name} does not run"
        return pid

    def launch(self) -> None:
        """Start the process without waiting for the server to be up."""
        if self.pid is not None:
            return
        self._started = self._asked_since = time.monotonic()
        self._was_up = False
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._lifeline.wrap(self._command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environ,
                pass_fds=(self._lifeline.descriptor,),
                start_new_session=True,  # a Ctrl-C is for us; we stop the servers in our own order
            )

    def is_up(self) -> bool:
        """Ask the server once whether it is up."""
        up = self._ask(self._is_up, "is not up")
        if up and not self._was_up:
            self._was_up = True
            self.start_s = time.monotonic() - self._started
        return up

    def await_up(self) -> None:
        """Ask until the server is up."""
        await_all([self])

    def await_that(self, question: Callable[[], bool], otherwise: str) -> None:
        """Ask until the answer is yes, for as long as the process lives and a start may take."""
        self._asked_since = time.monotonic()
        while not self._ask(question, otherwise):
            self.wait(ASK_EVERY_S)

    def _ask(self, question: Callable[[], bool], otherwise: str) -> bool:
        process = self._process
        if process is None:
            raise StartError(f"{self.name} was never started")
        if process.poll() is not None:
            raise StartError(
                f"{self.name} ended with {process.returncode} while it was awaited; {self.last_words()}"
            )
        if question():
            return True
        if time.monotonic() - self._asked_since > self._timeout_s:
            raise StartError(f"{self.name} {otherwise} after {self._timeout_s:.0f} s; {self.last_words()}")
        return False

    def start(self) -> None:
        """Start the process and wait until the server is up."""
        self.launch()
        self.await_up()

    def restart(self) -> None:
        """Stop the process if it runs, start it again and wait until it is up."""
        self.stop()
        self.start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """End it as a crash would (SIGKILL) and wait for that."""
        self.signal(signal.SIGKILL)
        self.wait()

    def pause(self) -> None:
        """Hold it still (SIGSTOP): its connections stay open, without replies. Returns once all its threads stand."""
        pid = self.pid
        if pid is not None:
            self.signal(signal.SIGSTOP)
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let a paused one go on."""
        self.signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Ask it to end (SIGTERM) without waiting; a paused one is let go on, or it would never hear."""
        self.signal(signal.SIGTERM)
        self.resume()

    def stop(self, grace_s: float = 10.0) -> None:
        """Ask it to end, wait so long, and kill it when it hasn't."""
        self.terminate()
        if not self.wait(grace_s):
            self.kill()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the process; False when the time was not enough."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """Return the last lines of the log that say something: no stack frames, no banners."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            lines = []
        telling = [line for line in lines if not line.startswith(("\tat ", "/***", "***", "SHUTDOWN_MSG"))]
        return "its log ends:\n" + "\n".join(telling[-_LAST_LINES:])


def await_all(processes: Collection[ServerProcess]) -> None:
    """Ask all of them in turn until each has been up."""
    waiting = list(processes)
    while waiting := [process for process in waiting if not process.is_up()]:
        waiting[0].wait(ASK_EVERY_S)


class Running(ABC):
    """Starts with its `with` block and ends with it, also when the start fails."""

    @abstractmethod
    def start(self) -> object:
        """Start it and wait until it serves."""

    @abstractmethod
    def close(self) -> None:
        """End it and remove what is its own. May be called again."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
