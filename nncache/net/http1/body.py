"""A message body that is read while it arrives."""

import asyncio
from collections.abc import Callable
from typing import Final

from nncache.net.http1.chunks import Chunks

_FULL_BYTES: Final = 128 * 1024


class Body:
    """The body of one message. Its connection calls `feed`, its reader calls `take`.

    Attributes:
        is_over: the whole body has arrived, or no more of it can arrive.

    Invariants:
        B1  At most _FULL_BYTES and the bytes of one call of `feed` are buffered, provided that the connection is not
            read while `is_full`.
    """

    __slots__ = (
        "_bytes_left",
        "_chunks",
        "_error",
        "_held_bytes",
        "_on_room",
        "_parts",
        "_waiter",
        "is_over",
    )

    def __init__(self, length: int | None, on_room: Callable[[], None]) -> None:
        """Expect this many bytes, or chunks (None). `on_room` is called when the buffer is no longer full."""
        self._bytes_left = length or 0
        self._chunks = Chunks() if length is None else None
        self._on_room = on_room
        self._parts: list[bytes] = []
        self._held_bytes = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.is_over = length == 0

    @property
    def is_full(self) -> bool:
        """Whether reading from the connection must pause."""
        return self._held_bytes > _FULL_BYTES

    @property
    def held_bytes(self) -> int:
        """Number of buffered bytes."""
        return self._held_bytes

    @property
    def has_failed(self) -> bool:
        """Whether the body ended with an error."""
        return self._error is not None

    @property
    def has_more(self) -> bool:
        """Whether bytes are buffered, or more can arrive."""
        return bool(self._parts) or not self.is_over or self.has_failed

    @property
    def is_waited_for(self) -> bool:
        """Whether the buffer is empty and more can arrive."""
        return not (self._parts or self.is_over)

    def feed(self, data: bytes) -> bytes:
        """Buffer the bytes that have arrived; return those after the end of the body.

        Raises:
            ChunksError: the end of the body cannot be determined.
        """
        if self._chunks is not None:
            part, behind = self._chunks.take(data)
            self.is_over = self._chunks.is_over
        else:
            part, behind = data[: self._bytes_left], data[self._bytes_left :]
            self._bytes_left -= len(part)
            self.is_over = not self._bytes_left
        if part:
            self._parts.append(part)
            self._held_bytes += len(part)
        if part or self.is_over:
            self._wake()
        return behind

    def end(self) -> None:
        """Mark the body as complete."""
        self.is_over = True
        self._wake()

    def fail(self, error: Exception) -> None:
        """End the body with this error, which the reader gets."""
        self._error = error
        self.end()

    def arrival(self) -> asyncio.Future[None]:
        """Return a future that is done when more has arrived, or no more can."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def take(self) -> bytes:
        """Return the buffered bytes, and empty the buffer; b"" after the last part.

        Raises the error that `fail` was given.
        """
        if self._error is not None:
            raise self._error
        part = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        was_full = self.is_full
        self._parts.clear()
        self._held_bytes = 0
        if was_full:
            self._on_room()
        return part

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
