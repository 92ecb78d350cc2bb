"""Decode a body in chunked transfer coding (RFC 9112, section 7.1). Pure.

Chunk extensions and trailer fields are dropped. A proxy shares connections: if another reader took a trailer field for
a field of the next request, one client could forge the request of another.
"""

import re
from typing import Final

from nncache.net.http1.head import TOKEN

MAX_LINE_BYTES: Final = 1_024
"""Maximum length of a chunk-size line: a longer one attacks readers that skip extensions (section 7.1.1)."""

MAX_TRAILER_BYTES: Final = 4_096
"""Maximum size of all trailer fields together; they are dropped."""

_EXTENSION: Final = rb"(?:;[\t\x20\x21\x23-\x7e\x80-\xff]*)?"  # none in quotes: it may end a line, or not
_SIZE: Final = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})" + _EXTENSION + rb"\r\n")
_FIRST: Final = re.compile(rb"(?=0*[1-9A-Fa-f])([0-9A-Fa-f]{1,6})\r\n")
_LAST: Final = b"\r\n0\r\n\r\n"  # behind the end of another
_PART_OF_SIZE: Final = re.compile(rb"\r?|\r\n(?:[0-9A-Fa-f]{1,16}" + _EXTENSION + rb"\r?)?")
_TEXT: Final = rb"[\t\x20-\x7e\x80-\xff]*"
_FIELD: Final = re.compile(rb"(?:" + TOKEN + rb":" + _TEXT + rb")?\r\n")
_PART_OF_FIELD: Final = re.compile(rb"\r?|" + TOKEN + rb"(?::" + _TEXT + rb"\r?)?")


class ChunksError(ValueError):
    """The bytes are not a valid chunked body."""


def only_chunk(data: bytes, at: int) -> bytes | None:
    """Return the body if it is a single chunk that begins at `at` and ends with the data; else None."""
    if not data.endswith(_LAST) or (size := _FIRST.match(data, at)) is None:
        return None
    begin, end = size.end(), len(data) - len(_LAST)
    return data[begin:end] if begin + int(size[1], 16) == end else None


class Chunks:
    """A chunked body that is decoded while it arrives (RFC 9112, section 7.1).

    Attributes:
        is_over: whether the last chunk and the trailer section were read.

    Invariants:
        C1  Only an incomplete line is buffered.
    """

    __slots__ = ("_bytes_left", "_is_in_trailers", "_part", "_trailer_bytes", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self._part = b"\r\n"  # C1; a line with a size begins with the end of the data before it
        self._bytes_left = 0  # of the chunk
        self._is_in_trailers = False
        self._trailer_bytes = 0

    def take(self, data: bytes) -> tuple[bytes, bytes]:
        """Decode the bytes that have arrived; return the decoded data, and the bytes after the body.

        Raises:
            ChunksError: the end of the body cannot be determined.
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
        """Read a chunk-size line; return where the chunk's data begins, or `at` while the line is incomplete."""
        line = _SIZE.match(data, at, at + MAX_LINE_BYTES)
        if line is None:
            if len(data) - at < MAX_LINE_BYTES and _PART_OF_SIZE.fullmatch(data, at):
                return at
            raise ChunksError("the size of a chunk is malformed")
        self._bytes_left = int(line[1], 16)
        self._is_in_trailers = not self._bytes_left
        return line.end()

    def _field(self, data: bytes, at: int) -> int:
        """Drop a trailer field; return where the next one begins, or `at` while the line is incomplete."""
        room = MAX_TRAILER_BYTES - self._trailer_bytes
        line = _FIELD.match(data, at, at + room)
        if line is None:
            if len(data) - at < room and _PART_OF_FIELD.fullmatch(data, at):
                return at
            raise ChunksError("a trailer field is malformed, or there are too many")
        self._trailer_bytes += line.end() - at
        self.is_over = line.end() - at == len(b"\r\n")
        return line.end()
