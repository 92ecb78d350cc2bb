"""A whole JSON reply of a NameNode, read off its bytes.

Pure. It takes what a NameNode says to nearly every read, spelled as it spells it, and nothing else: the parser judges
whatever is odd.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, cast

from nncache.proxy.headers import HOP_BY_HOP, NOT_REPLAYED
from nncache.proxy.messages import Header, Headers

MAX_BYTES: Final = 32 * 1024
"""Longer replies are left to the way that waits for its client."""

_HEAD_END: Final = b"\r\n\r\n"
_STATUS: Final = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ([\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)")
"""A field with a value, one space before it and none behind: what `encode_fields` would write."""

_LENGTH: Final = b"content-length"
_CODING: Final = b"transfer-encoding"
_TYPE: Final = b"content-type"
_COOKIE: Final = b"set-cookie"
_OF_THE_CONNECTION: Final = HOP_BY_HOP | {_LENGTH}
_REPEATED: Final = frozenset({_CODING, _TYPE, b"cache-control", b"date", b"expires", b"pragma"}) | {
    b"x-content-type-options",
    b"x-frame-options",
    b"x-xss-protection",
}
"""Fields that one reply after another has with the same value, and none of which is a secret."""

MAX_LINES: Final = 256
"""So many lines of such fields are remembered."""

_MAX_LINE_BYTES: Final = 64  # of one of them
_MAX_DIGITS: Final = 9  # of a length
_LAST_CHUNK: Final = b"\r\n0\r\n\r\n"  # behind the end of another
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,6})\r\n")
_LEFT_TO_THE_PARSER: Final = frozenset({204, 304, 403})
"""Those without a body, and the one with which a NameNode says that it is not the active one."""


class NotWhole(Enum):
    """Why there is no reply."""

    MORE = "the rest is still to come"
    ODD = "it is not for this reader"


@dataclass(slots=True)
class PlainReply:
    """A reply; it is not changed any more (a frozen one takes three times as long to make).

    Attributes:
        headers: the header fields, but for the one that frames the body.
        fields: the same as they go on the wire.
        replayed: those of them that each cached answer repeats (`nncache.proxy.headers.replayed_headers`).
        sets_secure_cookie: whether one of them may be a cookie for TLS alone (`nncache.proxy.secure_cookies`).
    """

    status: int
    reason: bytes
    headers: Headers
    fields: bytes
    body: bytes
    replayed: Headers
    sets_secure_cookie: bool

    def encode(self, field: Header) -> bytes:
        """Return the bytes of the reply with one more header field."""
        return b"HTTP/1.1 %d %b\r\n%b%b: %b\r\nContent-Length: %d\r\n\r\n%b" % (
            self.status,
            self.reason,
            self.fields,
            *field,
            len(self.body),
            self.body,
        )


ReadReply: TypeAlias = PlainReply | NotWhole


@dataclass(slots=True, eq=False)
class _Field:
    """A header field as it came, its name in lower case, and what becomes of it."""

    name: bytes
    field: Header
    is_replayed: bool
    may_be_secure_cookie: bool


class ReplyReader:
    """Reads replies. Most lines of a head are those of the one before it: what they say is remembered.

    Invariants:
        L1  At most `MAX_LINES` lines are remembered, and none that may hold a secret.
    """

    __slots__ = ("_lines",)

    def __init__(self) -> None:
        self._lines: dict[bytes, _Field] = {}

    def read(self, data: bytes) -> ReadReply:
        """Read all that came of a reply to a GET. Costs time linear in it."""
        end = data.find(_HEAD_END)
        if end < 0:
            return NotWhole.MORE if len(data) <= MAX_BYTES else NotWhole.ODD
        lines = data[:end].split(b"\r\n")
        line, known = _STATUS.fullmatch(lines[0]), self._lines
        lines[0] = b""
        found = [known.get(each) or self._read_field(each) for each in lines[1:]]
        if line is None or None in found:
            return NotWhole.ODD
        fields = cast("list[_Field]", found)
        status, names = int(line[1]), [field.name for field in fields]
        framing = _OF_THE_CONNECTION.intersection(names)
        if status in _LEFT_TO_THE_PARSER or len(framing) != 1 or names.count(_TYPE) != 1:
            return NotWhole.ODD
        (frame,) = framing
        at = names.index(frame)
        if names.count(frame) != 1 or not _is_json(fields[names.index(_TYPE)]):
            return NotWhole.ODD
        body = _body_of(data, end + len(_HEAD_END), fields[at])
        if isinstance(body, NotWhole):
            return body
        del fields[at], lines[at + 1]
        lines.append(b"")  # so that each line ends
        headers = tuple([field.field for field in fields])
        replayed = tuple([field.field for field in fields if field.is_replayed])
        secure = [field for field in fields if field.may_be_secure_cookie]
        return PlainReply(status, line[2], headers, b"\r\n".join(lines)[2:], body, replayed, bool(secure))

    def _read_field(self, line: bytes) -> _Field | None:
        """Read a line that is not known; None if it is not spelled as usual."""
        read = _FIELD.fullmatch(line)
        if read is None:
            return None
        name, value = read.groups()
        lower = name.lower()
        is_secure = lower == _COOKIE and b"secure" in value.lower()
        field = _Field(lower, (name, value), lower not in NOT_REPLAYED, is_secure)
        if field.name in _REPEATED and len(line) <= _MAX_LINE_BYTES:
            if len(self._lines) >= MAX_LINES:
                self._lines.clear()  # nearly all name a second that is over
            self._lines[line] = field
        return field

    def check(self) -> None:
        """Assert L1; for tests."""
        assert len(self._lines) <= MAX_LINES
        assert all(field.name in _REPEATED for field in self._lines.values())
        assert all(len(line) <= _MAX_LINE_BYTES for line in self._lines)


def _is_json(kind: _Field) -> bool:
    return kind.field[1].lower().startswith(b"application/json")


def _body_of(data: bytes, begin: int, frame: _Field) -> bytes | NotWhole:
    """Return the body that begins there, framed as that field says."""
    value = frame.field[1]
    if frame.name == _LENGTH and value.isdigit() and len(value) <= _MAX_DIGITS:
        return _counted(data, begin, int(value))
    if frame.name == _CODING and value.lower() == b"chunked":
        return _chunked(data, begin)
    return NotWhole.ODD


def _counted(data: bytes, begin: int, length: int) -> bytes | NotWhole:
    missing = length - (len(data) - begin)
    if missing < 0 or length > MAX_BYTES:
        return NotWhole.ODD
    return NotWhole.MORE if missing else data[begin:]


def _chunked(data: bytes, begin: int) -> bytes | NotWhole:
    """Take the chunks off (RFC 9112, section 7.1); with extensions or trailer fields it is odd."""
    if len(data) - begin > MAX_BYTES:
        return NotWhole.ODD
    if data.endswith(_LAST_CHUNK) and (size := _CHUNK_SIZE.match(data, begin)) is not None:
        start, length = size.end(), int(size[1], 16)
        if length and start + length + len(_LAST_CHUNK) == len(data):  # nearly always it is one chunk
            return data[start : start + length]
    parts: list[bytes] = []
    while True:
        size = _CHUNK_SIZE.match(data, begin)
        if size is None:
            return NotWhole.MORE if len(data) - begin < len(b"FFFFFF\r\n") else NotWhole.ODD
        length, begin = int(size[1], 16), size.end()
        end = data[begin + length : begin + length + 2]
        if end != b"\r\n":
            return NotWhole.MORE if len(end) < len(b"\r\n") and b"\r\n".startswith(end) else NotWhole.ODD
        parts.append(data[begin : begin + length])
        begin += length + 2
        if not length:
            return NotWhole.ODD if begin < len(data) else b"".join(parts)
