"""Read the head of a request: strictly, and in time linear in its bytes.

What two readers on a request's way could take for two things is refused (RFC 9112, sections 2.2, 3, 5, 6 and 11). Taken
although the RFC does not write them: several spaces in a request line, equal `Host` fields, bytes of UTF-8 in a target.
Clients send them, and a NameNode answers them.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias
from urllib.parse import quote_from_bytes

Fields: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Names and values in their order, as they came but for the blanks around a value."""

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, section 5.6.2
_LINE: Final = re.compile(rb"(%b) +([^\x00-\x20\x7f]+)(?: +HTTP/([0-9])\.([0-9]))?" % _TOKEN)
FIELD: Final = re.compile(rb"(%b):([^\x00-\x08\x0a-\x1f\x7f]*)" % _TOKEN)
_TARGET: Final = re.compile(
    rb"/.*|[A-Za-z][A-Za-z0-9+.-]*://.*", re.DOTALL
)  # section 3.2, but for two methods
_METHODS: Final = frozenset(
    {b"CONNECT", b"DELETE", b"GET", b"HEAD", b"OPTIONS", b"PATCH", b"POST", b"PUT", b"TRACE"}
)
"""RFC 9110, section 9 and RFC 5789. What another reader has left of a request is not taken for one."""
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
"""uri-host [":" port] (RFC 9110, section 7.2); an empty one is a client's right."""
_LENGTH: Final = re.compile(rb"0*([0-9]{1,19})")
_MAX_LENGTH: Final = (1 << 63) - 1
_ASCII: Final = bytes(range(0x80))
_READ: Final = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding", b"upgrade"})


class Fault(Enum):
    """Why a head is refused."""

    MALFORMED = auto()
    LINE_TOO_LONG = auto()
    TOO_LARGE = auto()
    OTHER_VERSION = auto()


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
        fields, read = _read_fields(lines)
        length = _length_of(read, minor)
        _see_host(read, minor)
    except _MalformedError as error:
        raise HeadError(Fault.MALFORMED, str(error), method, target) from None
    options = {
        option.strip().lower() for value in read.get(b"connection", ()) for option in value.split(b",")
    }
    return Head(method, target, minor, fields, minor == 1 and b"close" not in options, length)


class _MalformedError(ValueError):
    """A field, or several together."""


def _read_line(line: bytes, max_bytes: int) -> tuple[str, str, int]:
    match = _LINE.fullmatch(line)
    if match is None:
        too_long = len(line) + len(b"\r\n") > max_bytes
        raise (
            _too_long(max_bytes) if too_long else HeadError(Fault.MALFORMED, "the request line is malformed")
        )
    method, spelled = match[1].decode("ascii"), match[2]
    if match[1] not in _METHODS:
        raise HeadError(Fault.MALFORMED, "the method is unknown")
    if not spelled.isascii():
        spelled = _encoded(spelled)
    target = spelled.decode("ascii")
    if len(line) - len(match[2]) + len(target) + len(b"\r\n") > max_bytes:
        raise _too_long(max_bytes, method, target)
    is_special = method == "CONNECT" or (method == "OPTIONS" and target == "*")
    if not (is_special or _TARGET.fullmatch(spelled)):
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


def _read_fields(lines: list[bytes]) -> tuple[Fields, dict[bytes, list[bytes]]]:
    """Return the fields that travel on, and the values of those that are read here, by their names."""
    fields: list[tuple[bytes, bytes]] = []
    read: dict[bytes, list[bytes]] = {}
    for line in lines:
        match = FIELD.fullmatch(line)
        if match is None:
            raise _MalformedError("a header field is malformed")
        name, value = match[1], match[2].strip(b" \t")
        if (key := name.lower()) in _READ:
            values = read.setdefault(key, [])
            values.append(value)
            if key == b"upgrade" or (key == b"host" and len(values) > 1 and value == values[0]):
                continue
        fields.append((name, value))
    return tuple(fields), read


def _length_of(read: dict[bytes, list[bytes]], minor: int) -> int | None:
    """Return the bytes of the body; None: it comes in chunks (section 6.3)."""
    lengths, codings = read.get(b"content-length", []), read.get(b"transfer-encoding", [])
    if codings:
        if lengths:
            raise _MalformedError("Content-Length beside Transfer-Encoding")
        if minor == 0:
            raise _MalformedError("HTTP/1.0 knows no Transfer-Encoding (RFC 9112, section 6.1)")
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            raise _MalformedError("no Transfer-Encoding but chunked is understood")
        return None
    if not lengths:
        return 0
    match = _LENGTH.fullmatch(lengths[0])
    if len(lengths) > 1 or match is None or (length := int(match[1])) > _MAX_LENGTH:
        raise _MalformedError("Content-Length is no number of bytes, or comes twice")
    return length


def _see_host(read: dict[bytes, list[bytes]], minor: int) -> None:
    hosts = read.get(b"host", [])
    if minor == 1 and not hosts:
        raise _MalformedError("no Host field")
    if len(set(hosts)) > 1:
        raise _MalformedError("several Host fields that differ")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise _MalformedError("the Host field is no host")
