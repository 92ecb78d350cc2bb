"""A whole JSON reply of a NameNode, read off its bytes. (proxy/upstream/plain_reply.py)

Pure. It takes what a NameNode says to nearly every read, spelled as it spells it, and nothing else: the parser judges
whatever is odd.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from nncache.proxy.headers import HOP_BY_HOP
from nncache.proxy.messages import Header, Headers

MAX_BYTES: Final = 32 * 1024
"""Longer replies are left to the way that waits for its client."""

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_HEAD: Final = re.compile(
    rb"HTTP/1\.1 ([2-5]\d\d) ([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)\r\n"
    rb"((?:" + _TOKEN + rb": (?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)\r\n)*)\r\n"
)
"""A status line and fields with a value, one space before it and none behind: what `encode_fields` would write."""

_LENGTH: Final = b"content-length"
_CODING: Final = b"transfer-encoding"
_TYPE: Final = b"content-type"
_COOKIE: Final = b"set-cookie"
_OF_THE_CONNECTION: Final = HOP_BY_HOP | {_LENGTH}
_MAX_DIGITS: Final = 9  # of a length
_CHUNK_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,6})\r\n")
_LEFT_TO_THE_PARSER: Final = frozenset({204, 304, 403})
"""Those without a body, and the one with which a NameNode says that it is not the active one."""


class NotWhole(Enum):
    """Why there is no reply."""

    MORE = "the rest is still to come"
    ODD = "it is not for this reader"


@dataclass(frozen=True, slots=True)
class PlainReply:
    """A reply.

    Attributes:
        fields: the header fields as they go on the wire, but for those that frame the body.
        sets_cookie: whether `Set-Cookie` is one of them.
    """

    status: int
    reason: bytes
    fields: bytes
    body: bytes
    sets_cookie: bool = False

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

    def headers(self) -> Headers:
        """Return the header fields, but for those that frame the body."""
        names_and_values = [line.partition(b": ") for line in self.fields.split(b"\r\n")[:-1]]
        return tuple((name, value) for name, _, value in names_and_values)


ReadReply: TypeAlias = PlainReply | NotWhole


def read_reply(data: bytes) -> ReadReply:
    """Read all that came of a reply to a GET. Costs time linear in it."""
    head = _HEAD.match(data)
    if head is None:
        return NotWhole.ODD if b"\r\n\r\n" in data or len(data) > MAX_BYTES else NotWhole.MORE
    status, reason = int(head[1]), head[2]
    lines = head[3].split(b"\r\n")
    names = [line.partition(b":")[0].lower() for line in lines[:-1]]
    framing = [name for name in names if name in _OF_THE_CONNECTION]
    if (
        status in _LEFT_TO_THE_PARSER
        or len(framing) != 1
        or names.count(_TYPE) != 1
        or not _value(lines, names, _TYPE).lower().startswith(b"application/json")
    ):
        return NotWhole.ODD
    value = _value(lines, names, framing[0])
    if framing[0] == _LENGTH and value.isdigit() and len(value) <= _MAX_DIGITS:
        body = _counted(data, head.end(), int(value))
    elif framing[0] == _CODING and value.lower() == b"chunked":
        body = _chunked(data, head.end())
    else:
        return NotWhole.ODD
    if isinstance(body, NotWhole):
        return body
    del lines[names.index(framing[0])]
    return PlainReply(status, reason, b"\r\n".join(lines), body, _COOKIE in names)


def _value(lines: list[bytes], names: list[bytes], name: bytes) -> bytes:
    return lines[names.index(name)][len(name) + len(b": ") :]


def _counted(data: bytes, begin: int, length: int) -> bytes | NotWhole:
    missing = length - (len(data) - begin)
    if missing < 0 or length > MAX_BYTES:
        return NotWhole.ODD
    return NotWhole.MORE if missing else data[begin:]


def _chunked(data: bytes, begin: int) -> bytes | NotWhole:
    """Take the chunks off (RFC 9112, section 7.1); with extensions or trailer fields it is odd."""
    if len(data) - begin > MAX_BYTES:
        return NotWhole.ODD
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
