"""Read requests exactly as RFC 9112 defines them.

An independent reader without any leniency that the RFC only permits, except for several spaces in a request line and
line ends before it. If a server forwards a request that this reader does not find at the same place, another reader on
the path may see a different request.
"""

import re
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, section 5.6.2
_LINE: Final = re.compile(rb"(%b) +([^\x00-\x20\x7f]+) +HTTP/1\.([01])" % _TOKEN)  # RFC 9112, section 3
_FIELD: Final = re.compile(rb"(%b):[ \t]*((?:[^\x00-\x08\x0a-\x1f\x7f]*[^\x00-\x20\x7f])?)[ \t]*" % _TOKEN)
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})((?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?)")  # section 7.1
_LENGTH: Final = re.compile(rb"[0-9]+")


@dataclass(frozen=True, slots=True)
class StrictRequest:
    """One request.

    Attributes:
        body: None if it is incomplete.
    """

    method: bytes
    target: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes | None


def read_requests(data: bytes) -> list[StrictRequest]:
    """Return the requests at the start of these bytes, up to the first malformed one."""
    found: list[StrictRequest] = []
    while True:
        data = data.lstrip(
            b"\r\n"
        )  # RFC 9112, section 2.2: a server should ignore an empty line before a request
        head, end, rest = data.partition(b"\r\n\r\n")
        request = _read_head(head) if end else None
        if request is None:
            return found
        body, after = _read_body(request, rest)
        found.append(StrictRequest(request.method, request.target, request.fields, body))
        if after is None:
            return found
        data = after


def _read_head(head: bytes) -> StrictRequest | None:
    line, *lines = head.split(b"\r\n")
    start = _LINE.fullmatch(line)
    matches = [_FIELD.fullmatch(field) for field in lines]
    fields = tuple((match[1], match[2]) for match in matches if match is not None)
    if start is None or len(fields) != len(lines):
        return None
    lengths = _values(fields, b"content-length")
    codings = _values(fields, b"transfer-encoding")
    is_framed = len(lengths) + len(codings) <= 1 and all(map(_LENGTH.fullmatch, lengths))
    is_chunked = not codings or (codings[0].lower() == b"chunked" and start[3] == b"1")
    return StrictRequest(start[1], start[2], fields, None) if is_framed and is_chunked else None


def _values(fields: tuple[tuple[bytes, bytes], ...], name: bytes) -> list[bytes]:
    return [value for key, value in fields if key.lower() == name]


def _read_body(request: StrictRequest, rest: bytes) -> tuple[bytes | None, bytes | None]:
    """Return the body, and the bytes after it."""
    for value in _values(request.fields, b"content-length"):
        digits = value.lstrip(
            b"0"
        )  # 1*DIGIT (RFC 9110, section 8.6): zeros before a number are no part of it
        length = int(digits or b"0") if len(digits) < 20 else len(rest) + 1
        return (rest[:length], rest[length:]) if length <= len(rest) else (None, None)
    return _read_chunks(rest) if _values(request.fields, b"transfer-encoding") else (b"", rest)


def _read_chunks(rest: bytes) -> tuple[bytes | None, bytes | None]:
    body = b""
    while True:
        line, end, rest = rest.partition(b"\r\n")
        start = _CHUNK.fullmatch(line)
        if not end or start is None:
            return None, None
        size = int(start[1], 16)
        if size == 0:
            break
        if rest[size : size + 2] != b"\r\n":
            return None, None
        body, rest = body + rest[:size], rest[size + 2 :]
    while True:  # trailers
        line, end, rest = rest.partition(b"\r\n")
        if not end or (line and not _FIELD.fullmatch(line)):
            return None, None
        if not line:
            return body, rest
