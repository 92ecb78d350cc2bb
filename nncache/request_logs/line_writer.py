"""Append lines to a file in a thread of its own, so that the event loop never waits for a disk.

A request must not wait for its line. The queue of lines is bounded. If it is full, or the disk fails, lines are
dropped, counted, and reported in the log.
"""

import logging
import os
import select
import sys
import threading
from collections.abc import Callable
from enum import Enum, auto
from queue import Empty, SimpleQueue
from typing import Final

from nncache.net.log_throttle import ThrottledLog
from nncache.request_logs.settings import STANDARD_OUTPUT

MAX_WAITING_BYTES: Final = 16 * 1024 * 1024
GATHER_S: Final = 0.05
"""Seconds between two writes. A thread that wakes for each line would cost the event loop more than the line."""

CLOSE_S: Final = 5.0  # seconds to write the last lines

_MODE: Final = 0o640  # the lines name users and paths
_log = logging.getLogger(__name__)


class _Order(Enum):
    REOPEN = auto()
    CLOSE = auto()


class LineWriter:
    """Appends lines to one destination. Use it from one thread; call `start` before lines are written, `close` last.

    Invariants:
        W1  Only the caller's thread changes `_put_bytes`, only the writer's thread changes `_taken_bytes`. Their
            difference, the queued bytes, is at most `max_waiting_bytes`.
        W2  Each line is counted in `lines`. A line that is not completely in the file is counted once in `lost`, unless
            `close` abandoned it.
    """

    def __init__(
        self,
        destination: str,
        clock: Callable[[], float],
        *,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        gather_s: float = GATHER_S,
        close_s: float = CLOSE_S,
    ) -> None:
        """Open the destination. Raises OSError if it cannot be appended to."""
        self._destination = destination
        self._max_waiting_bytes = max_waiting_bytes
        self._gather_s = gather_s
        self._close_s = close_s
        self._queue: SimpleQueue[bytes | _Order] = SimpleQueue()
        self._file = self._open()
        self._put_bytes = 0
        self._taken_bytes = 0
        self.lines = 0
        self._left_out = 0  # lines for which the queue was full; changed by the caller's thread
        self._unwritten = 0  # lines that the disk refused; changed by the writer's thread
        self._is_torn = False  # the file ends within a line
        self._is_closing = threading.Event()
        self._no_room = ThrottledLog(_log, clock)
        self._no_disk = ThrottledLog(_log, clock)
        self._thread = threading.Thread(target=self._work, name=f"lines to {destination}", daemon=True)

    @property
    def lost(self) -> int:
        """The number of lines that are not in the file."""
        return self._left_out + self._unwritten

    def start(self) -> None:
        """Start the writer's thread."""
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queue a line that ends with a newline. Never blocks."""
        self.lines += 1
        if self._put_bytes - self._taken_bytes + len(line) > self._max_waiting_bytes:
            self._left_out += 1
            self._no_room.warn(
                f"{self._destination}: lines are lost, it takes them too slowly: see to the disk, "
                "or log fewer hits (access_log_sample)"
            )
            return
        self._put_bytes += len(line)
        self._queue.put(line)

    def reopen(self) -> None:
        """Reopen the destination by its name, after the lines that are queued so far."""
        self._queue.put(_Order.REOPEN)

    def close(self) -> None:
        """Write the queued lines for at most `close_s`, and stop."""
        self._queue.put(_Order.CLOSE)
        self._is_closing.set()
        if self._thread.ident is None:
            os.close(self._file)
        else:
            self._thread.join(self._close_s)

    def _open(self) -> int:
        if self._destination == STANDARD_OUTPUT:
            return os.dup(sys.stdout.fileno())
        return os.open(self._destination, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)

    # ---- the writer's thread ------------------------------------------------------------------------

    def _work(self) -> None:
        is_closed = False
        while not is_closed:
            lines = list[bytes]()
            for item in self._waiting():
                if isinstance(item, bytes):
                    lines.append(item)
                    continue
                self._append(lines)
                lines = []
                if item is _Order.REOPEN:
                    self._open_again()
                else:
                    is_closed = True
                    break
            self._append(lines)
            self._is_closing.wait(self._gather_s)
        os.close(self._file)

    def _waiting(self) -> list[bytes | _Order]:
        """Return all queued items. Block until there is at least one."""
        found = [self._queue.get()]
        try:
            while True:
                found.append(self._queue.get_nowait())
        except Empty:
            return found

    def _append(self, lines: list[bytes]) -> None:
        if not lines:
            return
        data = b"".join(lines)
        start = b"\n" if self._is_torn else b""
        left = memoryview(start + data)
        try:
            while left:
                written = self._write_some(left)
                self._is_torn = left[written - 1] != ord("\n")
                left = left[written:]
        except OSError as error:
            self._unwritten += bytes(left[-len(data) :]).count(b"\n")
            self._no_disk.warn(f"{self._destination}: lines are lost: {error.strerror or error}")
        self._taken_bytes += len(data)

    def _write_some(self, data: memoryview) -> int:
        while True:
            try:
                return os.write(self._file, data)
            except BlockingIOError:  # a pipe that its reader has made non-blocking
                poll = select.poll()
                poll.register(self._file, select.POLLOUT)
                poll.poll()

    def _open_again(self) -> None:
        try:
            file = self._open()
        except OSError as error:
            _log.warning(
                "%s: cannot reopen; still writing to the old file: %s",
                self._destination,
                error.strerror or error,
            )
            return
        os.close(self._file)
        self._file, self._is_torn = file, False
