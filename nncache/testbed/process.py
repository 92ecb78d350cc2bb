"""One server as a separate process: start it, check whether it is up, signal it, stop it."""

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
from nncache.testbed.errors import ServerStartError

ASK_EVERY_S = 0.05  # a check costs a server about a millisecond
_LAST_LINES = 12
_LAST_BYTES = 16_384


class Lifeline:
    """The pipe through which guards detect the end of this process; see `nncache.testbed.guard`.

    Only this process holds the write end: it closes on exec. If this process ends without stopping its servers, the
    last guard removes `directory`; None keeps all files.
    """

    def __init__(self, lock: Path, directory: Path | None) -> None:
        self.descriptor, self._write = os.pipe()  # both close on exec (PEP 446); guards inherit the first
        self._lock = lock
        self._directory = directory

    def wrap(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return the command line that runs `command` under a guard."""
        places = str(self.descriptor), str(self._lock), str(self._directory or "")
        return sys.executable, "-I", "-S", guard.__file__, *places, *command

    def close(self) -> None:
        """Close the pipe; guards kill all servers that still run."""
        for descriptor in (self._write, self.descriptor):
            os.close(descriptor)


class ServerProcess:
    """A server of the cluster. `pid` is the server's own, not a wrapper's.

    Invariants:
        S1  At most one process of this server runs, and signals go to that process only.
        S2  `log` holds the server's output, with all runs appended in order.
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
        self.start_s = 0.0  # duration of the last start, until the server was up
        self._command = command
        self._environ = dict(environ)
        self._lifeline = lifeline
        self._is_up = is_up
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0  # time.monotonic() of the last launch
        self._was_up = False  # since the last launch
        self._asked_since = 0.0  # time.monotonic() at which the current timeout began

    @property
    def pid(self) -> int | None:
        """The process id; None if the process does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def running_pid(self) -> int:
        """The process id; asserts that the process runs."""
        pid = self.pid
        assert pid is not None, f"{self.name} does not run"
        return pid

    def launch(self) -> None:
        """Start the process, if it does not run, without waiting for the server to be up."""
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
                start_new_session=True,  # Ctrl-C must reach only us: we stop the servers in our own order
            )

    def is_up(self) -> bool:
        """Return whether the server is up. Raises StartError if the process has ended or the timeout has passed."""
        up = self._ask(self._is_up, "is not up")
        if up and not self._was_up:
            self._was_up = True
            self.start_s = time.monotonic() - self._started
        return up

    def await_up(self) -> None:
        """Wait until the server is up."""
        await_all([self])

    def await_that(self, question: Callable[[], bool], otherwise: str) -> None:
        """Poll `question` until true. `otherwise` ends the message of the StartError if the timeout passes first."""
        self._asked_since = time.monotonic()
        while not self._ask(question, otherwise):
            self.wait(ASK_EVERY_S)

    def _ask(self, question: Callable[[], bool], otherwise: str) -> bool:
        process = self._process
        if process is None:
            raise ServerStartError(f"{self.name} was never started")
        if process.poll() is not None:
            raise ServerStartError(
                f"{self.name} ended with {process.returncode} while it was awaited; {self.last_words()}"
            )
        if question():
            return True
        if time.monotonic() - self._asked_since > self._timeout_s:
            raise ServerStartError(
                f"{self.name} {otherwise} after {self._timeout_s:.0f} s; {self.last_words()}"
            )
        return False

    def start(self) -> None:
        """Start the process and wait until the server is up."""
        self.launch()
        self.await_up()

    def restart(self) -> None:
        """Stop the process if it runs, start it again and wait until the server is up."""
        self.stop()
        self.start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """Kill the process (SIGKILL), as in a crash, and wait for its end."""
        self.signal(signal.SIGKILL)
        self.wait()

    def pause(self) -> None:
        """Pause the process (SIGSTOP): its connections stay open without replies. Return once all threads stopped."""
        pid = self.pid
        if pid is not None:
            self.signal(signal.SIGSTOP)
            os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Resume a paused process (SIGCONT)."""
        self.signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Send SIGTERM without waiting. A paused process is resumed, since it could not handle the signal."""
        self.signal(signal.SIGTERM)
        self.resume()

    def stop(self, grace_s: float = 10.0) -> None:
        """Terminate the process, and kill it if it has not ended after `grace_s` seconds."""
        self.terminate()
        if not self.wait(grace_s):
            self.kill()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the process; return False on timeout."""
        if self._process is None:
            return True
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def last_words(self) -> str:
        """Return the last meaningful lines of the log, without stack frames and banners."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except FileNotFoundError:
            lines = []
        telling = [line for line in lines if not line.startswith(("\tat ", "/***", "***", "SHUTDOWN_MSG"))]
        return "its log ends:\n" + "\n".join(telling[-_LAST_LINES:])


def await_all(processes: Collection[ServerProcess]) -> None:
    """Poll all servers in turn until each has been up."""
    waiting = list(processes)
    while waiting := [process for process in waiting if not process.is_up()]:
        waiting[0].wait(ASK_EVERY_S)


class Running(ABC):
    """A resource that starts and ends with its `with` block, and is closed if the start fails."""

    @abstractmethod
    def start(self) -> object:
        """Start it and wait until it is ready."""

    @abstractmethod
    def close(self) -> None:
        """Stop it and remove its files. May be called again."""

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
