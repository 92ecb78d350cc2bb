"""Take a body apart that comes in chunks (RFC 9112, section 7.1). Pure.

Extensions and trailers are dropped: behind a proxy that shares connections, a trailer that another reader took for a
field of the next request would be one client's word in another's mouth.
"""

import re
from typing import Final

from nncache.net.http1.head import TOKEN

MAX_LINE_BYTES: Final = 1_024
"""Of a line with the size of a chunk: what is longer is an attack on one who skips it (section 7.1.1)."""

MAX_TRAILER_BYTES: Final = 4_096
"""Of all trailer fields, which are dropped."""

_EXTENSION: Final = rb"(?:;[\t\x20\x21\x23-\x7e\x80-\xff]*)?"  # none in quotes: it may end a line, or not
_SIZE: Final = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})" + _EXTENSION + rb"\r\n")
_FIRST: Final = re.compile(rb"(?=0*[1-9A-Fa-f])([0-9A-Fa-f]{1,6})\r\n")
_LAST: Final = b"\r\n0\r\n\r\n"  # behind the end of another
_PART_OF_SIZE: Final = re.compile(rb"\r?|\r\n(?:[0-9A-Fa-f]{1,16}" + _EXTENSION + rb"\r?)?")
_TEXT: Final = rb"[\t\x20-\x7e\x80-\xff]*"
_FIELD: Final = re.compile(rb"(?:" + TOKEN + rb":" + _TEXT + rb")?\r\n")
_PART_OF_FIELD: Final = re.compile(rb"\r?|" + TOKEN + rb"(?::" + _TEXT + rb"\r?)?")


class ChunksError(ValueError):
    """What came is not in chunks."""


def only_chunk(data: bytes, at: int) -> bytes | None:
    """Return the body if it begins there, ends with the data, and is one chunk, as it nearly always is; else None."""
    if not data.endswith(_LAST) or (size := _FIRST.match(data, at)) is None:
        return None
    begin, end = size.end(), len(data) - len(_LAST)
    return data[begin:end] if begin + int(size[1], 16) == end else None


class Chunks:
    """One body as it arrives (RFC 9112, section 7.1).

    Attributes:
        is_over: whether all of it has been taken.

    Invariants:
        C1  Of what arrived, no more is held than the line that is not complete yet.
    """

    __slots__ = ("_bytes_left", "_is_in_trailers", "_part", "_trailer_bytes", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self._part = b"\r\n"  # C1; a line with a size begins with the end of the data before it
        self._bytes_left = 0  # of the chunk
        self._is_in_trailers = False
        self._trailer_bytes = 0

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Take what has arrived; return what there is of the body, and what stands behind it.

        Raises:
            ChunksError: where the body ends is not known.
        """
        data = self._part + data
        self._part = b""
        parts = list[bytes]()
        at, end = 0, len(data)
        while at < end and not self.is_over:
            if self._bytes_left:
                parts.append(data[at : at + self._bytes_left])
                at += len(parts[-1])
                self._bytes_left -= len(parts[-1])
            elif (after := self._field(data, at) if self._is_in_trailers else self._size(data, at)) > at:
                at = after
            else:
                self._part = data[at:]
                break
        return b"".join(parts), data[at:] if self.is_over else b""

    def _size(self, data: bytes, at: int) -> int:
        """Read a chunk's size; return where its data begins, or `at` while the line is not complete."""
        line = _SIZE.match(data, at, at + MAX_LINE_BYTES)
        if line is None:
            if len(data) - at < MAX_LINE_BYTES and _PART_OF_SIZE.fullmatch(data, at):
                return at
            raise ChunksError("the size of a chunk is malformed")
        self._bytes_left = int(line[1], 16)
        self._is_in_trailers = not self._bytes_left
        return line.end()

    def _field(self, data: bytes, at: int) -> int:
        """Drop a trailer field; return where the next one begins, or `at` while the line is not complete."""
        room = MAX_TRAILER_BYTES - self._trailer_bytes
        line = _FIELD.match(data, at, at + room)
        if line is None:
            if len(data) - at < room and _PART_OF_FIELD.fullmatch(data, at):
                return at
            raise ChunksError("a trailer field is malformed, or there are too many")
        self._trailer_bytes += line.end() - at
        self.is_over = line.end() - at == len(b"\r\n")
        return line.end()
