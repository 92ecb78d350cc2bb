"""One client's connection in memory: what it sends, what it reads, and how it ends.

`tests/alike/test_sockets.py` has the same conversations over real sockets.
"""

import asyncio
from enum import Enum
from typing import Any, Final

from tests.hostile.fuzzing.transport import DeafTransport

_MOST_AT_ONCE: Final = 256 * 1024  # that an event loop hands over in one piece


class End(Enum):
    """What a client that reads sees of the connection."""

    OPEN = "open"
    EOF = "eof"
    CUT = "cut"  # what was not read is lost
    LOST = "lost"  # by the client itself


class Line(DeafTransport):
    """The transport of one connection, with its client.

    Attributes:
        end: as the client sees it.
        reads: whether the client reads now.
        late: how often the server has written since it knows that the client does not read.
    """

    def __init__(self, high_bytes: int) -> None:
        """Make one whose protocol is paused beyond so many bytes that the client has not read."""
        super().__init__()
        self.end = End.OPEN
        self.reads = True
        self.late = 0
        self._high_bytes = high_bytes
        self._loop = asyncio.get_running_loop()
        self._taken = 0  # of `written`: what was returned by `take`
        self._unread = bytearray()
        self._is_draining = False  # the client reads in the next turn of the loop
        self._is_paused = False  # the protocol was told so
        self._is_half_closed = False  # nothing follows what is unread
        self._backlog = bytearray()  # sent, and not handed over yet
        self._is_held = False  # reading was paused
        self._says_no_more = False  # the client has closed its half, behind the backlog
        self._is_lost = False  # the protocol was told so

    # ---- the client ---------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send."""
        if self._is_sendable():
            self._backlog += data
            self._hand_over()

    def half_close(self) -> None:
        """Send nothing more."""
        if self._is_sendable():
            self._says_no_more = True
            self._hand_over()

    def lose(self) -> None:
        """Leave without a word: a reset, which comes before anything that is not read yet."""
        if not self._is_lost:
            self.end = End.LOST if self.end is End.OPEN else self.end
            self._backlog.clear()
            self._go(ConnectionResetError("by the client"))

    def read_on(self, reads: bool) -> None:
        """Begin to read, or read no more."""
        self.reads = reads
        self._drain_soon()

    def take(self) -> bytes:
        """Return what the client has read since this was called last."""
        new = bytes(self.written[self._taken :])
        self._taken = len(self.written)
        return new

    def _is_sendable(self) -> bool:
        return not (self._says_no_more or self.is_closed)

    # ---- the transport ------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        """Keep it for the client, who reads in the next turn."""
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
        """Say nothing more."""
        self._is_half_closed = True
        self._drain_soon()

    def close(self) -> None:
        """End when all is read."""
        self.is_closed = True
        self._drain_soon()

    def abort(self) -> None:
        """End at once."""
        if not self._is_over():
            self.end = End.CUT
            self._go(None)

    def get_write_buffer_size(self) -> int:
        """Say how much is not read yet."""
        return len(self._unread)

    def pause_reading(self) -> None:
        """Hold what is sent from here on."""
        self._is_held = True

    def resume_reading(self) -> None:
        """Hand it over."""
        self._is_held = False
        self._loop.call_soon(self._hand_over)

    def is_reading(self) -> bool:
        """Say whether it is handed over."""
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
            except RuntimeError:  # an event loop ends the connection then
                self.abort()
        if self._says_no_more and not (self._backlog or self._is_held or self.is_closed):
            self._is_held = True  # once
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
        if self._unread:  # more came at once; its turn is next
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
