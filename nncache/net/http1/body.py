"""A body as it arrives, read part by part."""

import asyncio
from collections.abc import Callable
from typing import Final

from nncache.net.http1.chunks import Chunks

_FULL_BYTES: Final = 128 * 1024


class Body:
    """One body. Its connection calls `feed`, and its reader `take`.

    Attributes:
        is_over: all of it has arrived, or nothing more of it can.

    Invariants:
        B1  What has arrived and was not taken is at most _FULL_BYTES and what one call of `feed` brings, as long as the
            connection is not read while `is_full`.
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
        """Expect so many bytes, or chunks; `on_room` is called when the body was full and is no longer."""
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
        """Whether no more should be read from the connection for now."""
        return self._held_bytes > _FULL_BYTES

    @property
    def held_bytes(self) -> int:
        """Bytes that have arrived and were not taken."""
        return self._held_bytes

    @property
    def has_failed(self) -> bool:
        """Whether the body did not end as it should have."""
        return self._error is not None

    @property
    def has_more(self) -> bool:
        """Whether there is something to be taken, or still to come."""
        return bool(self._parts) or not self.is_over or self.has_failed

    @property
    def is_waited_for(self) -> bool:
        """Whether nothing can be taken before more arrives."""
        return not (self._parts or self.is_over)

    def feed(self, data: bytes) -> bytes:
        """Take what has arrived; return what stands behind the body.

        Raises:
            ChunksError: where it ends is not known.
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
        """Take note that all of it has arrived."""
        self.is_over = True
        self._wake()

    def fail(self, error: Exception) -> None:
        """Have the reader see this error: nothing more will come."""
        self._error = error
        self.end()

    def arrival(self) -> asyncio.Future[None]:
        """Return what is done when more has arrived, or nothing more will."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter

    def take(self) -> bytes:
        """Return what has arrived since; b"" after the last part.

        Raises what `fail` was given.
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
