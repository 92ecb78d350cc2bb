"""What a request's head must be before anybody reads sense into it.

aiohttp's C parser refuses what is not HTTP, conflicting lengths and most smuggling. It accepts the rest of
this list (seen with aiohttp 3.14.5), and two readers could make two things of some of it.
"""

import re
from typing import Final
from urllib.parse import quote_from_bytes

from aiohttp import HttpVersion10, HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong

from nncache.proxy.errors import (
    ClientError,
    HeadTooLargeError,
    MalformedRequestError,
    MethodNotAllowedError,
    TargetTooLongError,
    VersionNotSupportedError,
)
from nncache.proxy.limits import LimitSettings

_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
"""uri-host [":" port] (RFC 9110, section 7.2); an empty one is a client's right."""

_HOST_LINE: Final = re.compile(rb"\r\nhost:([^\r\n]*)", re.IGNORECASE)
_UPGRADE_LINE: Final = re.compile(rb"\r\nupgrade:[\t\x20-\x7e\x80-\xff]*(?=\r\n(?![ \t]))", re.IGNORECASE)
_TOO_MANY_FIELDS: Final = "Too many headers received"  # aiohttp's parser's own word for it

_MAX_READ_BYTES: Final = 256 * 1024  # that an event loop hands over in one piece, asyncio and uvloop alike
_ASCII: Final = bytes(range(0x80))
_LINE_EXTRA_BYTES: Final = 12  # of a request line beside method and target: two spaces, HTTP/1.1, CRLF
_FIELD_EXTRA_BYTES: Final = 4  # ": " and CRLF


def vet(request: web.BaseRequest, limits: LimitSettings) -> None:
    """Refuse a request whose head is too large, or no clean HTTP/1.0 or 1.1.

    Raises:
        ClientError: what is wrong with it.
    """
    if request.version not in {HttpVersion10, HttpVersion11}:
        raise VersionNotSupportedError("this server speaks HTTP/1.1 and HTTP/1.0")
    if request.method == "CONNECT":
        raise MethodNotAllowedError("this is no proxy for CONNECT")
    _vet_size(request, limits)
    for name, value in request.raw_headers:
        match name.lower():
            case b"host" if not _HOST.fullmatch(value):
                raise MalformedRequestError("the Host field is no host")
            case b"transfer-encoding" if request.version == HttpVersion10:
                raise MalformedRequestError("HTTP/1.0 knows no Transfer-Encoding (RFC 9112, section 6.1)")
            case b"transfer-encoding" if value.strip().lower() != b"chunked":
                # The parser takes off the chunks alone; the rest would travel on under another name.
                raise MalformedRequestError("no Transfer-Encoding but chunked is understood")
            case _:
                pass


def _vet_size(request: web.BaseRequest, limits: LimitSettings) -> None:
    fields = request.raw_headers
    if len(fields) > limits.max_header_fields:
        raise HeadTooLargeError(f"more than {limits.max_header_fields} header fields")
    target = len(request.raw_path) if request.raw_path.isascii() else len(_bytes_of(request.raw_path))
    line = len(request.method) + target + _LINE_EXTRA_BYTES
    if line > limits.max_head_bytes:
        raise TargetTooLongError(f"the request line has more than {limits.max_head_bytes} bytes")
    size = line + sum(len(name) + len(value) + _FIELD_EXTRA_BYTES for name, value in fields)
    if size > limits.max_head_bytes:
        raise HeadTooLargeError(f"the head has more than {limits.max_head_bytes} bytes")


def _bytes_of(target: str) -> bytes:
    return target.encode("utf-8", "surrogateescape")


def for_the_parser(head: bytes) -> bytes:
    """Return a whole head as aiohttp's parser may see it, where that is stricter than a NameNode."""
    return ascii_request_line(one_host(without_upgrade(head)))


def without_upgrade(head: bytes) -> bytes:
    """Leave out any `Upgrade`: like a NameNode, this server speaks no other protocol (RFC 9110, section 7.8).

    aiohttp's parser would stop at the end of such a request. A field that goes on in another line stays, and the parser
    refuses it.
    """
    return _UPGRADE_LINE.sub(b"", head)


def ascii_request_line(data: bytes) -> bytes:
    """Percent-encode the bytes above 0x7F of the request line with which `data` begins.

    curl sends a target as it is typed, and a NameNode takes raw bytes for UTF-8 as it does percent-encoded
    ones; aiohttp's parser takes none. This is the one case in which a target does not travel byte for byte.
    What is no UTF-8 stays, and the parser refuses it, as a NameNode does.
    """
    if data.isascii():
        return data
    line, newline, rest = data.partition(b"\n")
    if line.isascii() or not _is_utf8(line):
        return data
    return quote_from_bytes(line, safe=_ASCII).encode() + newline + rest


def one_host(head: bytes) -> bytes:
    """Leave one of several equal Host fields: a NameNode answers such a request, aiohttp's parser does not.

    Different ones stay, and the parser refuses them (RFC 9112, section 3.2).
    """
    if head.lower().count(b"\r\nhost:") <= 1:
        return head
    first, *others = _HOST_LINE.finditer(head)
    if any(other[1].strip(b" \t") != first[1].strip(b" \t") for other in others):
        return head
    return head[: first.end()] + _HOST_LINE.sub(b"", head[first.end() :])


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def max_line_bytes(limits: LimitSettings) -> int:
    """Return what aiohttp's parser may take for a request line: more than fits in before our own count.

    The parser's refusal closes at once, and the reset would take the reply along; ours lingers.
    """
    return limits.max_head_bytes + _MAX_READ_BYTES


def max_field_bytes(limits: LimitSettings) -> int:
    """Return what aiohttp's parser may take for a field: another number than for a line.

    The number is all that tells the two apart in its exception.
    """
    return max_line_bytes(limits) + 1


def refusal_of(exc: BaseException, limits: LimitSettings) -> ClientError:
    """Say which of our errors a failure of aiohttp's parser is."""
    if isinstance(exc, LineTooLong):
        if max_line_bytes(limits) in exc.args:
            return TargetTooLongError(f"the request line has more than {limits.max_head_bytes} bytes")
        return HeadTooLargeError(f"a header field has more than {limits.max_head_bytes} bytes")
    if isinstance(exc, ClientError):
        return exc
    message = exc.message if isinstance(exc, HttpProcessingError) else str(exc)
    if message == _TOO_MANY_FIELDS:
        return HeadTooLargeError(f"more than {limits.max_header_fields} header fields")
    return MalformedRequestError(message.partition(":")[0].strip() or "no HTTP")
