"""The driver's side: it tells tasks the time, and they tell it how far they are.

A server of lines: `clock` is answered with the driver's time; a JSON object is one task's progress and gets no answer.
It binds to loopback by default and trusts every client that connects: bind it only where all are trusted.
"""

import json
import socketserver
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final, Self

from nncache.bench.polling.clock import ASK, boottime

MAX_LINE_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Progress:
    """How far polling is, warm-up included.

    Attributes:
        polls: that have ended.
        failed: of those, how many got no reply or one of 5xx.
        late: how many were sent late by the generator's own fault.
    """

    polls: int = 0
    failed: int = 0
    late: int = 0

    def __add__(self, other: "Progress") -> "Progress":
        return Progress(self.polls + other.polls, self.failed + other.failed, self.late + other.late)

    def line(self, task: int) -> bytes:
        """Return what a task sends."""
        return json.dumps({"task": task} | asdict(self)).encode("ascii") + b"\n"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, conductor: "Conductor") -> None:
        self.conductor = conductor
        super().__init__((host, port), _Lines)


class _Lines(socketserver.StreamRequestHandler):
    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer one connection until it ends, or says what makes no sense."""
        assert isinstance(self.server, _Server)
        conductor = self.server.conductor
        try:
            while line := self.rfile.readline(MAX_LINE_BYTES):
                if line == ASK:
                    self.wfile.write(f"{conductor.clock()!r}\n".encode("ascii"))
                else:
                    conductor.take(line)
        except (OSError, ValueError, TypeError, KeyError):
            return


class Conductor:
    """Serves in threads of its own, from when it is made until it is closed.

    Attributes:
        clock: the run's clock.
        address: "host:port", for the tasks.
    """

    def __init__(self, host: str, port: int = 0, *, clock: Callable[[], float] = boottime) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._of_task: dict[int, Progress] = {}  # what each said last; under the lock
        self._server = _Server(host, port, self)
        self.address = f"{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, name="conductor", daemon=True)
        self._thread.start()

    def progress(self) -> Progress:
        """Return how far all tasks together are."""
        with self._lock:
            return sum(self._of_task.values(), Progress())

    def take(self, line: bytes) -> None:
        """Take a task's progress.

        Raises:
            ValueError, TypeError, KeyError: this is none.
        """
        said = json.loads(line)
        task = int(said.pop("task"))
        progress = Progress(**said)
        with self._lock:
            self._of_task[task] = progress

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
