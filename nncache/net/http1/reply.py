"""Read the head of a reply: strictly, since what a server might have meant is not for a gateway to guess. Pure."""

import re
import sys
from dataclasses import dataclass, field
from typing import Final

from nncache.net.http1.head import FieldError, Fields, length_of, options_of, read_fields

UNTIL_END: Final = sys.maxsize
"""The length of a body that ends with its connection (RFC 9112, section 6.3)."""

_LINE: Final = re.compile(rb"HTTP/1\.([01]) ([0-9]{3})(?: ([^\x00-\x08\x0a-\x1f\x7f]*))?")
_READ: Final = frozenset({b"connection", b"content-length", b"content-type", b"transfer-encoding"})
_FIRST_FINAL: Final = 200
_WITHOUT_BODY: Final = frozenset({204, 304})


class ReplyError(ValueError):
    """What came is no reply that can be read for certain."""


@dataclass(frozen=True, slots=True)
class ReplyHead:
    """The head of one reply.

    Attributes:
        reason: the phrase; bytes that are not UTF-8 are lone surrogates.
        fields: as they came, but for the blanks around a value.
        names: of the fields, in small letters, one by one.
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

    @property
    def is_interim(self) -> bool:
        """Whether another reply to the same request follows."""
        return self.status < _FIRST_FINAL


def read_reply_head(head: bytes, *, is_to_head: bool, max_fields: int) -> ReplyHead:
    """Read one whole head, with its empty line; `is_to_head`: it answers HEAD, and so has no body.

    Raises:
        ReplyError: it cannot be read for certain, or has more fields.
    """
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
