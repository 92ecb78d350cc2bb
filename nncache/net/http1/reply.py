"""Read the head of a reply: strictly, since what a server might have meant is not for a gateway to guess. Pure."""

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
    """What came is no reply that can be read for certain."""


MAX_KINDS: Final = 64
"""Kinds of head that are remembered: a NameNode's differ in their second, and in the cookie, which is left out."""

MAX_KIND_BYTES: Final = 2_048


class HeadKind:
    """What heads have in common that differ in one cookie at most.

    Attributes:
        head: one without the cookie.
        cookie_at: where in the fields the cookie stands; None: such heads have no cookie.
        derived: what a reader of such heads has found out about all of them.
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
        reason: the phrase; bytes that are not UTF-8 are lone surrogates.
        fields: as they came, but for the blanks around a value.
        names: of the fields, in small letters, one by one, unless its kind is known.
        is_json: it says that its body is JSON.
        keep_alive: whether the connection may go on behind it (RFC 9112, section 9.3).
        length: bytes of its body, UNTIL_END among them; None: it comes in chunks.
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
        """Whether another reply to the same request follows."""
        return self.status < _FIRST_FINAL


def read_reply_head(head: bytes, *, is_to_head: bool, max_fields: int) -> ReplyHead:
    """Read one whole head, with its empty line; `is_to_head`: it answers HEAD, and so has no body.

    Raises:
        ReplyError: it cannot be read for certain, or has more fields.
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
    """Read what is a final reply to a GET, its whole body and nothing else; None if it is more, less or another thing.

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
    """Return what stands before the first line of a cookie, that line, and the rest."""
    start = head.find(_COOKIE)
    if start < 0:
        return head, b"", b""
    end = head.find(b"\r\n", start + 2)
    return head[:start], head[start + 2 : end], head[end:]


_KINDS: Final[dict[tuple[bytes, bytes], HeadKind]] = {}
"""By what stands before and behind the cookie."""

_COMMON: Final = REPEATED - {b"connection"}
"""Fields of a kind. `Connection` may say that other fields, the cookie too, are not to be passed on."""


def _remember(start: bytes, end: bytes, read: ReplyHead) -> None:
    """Keep the kind of a head, unless another field than the cookie could be a secret."""
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
