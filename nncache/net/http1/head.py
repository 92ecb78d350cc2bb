"""Read the head of a request, and the fields of any head: strictly, and in time linear in its bytes.

A head that two readers could interpret differently is refused (RFC 9112, sections 2.2, 3, 5, 6 and 11). Four forms are
accepted that the RFC does not allow, because clients send them and a NameNode answers them: several spaces in a request
line, equal `Host` fields, the zone of an IPv6 address in one, and UTF-8 in a target.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias
from urllib.parse import quote_from_bytes

Field: TypeAlias = tuple[bytes, bytes]
Fields: TypeAlias = tuple[Field, ...]
"""Names and values in order, as received except for whitespace around a value."""

TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, section 5.6.2
_FIELD: Final = re.compile(rb"(%b):([^\x00-\x08\x0a-\x1f\x7f]*)" % TOKEN)
_MAX_DIGITS: Final = 18  # of a length: below 2**63, which some readers take for a negative number
_LINE: Final = re.compile(rb"(%b) +([^\x00-\x20\x7f]+)(?: +HTTP/([0-9])\.([0-9]))?" % TOKEN)
_URI: Final = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
"""The beginning of a target in absolute form (section 3.2); OPTIONS has "*" as well."""
_METHODS: Final = {
    name.encode("ascii"): name
    for name in ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
}
"""RFC 9110, section 9, and RFC 5789. Bytes that another reader has left over are not taken for a request."""
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+(?:%[\w.~%-]+)?\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
"""uri-host [":" port] (RFC 9110, section 7.2); a client may send an empty one. Python's, Node's and Ruby's clients send
the zone of a link-local address with it, unencoded."""
HARMLESS_FIELDS: Final = frozenset(
    {
        b"accept",
        b"accept-charset",
        b"accept-encoding",
        b"accept-language",
        b"cache-control",
        b"connection",
        b"content-length",
        b"content-type",
        b"host",
        b"http2-settings",
        b"keep-alive",
        b"pragma",
        b"upgrade",
        b"user-agent",
    }
)
"""Request fields without credentials that most clients repeat in each request."""

MAX_BLOCKS: Final = 256
"""Maximum of blocks of these fields that are cached: one for each kind of client."""

MAX_BLOCK_BYTES: Final = 2_048

REPEATED: Final = HARMLESS_FIELDS | {
    b"date",
    b"expires",
    b"transfer-encoding",
    b"x-content-type-options",
    b"x-frame-options",
    b"x-xss-protection",
}
"""Fields without secrets that have the same value in successive heads."""

MAX_LINES: Final = 256
"""Maximum of lines of these fields that are cached."""

_MAX_LINE_BYTES: Final = 64  # of one of them
_LINES: Final[dict[bytes, tuple[bytes, Field]]] = {}
"""The name in lower case and the field, by its line."""

_ASCII: Final = bytes(range(0x80))
_READ: Final = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding", b"upgrade"})
_HEAD_END: Final = b"\r\n\r\n"
_EMPTY: Final = frozenset({b"\r", b"\n"})


class Fault(Enum):
    """The reason why a head is refused."""

    MALFORMED = auto()
    LINE_TOO_LONG = auto()
    TOO_LARGE = auto()
    OTHER_VERSION = auto()
    CONNECT = auto()


class HeadError(ValueError):
    """The head is refused.

    Attributes:
        fault: the reason.
        method: the request's method; "" if the request line cannot be read.
        target: the request's target; likewise.
    """

    def __init__(self, fault: Fault, text: str, method: str = "", target: str = "") -> None:
        super().__init__(text)
        self.fault = fault
        self.method = method
        self.target = target


@dataclass(slots=True, eq=False)
class FieldBlock:
    """The parsed fields of a request.

    Attributes:
        fields: see `Head`.
        names: the names of all fields received, in lower case.
        count: number of fields received.
        closes: whether `Connection` has the option `close`.
        keeps: whether `Connection` has the option `keep-alive`.
        length: see `Head`.
        is_used: whether it was found again since it was added, or since a full cache reset the flags.
    """

    fields: Fields
    names: frozenset[bytes]
    count: int
    closes: bool
    keeps: bool
    length: int | None
    is_used: bool = False


@dataclass(slots=True)
class Head:
    """The head of one request.

    Attributes:
        target: printable ASCII: other bytes are percent-encoded, and everything else is as received.
        minor: minor version: HTTP/1.0 or HTTP/1.1.
        fields: without `Upgrade`: like a NameNode, nncache supports no other protocol (RFC 9110, section 7.8).
        keep_alive: whether the connection persists after the request (RFC 9112, section 9.3).
        length: length of the body in bytes; None: chunked.
        names: the names of all fields received, in lower case.
    """

    method: str
    target: str
    minor: int
    fields: Fields
    keep_alive: bool
    length: int | None
    names: frozenset[bytes] = field(default=frozenset(), compare=False)


def is_known_block(text: bytes) -> bool:
    """Whether these bytes, from the end of a request line to the end of the head, are a cached block."""
    return text in _KNOWN


def read_head(head: bytes, *, max_bytes: int, max_fields: int) -> Head:
    """Parse one complete head, with its empty line.

    Args:
        head: the bytes; they end with the empty line.
        max_bytes: limit of the request line, and of the whole head.
        max_fields: maximum number of fields.

    Raises:
        HeadError: the head is refused.
    """
    line, _, text = head.partition(b"\r\n")
    method, target, minor = _read_line(line, max_bytes)
    block = _KNOWN.get(text)
    count = text.count(b"\r\n") - 1 if block is None else block.count
    if count > max_fields:
        raise HeadError(Fault.TOO_LARGE, f"more than {max_fields} header fields", method, target)
    if len(head) - len(b"\r\n") > max_bytes:
        raise HeadError(Fault.TOO_LARGE, f"the head has more than {max_bytes} bytes", method, target)
    try:
        if block is None:
            block = _read_block(text)
        else:
            block.is_used = True
        _check_version(block, minor)
    except FieldError as error:
        raise HeadError(Fault.MALFORMED, str(error), method, target) from None
    keep_alive = (minor == 1 or block.keeps) and not block.closes
    return Head(method, target, minor, block.fields, keep_alive, block.length, block.names)


def _read_block(text: bytes) -> FieldBlock:
    """Parse the fields of a request and the empty line after them; a block without secrets is cached."""
    lines = text[:-4].split(b"\r\n") if len(text) > len(b"\r\n") else []
    fields, values, names = read_fields(lines, _READ)
    length = length_of(values, 0)
    _check_host(values)
    if b"upgrade" in values or len(values.get(b"host", ())) > 1:
        fields = _kept(fields)
    options = options_of(values)
    closes, keeps = b"close" in options, b"keep-alive" in options
    block = FieldBlock(tuple(fields), frozenset(names), len(lines), closes, keeps, length)
    if len(text) <= MAX_BLOCK_BYTES and block.names <= HARMLESS_FIELDS:
        _remember(text, block)
    return block


_KNOWN: Final[dict[bytes, FieldBlock]] = {}
"""Cached blocks by their bytes, in the order in which they were added."""


def _remember(text: bytes, block: FieldBlock) -> None:
    """Cache a block. A full cache evicts the newest block that was not found again.

    So heads that differ each time evict each other, and no block that is in use.
    """
    if len(_KNOWN) >= MAX_BLOCKS:
        newest = next((key for key in reversed(_KNOWN) if not _KNOWN[key].is_used), None)
        if newest is None:
            newest = next(reversed(_KNOWN))
            for each in _KNOWN.values():
                each.is_used = False
        del _KNOWN[newest]
    _KNOWN[text] = block


def _read_line(line: bytes, max_bytes: int) -> tuple[str, str, int]:
    match = _LINE.fullmatch(line)
    if match is None:
        too_long = len(line) + len(b"\r\n") > max_bytes
        raise (
            _too_long(max_bytes) if too_long else HeadError(Fault.MALFORMED, "the request line is malformed")
        )
    token, came, major, minor = match.groups()
    method = _METHODS.get(token)
    if method is None:
        raise HeadError(Fault.MALFORMED, "the method is unknown")
    spelled = came if came.isascii() else _encoded(came)
    target = spelled.decode("ascii")
    if len(line) - len(came) + len(spelled) + len(b"\r\n") > max_bytes:
        raise _too_long(max_bytes, method, target)
    if method == "CONNECT":
        raise HeadError(Fault.CONNECT, "this is no proxy for CONNECT", method, target)
    if spelled[:1] != b"/" and not (_URI.match(spelled) or (method == "OPTIONS" and target == "*")):
        raise HeadError(Fault.MALFORMED, "the target is neither a path nor a URI", method, target)
    if major != b"1" or minor not in {b"0", b"1"}:
        text = "this server speaks HTTP/1.1 and HTTP/1.0"
        raise HeadError(Fault.OTHER_VERSION, text, method, target)
    return method, target, int(minor)


def _too_long(max_bytes: int, method: str = "", target: str = "") -> HeadError:
    return HeadError(Fault.LINE_TOO_LONG, f"the request line has more than {max_bytes} bytes", method, target)


def _encoded(target: bytes) -> bytes:
    """Percent-encode the bytes beyond ASCII: curl sends a target as typed."""
    try:
        target.decode()
    except UnicodeDecodeError:
        raise HeadError(Fault.MALFORMED, "the target is not UTF-8") from None
    return quote_from_bytes(target, safe=_ASCII).encode("ascii")


def _kept(fields: list[Field]) -> list[Field]:
    """Return the fields without `Upgrade`, and without a `Host` that repeats another."""
    kept: list[Field] = []
    has_host = False
    for each in fields:
        name = each[0].lower()
        if name != b"upgrade" and not (name == b"host" and has_host):
            kept.append(each)
        has_host = has_host or name == b"host"
    return kept


def _check_version(block: FieldBlock, minor: int) -> None:
    if minor == 0 and b"transfer-encoding" in block.names:
        raise FieldError("HTTP/1.0 knows no Transfer-Encoding (RFC 9112, section 6.1)")
    if minor == 1 and b"host" not in block.names:
        raise FieldError("no Host field")


def _check_host(values: dict[bytes, list[bytes]]) -> None:
    hosts = set(values.get(b"host", ()))
    if len(hosts) > 1:
        raise FieldError("several Host fields that differ")
    if not all(map(_HOST.fullmatch, hosts)):
        raise FieldError("the Host field is no host")


# ---- fields, of requests and replies ------------------------------------------------------------------------


class FieldError(ValueError):
    """A field is malformed, or several contradict each other."""


def read_fields(
    lines: Iterable[bytes], names: frozenset[bytes]
) -> tuple[list[Field], dict[bytes, list[bytes]], list[bytes]]:
    """Parse the field lines of a head.

    Returns:
        All fields; the values of the fields with the given names; all names. Names are in lower case.

    Raises:
        FieldError: a line is not a field, or is folded.
    """
    found = [_LINES.get(line) or read_field(line) for line in lines]
    values: dict[bytes, list[bytes]] = {}
    for key, each in found:
        if key in names:
            values.setdefault(key, []).append(each[1])
    return [each for _, each in found], values, [key for key, _ in found]


def read_field(line: bytes) -> tuple[bytes, Field]:
    """Parse one field line: the name in lower case, and the field.

    Raises:
        FieldError: the line is not a field.
    """
    match = _FIELD.fullmatch(line)
    if match is None:
        raise FieldError("a header field is malformed")
    name, value = match[1], match[2].strip(b" \t")
    read = name.lower(), (name, value)
    if len(line) <= _MAX_LINE_BYTES and read[0] in REPEATED:
        if len(_LINES) >= MAX_LINES:
            _LINES.clear()  # nearly all name a second that is over
        _LINES[line] = read
    return read


def options_of(values: Mapping[bytes, list[bytes]]) -> set[bytes]:
    """Return the options of `Connection`, in lower case."""
    return {option.strip().lower() for value in values.get(b"connection", ()) for option in value.split(b",")}


def length_of(values: Mapping[bytes, list[bytes]], without: int) -> int | None:
    """Return the length of a body in bytes; None: chunked; `without`: if no field defines it.

    Raises:
        FieldError: two readers could find two different ends (RFC 9112, section 6.3).
    """
    lengths, codings = values.get(b"content-length", []), values.get(b"transfer-encoding", [])
    if codings:
        if lengths:
            raise FieldError("Content-Length beside Transfer-Encoding")
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            raise FieldError("no Transfer-Encoding but chunked is understood")
        return None
    if not lengths:
        return without
    digits = lengths[0].lstrip(b"0") or b"0"
    if len(lengths) > 1 or not lengths[0].isdigit() or len(digits) > _MAX_DIGITS:
        raise FieldError("Content-Length is no number of bytes, or comes twice")
    return int(digits)


class HeadBuffer(bytearray):
    """The received bytes that no head has consumed.

    Invariants:
        B1  No head ends before `_searched`. These bytes are not searched again: each byte is examined once.
    """

    _searched = 0  # up to where no head ends
    _has_bare_lf = False  # in a head that is not complete

    def add(self, data: bytes) -> None:
        """Append received bytes."""
        self.extend(data)

    def take_head(self) -> bytes | None:
        """Remove and return the next complete head, with its empty line; None if it is incomplete.

        Empty lines before it are dropped, as RFC 9112, section 2.2, recommends.
        """
        if not self._searched and bytes(self[:1]) in _EMPTY:
            del self[: len(self) - len(self.lstrip(b"\r\n"))]
        end = self.find(_HEAD_END, max(0, self._searched - len(_HEAD_END) + 1))
        if end < 0:
            new = self[max(0, self._searched - 1) :]
            self._has_bare_lf = self._has_bare_lf or new.count(b"\n", 1) != new.count(b"\r\n")
            self._searched = len(self)
            return None
        head = bytes(self[: end + len(_HEAD_END)])
        del self[: end + len(_HEAD_END)]
        self._searched = 0
        self._has_bare_lf = False
        return head

    def take(self, size: int = sys.maxsize) -> bytes:
        """Remove and return at most this many buffered bytes."""
        data = bytes(self[:size])
        del self[:size]
        self._searched = 0
        self._has_bare_lf = False
        return data

    @property
    def is_hopeless(self) -> bool:
        """Whether the incomplete head cannot become a valid one: it has a bare LF, or is not text."""
        return self._has_bare_lf or (len(self) > 0 and not self[:1].isalpha())

    @property
    def has_request_line(self) -> bool:
        """Whether the request line of the incomplete head is complete."""
        return self.find(b"\n") >= 0


def is_one_head(data: bytes) -> bool:
    """Whether these bytes are exactly one head, which an empty buffer would return unchanged."""
    return data.find(_HEAD_END) == len(data) - len(_HEAD_END) >= 0 and data[:1] not in _EMPTY
