"""Read the head of a request, and the fields of any head: strictly, and in time linear in its bytes.

What two readers on a request's way could take for two things is refused (RFC 9112, sections 2.2, 3, 5, 6 and 11). Taken
although the RFC does not write them: several spaces in a request line, equal `Host` fields, bytes of UTF-8 in a target.
Clients send them, and a NameNode answers them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias
from urllib.parse import quote_from_bytes

Field: TypeAlias = tuple[bytes, bytes]
Fields: TypeAlias = tuple[Field, ...]
"""Names and values in their order, as they came but for the blanks around a value."""

TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, section 5.6.2
_FIELD: Final = re.compile(rb"(%b):([^\x00-\x08\x0a-\x1f\x7f]*)" % TOKEN)
_MAX_DIGITS: Final = 18  # of a length: below 2**63, which some readers take for a negative number
_LINE: Final = re.compile(rb"(%b) +([^\x00-\x20\x7f]+)(?: +HTTP/([0-9])\.([0-9]))?" % TOKEN)
_TARGET: Final = re.compile(rb"/.*|[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL)
"""A path or a URI (section 3.2); OPTIONS has "*" as well."""
_METHODS: Final = frozenset({b"DELETE", b"GET", b"HEAD", b"OPTIONS", b"PATCH", b"POST", b"PUT", b"TRACE"})
"""RFC 9110, section 9 and RFC 5789. What another reader has left of a request is not taken for one."""
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
"""uri-host [":" port] (RFC 9110, section 7.2); an empty one is a client's right."""
_ASCII: Final = bytes(range(0x80))
_READ: Final = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding", b"upgrade"})


class Fault(Enum):
    """Why a head is refused."""

    MALFORMED = auto()
    LINE_TOO_LONG = auto()
    TOO_LARGE = auto()
    OTHER_VERSION = auto()
    CONNECT = auto()


class HeadError(ValueError):
    """The head is refused.

    Attributes:
        fault: why.
        method: of the request; "" if its line is not readable.
        target: likewise.
    """

    def __init__(self, fault: Fault, text: str, method: str = "", target: str = "") -> None:
        super().__init__(text)
        self.fault = fault
        self.method = method
        self.target = target


@dataclass(frozen=True, slots=True)
class Head:
    """The head of one request.

    Attributes:
        target: printable ASCII: bytes beyond it are percent-encoded, and everything else stays as it came.
        minor: of the version, HTTP/1.0 or HTTP/1.1.
        fields: without `Upgrade`: like a NameNode, no reader here speaks another protocol (RFC 9110, section 7.8).
        keep_alive: whether the connection may go on behind the request (RFC 9112, section 9.3; never with HTTP/1.0).
        length: bytes of the body; None: it comes in chunks.
    """

    method: str
    target: str
    minor: int
    fields: Fields
    keep_alive: bool
    length: int | None


def read_head(head: bytes, *, max_bytes: int, max_fields: int) -> Head:
    """Read one whole head, with its empty line.

    Args:
        head: the bytes; nothing stands behind the empty line.
        max_bytes: of the request line, and of the whole.
        max_fields: how many fields there may be.

    Raises:
        HeadError: it is refused.
    """
    line, *lines = head[:-4].split(b"\r\n")
    method, target, minor = _read_line(line, max_bytes)
    if len(lines) > max_fields:
        raise HeadError(Fault.TOO_LARGE, f"more than {max_fields} header fields", method, target)
    if len(head) - len(b"\r\n") > max_bytes:
        raise HeadError(Fault.TOO_LARGE, f"the head has more than {max_bytes} bytes", method, target)
    try:
        fields, values = read_fields(lines, _READ)
        length = length_of(values, 0)
        _see_version(values, minor)
        _see_host(values)
    except FieldError as error:
        raise HeadError(Fault.MALFORMED, str(error), method, target) from None
    if b"upgrade" in values or len(values.get(b"host", ())) > 1:
        fields = _kept(fields)
    keep_alive = minor == 1 and b"close" not in options_of(values)
    return Head(method, target, minor, tuple(fields), keep_alive, length)


def _read_line(line: bytes, max_bytes: int) -> tuple[str, str, int]:
    match = _LINE.fullmatch(line)
    if match is None:
        too_long = len(line) + len(b"\r\n") > max_bytes
        raise (
            _too_long(max_bytes) if too_long else HeadError(Fault.MALFORMED, "the request line is malformed")
        )
    method, spelled = match[1].decode("ascii"), match[2]
    if match[1] not in _METHODS and method != "CONNECT":
        raise HeadError(Fault.MALFORMED, "the method is unknown")
    if not spelled.isascii():
        spelled = _encoded(spelled)
    target = spelled.decode("ascii")
    if len(line) - len(match[2]) + len(target) + len(b"\r\n") > max_bytes:
        raise _too_long(max_bytes, method, target)
    if method == "CONNECT":
        raise HeadError(Fault.CONNECT, "this is no proxy for CONNECT", method, target)
    if not (_TARGET.fullmatch(spelled) or (method == "OPTIONS" and target == "*")):
        raise HeadError(Fault.MALFORMED, "the target is neither a path nor a URI", method, target)
    if match[3] != b"1" or match[4] not in {b"0", b"1"}:
        text = "this server speaks HTTP/1.1 and HTTP/1.0"
        raise HeadError(Fault.OTHER_VERSION, text, method, target)
    return method, target, int(match[4])


def _too_long(max_bytes: int, method: str = "", target: str = "") -> HeadError:
    return HeadError(Fault.LINE_TOO_LONG, f"the request line has more than {max_bytes} bytes", method, target)


def _encoded(target: bytes) -> bytes:
    """Percent-encode the bytes beyond ASCII: curl sends a target as it is typed."""
    try:
        target.decode()
    except UnicodeDecodeError:
        raise HeadError(Fault.MALFORMED, "the target is not UTF-8") from None
    return quote_from_bytes(target, safe=_ASCII).encode("ascii")


def _kept(fields: list[Field]) -> list[Field]:
    """Leave out `Upgrade`, and a `Host` that only repeats another."""
    kept: list[Field] = []
    has_host = False
    for field in fields:
        name = field[0].lower()
        if name != b"upgrade" and not (name == b"host" and has_host):
            kept.append(field)
        has_host = has_host or name == b"host"
    return kept


def _see_version(values: dict[bytes, list[bytes]], minor: int) -> None:
    if minor == 0 and b"transfer-encoding" in values:
        raise FieldError("HTTP/1.0 knows no Transfer-Encoding (RFC 9112, section 6.1)")
    if minor == 1 and b"host" not in values:
        raise FieldError("no Host field")


def _see_host(values: dict[bytes, list[bytes]]) -> None:
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
) -> tuple[list[Field], dict[bytes, list[bytes]]]:
    """Read the lines of a head; return all fields, and the values of those with these names in small letters.

    Raises:
        FieldError: a line is no field, or goes on in the next one.
    """
    fields: list[Field] = []
    values: dict[bytes, list[bytes]] = {}
    for line in lines:
        match = _FIELD.fullmatch(line)
        if match is None:
            raise FieldError("a header field is malformed")
        name, value = match[1], match[2].strip(b" \t")
        fields.append((name, value))
        if (key := name.lower()) in names:
            values.setdefault(key, []).append(value)
    return fields, values


def options_of(values: Mapping[bytes, list[bytes]]) -> set[bytes]:
    """Return the options of `Connection`, in small letters."""
    return {option.strip().lower() for value in values.get(b"connection", ()) for option in value.split(b",")}


def length_of(values: Mapping[bytes, list[bytes]], without: int) -> int | None:
    """Return the bytes of a body; None: it comes in chunks; `without`: what holds if no field says it.

    Raises:
        FieldError: two readers could find two ends of it (RFC 9112, section 6.3).
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
