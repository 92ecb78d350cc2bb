"""One client's connection in memory: the bytes that it sends and reads, and how it ends.

`tests/alike/test_sockets.py` runs the same conversations over real sockets.
"""

import asyncio
from enum import Enum
from typing import Any, Final

from tests.hostile.fuzzing.transport import DeafTransport

_MOST_AT_ONCE: Final = 256 * 1024  # maximum of an event loop's `data_received`


class End(Enum):
    """The state of the connection as a reading client sees it."""

    OPEN = "open"
    EOF = "eof"
    CUT = "cut"  # unread data is lost
    LOST = "lost"  # closed by the client itself


class Line(DeafTransport):
    """The transport of one connection, with its client.

    Attributes:
        end: the state that the client sees.
        reads: whether the client reads now.
        late: number of writes of the server since it knows that the client does not read.
    """

    def __init__(self, high_bytes: int) -> None:
        """Create a line that pauses its protocol beyond this number of unread bytes."""
        super().__init__()
        self.end = End.OPEN
        self.reads = True
        self.late = 0
        self._high_bytes = high_bytes
        self._loop = asyncio.get_running_loop()
        self._taken = 0  # the part of `written` that `take` returned
        self._unread = bytearray()
        self._is_draining = False  # the client reads in the next iteration of the loop
        self._is_paused = False  # the protocol's writing is paused
        self._is_half_closed = False  # nothing follows the unread data
        self._backlog = bytearray()  # sent, not yet passed to the protocol
        self._is_held = False  # reading is paused
        self._says_no_more = False  # the client half-closed after the backlog
        self._is_lost = False  # connection_lost was called

    # ---- the client ---------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send data."""
        if self._is_sendable():
            self._backlog += data
            self._hand_over()

    def half_close(self) -> None:
        """Half-close: send nothing more."""
        if self._is_sendable():
            self._says_no_more = True
            self._hand_over()

    def lose(self) -> None:
        """Reset the connection; data not yet read is lost."""
        if not self._is_lost:
            self.end = End.LOST if self.end is End.OPEN else self.end
            self._backlog.clear()
            self._go(ConnectionResetError("by the client"))

    def read_on(self, reads: bool) -> None:
        """Start or stop reading."""
        self.reads = reads
        self._drain_soon()

    def take(self) -> bytes:
        """Return the data that the client has read since the last call."""
        new = bytes(self.written[self._taken :])
        self._taken = len(self.written)
        return new

    def _is_sendable(self) -> bool:
        return not (self._says_no_more or self.is_closed)

    # ---- the transport ------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Buffer data for the client, which reads it in the next iteration."""
        if self._is_half_closed:
            raise RuntimeError("write behind the end")
        if self.is_closed and self._is_over():
            return
        self._unread += data
        self.late += self._is_paused
        if len(self._unread) > self._high_bytes and not self._is_paused:
            self._is_paused = True
            self.get_protocol().pause_writing()
        self._drain_soon()

    def write_eof(self) -> None:
        """Half-close after the buffered data."""
        self._is_half_closed = True
        self._drain_soon()

    def close(self) -> None:
        """Close when the client has read everything."""
        self.is_closed = True
        self._drain_soon()

    def abort(self) -> None:
        """Close immediately."""
        if not self._is_over():
            self.end = End.CUT
            self._go(None)

    def get_write_buffer_size(self) -> int:
        """Return the number of unread bytes."""
        return len(self._unread)

    def pause_reading(self) -> None:
        """Hold later data of the client."""
        self._is_held = True

    def resume_reading(self) -> None:
        """Pass held data to the protocol."""
        self._is_held = False
        self._loop.call_soon(self._hand_over)

    def is_reading(self) -> bool:
        """Return whether data is passed to the protocol."""
        return not self._is_held

    # ---- between the two ----------------------------------------------------------------------------

    def _is_over(self) -> bool:
        return self.end in {End.CUT, End.LOST} or self._is_lost

    def _hand_over(self) -> None:
        while self._backlog and not (self._is_held or self.is_closed):
            piece = bytes(self._backlog[:_MOST_AT_ONCE])
            del self._backlog[:_MOST_AT_ONCE]
            try:
                self.get_protocol().data_received(piece)
            except RuntimeError:  # as an event loop does
                self.abort()
        if self._says_no_more and not (self._backlog or self._is_held or self.is_closed):
            self._is_held = True  # only once
            if not self.get_protocol().eof_received():
                self.close()

    def _drain_soon(self) -> None:
        if not self._is_draining:
            self._is_draining = True
            self._loop.call_soon(self._drain)

    def _drain(self) -> None:
        self._is_draining = False
        if self._is_over():
            return
        if self.reads:
            self.written += self._unread
            self._unread.clear()
            if self._is_paused:
                self._is_paused, self.late = False, 0
                self.get_protocol().resume_writing()
        if self._unread:  # more data arrived in between; it is read in the next iteration
            if self.reads:
                self._drain_soon()
            return
        if self._is_half_closed or self.is_closed:
            self.end = End.EOF
        if self.is_closed:
            self._go(None)

    def _go(self, exc: Exception | None) -> None:
        self.is_closed = True
        self._unread.clear()
        self._loop.call_soon(self._tell_lost, exc)

    def _tell_lost(self, exc: Exception | None) -> None:
        if not self._is_lost:
            self._is_lost = True
            self.get_protocol().connection_lost(exc)
