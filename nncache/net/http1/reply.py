"""Parse the head of a reply, strictly: a gateway must not guess what a server meant. Pure."""

import re
import sys
from dataclasses import dataclass, field, replace
from typing import Final

from nncache.net.http1.chunks import only_chunk
from nncache.net.http1.head import (
    REPEATED,
    FieldError,
    Fields,
    length_of,
    options_of,
    read_field,
    read_fields,
)

UNTIL_END: Final = sys.maxsize
"""The length of a body that ends with its connection (RFC 9112, section 6.3)."""

_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([0-9]{3})(?: ([^\x00-\x08\x0a-\x1f\x7f]*))?")
_READ: Final = frozenset({b"connection", b"content-length", b"content-type", b"transfer-encoding"})
_COOKIE: Final = b"\r\nSet-Cookie:"
_FIRST_FINAL: Final = 200
_HEAD_END: Final = b"\r\n\r\n"
_WITHOUT_BODY: Final = frozenset({204, 304})


class ReplyError(ValueError):
    """The bytes are not a reply with exactly one interpretation."""


MAX_KINDS: Final = 64
"""Maximum of cached kinds: a NameNode's heads differ in their second, and in the cookie, which is left out."""

MAX_KIND_BYTES: Final = 2_048


class HeadKind:
    """The common parts of heads that differ at most in one cookie.

    Attributes:
        head: the head without the cookie.
        cookie_at: index of the cookie among the fields; None: these heads have no cookie.
        derived: what a reader has derived from one of these heads for all of them.
    """

    __slots__ = ("cookie_at", "derived", "head")

    def __init__(self, head: "ReplyHead", cookie_at: int | None) -> None:
        self.head = head
        self.cookie_at = cookie_at
        self.derived: object = None


@dataclass(slots=True)
class ReplyHead:
    """The head of one reply.

    Attributes:
        reason: the reason phrase; bytes that are not UTF-8 are lone surrogates.
        fields: as received except for whitespace around a value.
        names: the names of the fields, in lower case and in order, unless its kind is known.
        is_json: whether its media type is JSON.
        keep_alive: whether the connection persists after the reply (RFC 9112, section 9.3).
        length: length of its body in bytes, or UNTIL_END; None: chunked.
    """

    status: int
    reason: str
    fields: Fields
    is_json: bool
    keep_alive: bool
    length: int | None
    names: tuple[bytes, ...] = field(default=(), compare=False)
    kind: HeadKind | None = field(default=None, compare=False)

    @property
    def is_interim(self) -> bool:
        """Whether another reply to the same request follows (1xx)."""
        return self.status < _FIRST_FINAL


def read_reply_head(head: bytes, *, is_to_head: bool, max_fields: int) -> ReplyHead:
    """Parse one complete head, with its empty line; `is_to_head`: it answers HEAD, and so has no body.

    Raises:
        ReplyError: it has no or several interpretations, or too many fields.
    """
    start, cookie, end = _around_cookie(head)
    kind = None if is_to_head else _KINDS.get((start, end))
    if kind is None or len(kind.head.fields) >= max_fields:
        read = _read(head, is_to_head=is_to_head, max_fields=max_fields)
        if not is_to_head and len(start) + len(end) <= MAX_KIND_BYTES:
            _remember(start, end, read)
        return read
    known, at = kind.head, kind.cookie_at
    if at is None:
        return known
    try:
        _, field = read_field(cookie)
    except FieldError as error:
        raise ReplyError(str(error)) from None
    fields = (*known.fields[:at], field, *known.fields[at:])
    return ReplyHead(
        known.status, known.reason, fields, known.is_json, known.keep_alive, known.length, kind=kind
    )


def read_whole_reply(data: bytes, *, max_fields: int) -> tuple[ReplyHead, bytes] | None:
    """Parse bytes that are exactly one final reply to a GET, with its body; None if they are anything else.

    Raises:
        ReplyError: as `read_reply_head`.
    """
    at = data.find(_HEAD_END) + len(_HEAD_END)
    if at < len(_HEAD_END) or data[:1] != b"H":
        return None
    head = read_reply_head(data[:at], is_to_head=False, max_fields=max_fields)
    if head.status < _FIRST_FINAL:
        return None
    body = only_chunk(data, at) if head.length is None else data[at:]
    return None if body is None or head.length not in {None, len(body)} else (head, body)


def _around_cookie(head: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the bytes before the first `Set-Cookie` line, that line, and the rest."""
    start = head.find(_COOKIE)
    if start < 0:
        return head, b"", b""
    end = head.find(b"\r\n", start + 2)
    return head[:start], head[start + 2 : end], head[end:]


_KINDS: Final[dict[tuple[bytes, bytes], HeadKind]] = {}
"""Cached kinds, by the bytes before and after the cookie."""

_COMMON: Final = REPEATED - {b"connection"}
"""Fields that a cached kind may have. `Connection` could name other fields, also the cookie, as hop-by-hop."""


def _remember(start: bytes, end: bytes, read: ReplyHead) -> None:
    """Cache the kind of a head, unless a field other than the cookie could be a secret."""
    at = start.count(b"\r\n") if end else None
    fields, names = read.fields, read.names
    if at is not None:
        fields, names = (*fields[:at], *fields[at + 1 :]), (*names[:at], *names[at + 1 :])
    if not _COMMON.issuperset(names):
        return
    if len(_KINDS) >= MAX_KINDS:
        _KINDS.clear()  # nearly all name a second that is over
    kind = _KINDS[start, end] = HeadKind(replace(read, fields=fields, names=names), at)
    kind.head.kind = kind


def _read(head: bytes, *, is_to_head: bool, max_fields: int) -> ReplyHead:
    first, *lines = head[:-4].split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise ReplyError("the status line is malformed")
    if len(lines) > max_fields:
        raise ReplyError(f"more than {max_fields} header fields")
    try:
        fields, values, names = read_fields(lines, _READ)
        length = length_of(values, UNTIL_END)
    except FieldError as error:
        raise ReplyError(str(error)) from None
    status, options = int(line[2]), options_of(values)
    keep_alive = b"close" not in options and (line[1] == b"1" or b"keep-alive" in options)
    if is_to_head or status < _FIRST_FINAL or status in _WITHOUT_BODY:
        length = 0
    reason = (line[3] or b"").decode("utf-8", "surrogateescape")
    kinds = values.get(b"content-type")
    is_json = kinds is not None and any(kind.lower().startswith(b"application/json") for kind in kinds)
    keep_alive = keep_alive and length != UNTIL_END
    return ReplyHead(status, reason, tuple(fields), is_json, keep_alive, length, tuple(names))
