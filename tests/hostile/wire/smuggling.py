"""Raw requests that two readers could interpret differently.

The published families of request smuggling (Linhart et al. 2005; Kettle 2019 "HTTP Desync Attacks", 2022
"Browser-Powered Desync", 2025 "HTTP/1.1 must die"; Jeppe Weikop 2025 "Funky chunks") and each rule by which RFC 9112,
or RFC 9110 for fields, requires a server to reject. No part of the request `SMUGGLED` may ever reach a NameNode.
"""

from dataclasses import dataclass
from typing import Final

MARK: Final = b"smuggled"
"""The marker of each target, field and body that must not become part of a forwarded request."""

SMUGGLED: Final = b"GET /webhdfs/v1/smuggled?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n\r\n"
_GET: Final = b"GET /webhdfs/v1/a?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n"
_PUT: Final = b"PUT /webhdfs/v1/a?op=SETTIMES&user.name=root HTTP/1.1\r\nHost: nn\r\n"
_CHUNKED: Final = _PUT + b"Transfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One form.

    Attributes:
        name: of the family, or of the oddity.
        section: of RFC 9112, or "9110, 5.5".
        raw: all bytes that the client sends.
        statuses: of the replies in order, the NameNode's own 200 among them; () for any.
    """

    name: str
    section: str
    raw: bytes
    statuses: tuple[int, ...] = (400,)

    @property
    def heard(self) -> int:
        """Number of requests that must reach the NameNode; -1: at most one."""
        return self.statuses.count(200) if self.statuses else -1


def _refused(section: str, forms: dict[str, bytes], *, status: int = 400) -> tuple[Row, ...]:
    return tuple(
        Row(name=name, section=section, raw=raw + SMUGGLED, statuses=(status,)) for name, raw in forms.items()
    )


def _with(field: bytes, body: bytes = b"0\r\n\r\n") -> bytes:
    return _PUT + field + b"\r\n\r\n" + body


_LENGTH: Final = b"Content-Length: 4\r\n"

BOTH_LENGTHS: Final = _refused(
    "6.1, 6.3",
    {
        "CL.TE": _PUT + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "TE.CL": _PUT + b"Transfer-Encoding: chunked\r\n" + _LENGTH + b"\r\n5c\r\n",
        "TE.CL of zero": _PUT + b"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
        "TE and CL beside a coding that is not known": _PUT + _LENGTH + b"Transfer-Encoding: x\r\n\r\nabcd",
    },
)

TE_TE: Final = _refused(
    "6.1, 7.1",
    {
        f"TE.TE: {name}": _with(field)
        for name, field in {
            "xchunked": b"Transfer-Encoding: xchunked",
            "quoted": b'Transfer-Encoding: "chunked"',
            "a parameter": b"Transfer-Encoding: chunked;q=1",
            "a list that ends in another coding": b"Transfer-Encoding: chunked, identity",
            "a list that begins with another coding": b"Transfer-Encoding: gzip, chunked",
            "chunked twice": b"Transfer-Encoding: chunked, chunked",
            "an empty element": b"Transfer-Encoding: ,chunked",
            "two fields": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "chunked, then another": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: cow",
            "another, then chunked": b"Transfer-Encoding: cow\r\nTransfer-Encoding: chunked",
            "identity": b"Transfer-Encoding: identity",
            "a vertical tab": b"Transfer-Encoding: \x0bchunked",
            "a form feed behind": b"Transfer-Encoding: chunked\x0c",
            "a NUL": b"Transfer-Encoding: chunked\x00",
            "a letter that folds to another": b"Transfer-Encoding: chun\xe2\x84\xaaed",
            "a space before the colon": b"Transfer-Encoding : chunked",
            "a tab before the colon": b"Transfer-Encoding\t: chunked",
            "a space before the name": b" Transfer-Encoding: chunked",
            "folded": b"Transfer-Encoding:\r\n chunked",
            "folded into another field": b"X: y\r\n Transfer-Encoding: chunked",
            "behind a bare LF": b"X: y\nTransfer-Encoding: chunked",
            "behind a bare CR": b"X: y\rTransfer-Encoding: chunked",
            "no colon": b"Transfer-Encoding chunked",
            "empty": b"Transfer-Encoding:",
        }.items()
    },
)

LENGTHS: Final = _refused(
    "6.3, 9110 8.6",
    {
        f"length: {name}": _PUT + field + b"\r\n\r\nabcd"
        for name, field in {
            "two that differ": b"Content-Length: 4\r\nContent-Length: 5",
            "two that agree": b"Content-Length: 4\r\nContent-Length: 4",
            "a list": b"Content-Length: 4, 4",
            "signed": b"Content-Length: +4",
            "negative": b"Content-Length: -4",
            "hexadecimal": b"Content-Length: 0x4",
            "underscore": b"Content-Length: 0_4",
            "a space within": b"Content-Length: 0 4",
            "a fraction": b"Content-Length: 4.0",
            "an exponent": b"Content-Length: 4e0",
            "empty": b"Content-Length:",
            "a letter behind": b"Content-Length: 4a",
            "other digits": b"Content-Length: \xd9\xa4",
            "65 bits": b"Content-Length: 18446744073709551620",
            "a NUL behind": b"Content-Length: 4\x00",
            "a space before the colon": b"Content-Length : 4",
            "folded": b"Content-Length:\r\n 4",
        }.items()
    },
)

CHUNKS: Final = tuple(
    Row(
        name=f"chunk: {name}",
        section="7.1",
        raw=_CHUNKED + body + SMUGGLED,
        statuses=(),  # the check is that no second request arrives
    )
    for name, body in {
        "0x": b"0x3\r\nabc\r\n0\r\n\r\n",
        "signed": b"+3\r\nabc\r\n0\r\n\r\n",
        "negative": b"-1\r\nabc\r\n0\r\n\r\n",
        "underscore": b"0_3\r\nabc\r\n0\r\n\r\n",
        "a space before": b" 3\r\nabc\r\n0\r\n\r\n",
        "empty size": b"\r\nabc\r\n0\r\n\r\n",
        "65 bits": b"10000000000000003\r\nabc\r\n0\r\n\r\n",
        "64 bits and more zeros": b"00000000000000000003\r\nabc\r\n0\r\n\r\n",
        "no hexadecimal": b"g\r\nabc\r\n0\r\n\r\n",
        "longer than its size": b"2\r\nabc\r\n0\r\n\r\n",
        "shorter than its size": b"4\r\nabc\r\n0\r\n\r\n",
        "a bare LF behind the size": b"3\nabc\r\n0\r\n\r\n",
        "a bare LF behind the data": b"3\r\nabc\n0\r\n\r\n",
        "a bare CR behind the size": b"3\rabc\r\n0\r\n\r\n",
        "TERM.EXT, a bare LF in an extension": b"3;\nxx\r\nabc\r\n0\r\n\r\n",
        "EXT.TERM, a bare CR in an extension": b"3;\rxx\r\nabc\r\n0\r\n\r\n",
        "TERM.SPILL, two bytes for a line's end": b"3\r\nabcXX0\r\n\r\n",
        "an extension with a NUL": b"3;a=\x00\r\nabc\r\n0\r\n\r\n",
        "an extension of 100 KB": b"3;" + b"a" * 100_000 + b"\r\nabc\r\n0\r\n\r\n",
        "a quoted extension that ends a line": b'3;a="\r\nabc\r\n0\r\n\r\n',
        "a bare LF for the last one": b"3\r\nabc\r\n0\n\r\n",
        "LF LF for the last one": b"3\r\nabc\r\n0\n\n",
        "no end behind the last one": b"3\r\nabc\r\n0\r\n",
    }.items()
)
"""Bodies: a NameNode reads none, so the head is forwarded; the client's connection ends nevertheless."""

TRAILERS: Final = tuple(
    Row(
        name=f"trailer: {name}",
        section="7.1.2",
        raw=_CHUNKED + b"3\r\nabc\r\n0\r\n" + trailer + _GET + b"\r\n",
        statuses=(200, 200) if is_one else (),
    )
    for name, trailer, is_one in (
        ("any", b"X-Smuggled: smuggled\r\n\r\n", True),
        ("a length", b"Content-Length: 50\r\nX: smuggled\r\n\r\n", True),
        ("a coding", b"Transfer-Encoding: chunked\r\nX: smuggled\r\n\r\n", True),
        ("a credential", b"Authorization: smuggled\r\n\r\n", True),
        ("a second line", b"X: y\r\nCookie: smuggled\r\n\r\n", True),
        ("folded", b"X: y\r\n smuggled\r\n\r\n", False),
        ("a bare LF", b"X: y\nCookie: smuggled\r\n\r\n", False),
        ("a bare CR", b"X: y\rCookie: smuggled\r\n\r\n", False),
        ("a NUL", b"X: \x00smuggled\r\n\r\n", False),
        ("a space before the colon", b"X : smuggled\r\n\r\n", False),
        ("no colon", b"smuggled\r\n\r\n", False),
        ("too many", b"X: smuggled\r\n" * 1_000 + b"\r\n", False),
    )
)
"""No trailer may become a field of the next request; after a malformed one, nothing counts as a request."""


def _taken(name: str, section: str, raw: bytes, statuses: tuple[int, ...] = (200,)) -> Row:
    return Row(name=name, section=section, raw=raw, statuses=statuses)


BODIES: Final = (
    _taken(
        "CL.0: a body of a GET",
        "9110, 9.3.1",
        _GET + b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED,
    ),
    _taken(
        "TE.0: chunks of a GET",
        "9110, 9.3.1",
        _GET + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(SMUGGLED) + SMUGGLED + b"\r\n0\r\n\r\n",
    ),
    _taken(
        "CL.0: a body of a DELETE",
        "9110, 9.3.5",
        _GET.replace(b"GET", b"DELETE", 1) + b"Content-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED,
    ),
    _taken(
        "0.CL: a length that Connection names",
        "9110, 7.6.1",
        _PUT + b"Connection: Content-Length\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED,
    ),
    _taken(
        "a length with more zeros before it than a number has digits",
        "9110, 8.6",
        _PUT + b"Content-Length: %040d\r\n\r\n" % len(SMUGGLED) + SMUGGLED,
    ),
    _taken("Host that Connection names", "9110, 7.6.1", _GET + b"Connection: Host, close\r\n\r\n"),
    _taken(
        "Expect with a body that never comes",
        "9110, 10.1.1",
        _PUT + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        (),
    ),
    _taken(
        "Expect, obfuscated",
        "9110, 10.1.1",
        _PUT + b"Expect: y 100-continue\r\nContent-Length: %d\r\n\r\n" % len(SMUGGLED) + SMUGGLED,
        (),
    ),
    _taken(
        "Upgrade to h2c",
        "9110, 7.8",
        _GET
        + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
        + SMUGGLED.replace(b"smuggled", b"next"),
        (),
    ),
    _taken(
        "Upgrade to a WebSocket",
        "9110, 7.8",
        _GET
        + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n\r\n",
        (),
    ),
    _taken("bytes behind Connection: close", "9.6", _GET + b"Connection: close\r\n\r\n" + SMUGGLED),
    _taken("bytes behind HTTP/1.0", "9.3", b"GET /webhdfs/v1/a HTTP/1.0\r\n\r\n" + SMUGGLED),
    _taken("two requests in one piece", "9.3.2", _GET + b"\r\n" + _GET + b"\r\n", (200, 200)),
    _taken("an empty line before a request", "2.2", b"\r\n" + _GET + b"\r\n"),
    _taken("absolute-form", "3.2.2", b"GET http://other/webhdfs/v1/a HTTP/1.1\r\nHost: nn\r\n\r\n"),
)
"""Valid HTTP: the bytes of a body stay a body."""

LINES: Final = (
    *_refused("3", {
        "two targets": b"GET /webhdfs/v1/a /webhdfs/v1/smuggled HTTP/1.1\r\nHost: nn\r\n\r\n",
        "no target": b"GET HTTP/1.1\r\nHost: nn\r\n\r\n",
        "a space before the method": b" " + _GET + b"\r\n",
        "a tab in the line": _GET.replace(b" /", b"\t/", 1) + b"\r\n",
        "a bare LF": _GET.replace(b"\r\n", b"\n") + b"\n",
        "a bare CR": _GET.replace(b"1.1\r\n", b"1.1\r", 1) + b"\r\n",
        "a NUL in the target": _GET.replace(b"v1/a", b"v1/\0a") + b"\r\n",
        "a control in the target": _GET.replace(b"v1/a", b"v1/\x01a") + b"\r\n",
        "HTTP/1.10": _GET.replace(b"HTTP/1.1", b"HTTP/1.10") + b"\r\n",
        "HTTP/01.1": _GET.replace(b"HTTP/1.1", b"HTTP/01.1") + b"\r\n",
        "http/1.1": _GET.replace(b"HTTP/1.1", b"http/1.1") + b"\r\n",
        "HTTP/ 1.1": _GET.replace(b"HTTP/1.1", b"HTTP/ 1.1") + b"\r\n",
        "a method that is no token": _GET.replace(b"GET", b"G@T", 1) + b"\r\n",
        "an unknown method": _GET.replace(b"GET", b"BREW", 1) + b"\r\n",
        "asterisk-form": b"GET * HTTP/1.1\r\nHost: nn\r\n\r\n",
        "a fragment of a method": b"T /webhdfs/v1/a HTTP/1.1\r\nHost: nn\r\n\r\n",
    }),
    *_refused("9110, 2.5", {
        "HTTP/3.1": _GET.replace(b"HTTP/1.1", b"HTTP/3.1") + b"\r\n",
        "HTTP/2.0": b"GET /webhdfs/v1/a HTTP/2.0\r\nHost: nn\r\n\r\n",
        "HTTP/0.9": b"GET /webhdfs/v1/a\r\n\r\n",
    }, status=505),
    *_refused("3.2.3", {"CONNECT": b"CONNECT nn:80 HTTP/1.1\r\nHost: nn\r\n\r\n"}, status=405),
)  # fmt: skip

HOSTS: Final = _refused("3.2", {
    f"Host: {name}": b"GET /webhdfs/v1/a HTTP/1.1\r\n" + fields + b"\r\n\r\n"
    for name, fields in {
        "none": b"X: y",
        "two that differ": b"Host: nn\r\nHost: other",
        "a space": b"Host: n n",
        "a list": b"Host: nn, other",
        "a path": b"Host: nn/x",
        "a user": b"Host: u@nn",
        "a port that is none": b"Host: nn:8x",
        "a control": b"Host: n\x01n",
        "folded": b"Host:\r\n nn",
        "a space before the colon": b"Host : nn",
    }.items()
})  # fmt: skip

FIELDS: Final = _refused("5, 9110 5.5", {
    f"field: {name}": _GET + field + b"\r\n\r\n"
    for name, field in {
        "a NUL": b"X: a\x00b",
        "a bare CR": b"X: a\rb",
        "a bare LF": b"X: a\nY: b",
        "a control": b"X: a\x01b",
        "DEL": b"X: a\x7fb",
        "no name": b": a",
        "no colon": b"smuggled",
        "a name with a space": b"X Y: a",
        "a name with a letter beyond ASCII": b"X\xc3\xa9: a",
        "a name with a NUL": b"X\x00: a",
        "obs-fold": b"X: a\r\n b",
        "obs-fold with a tab": b"X: a\r\n\tb",
        "a space first": b" X: a",
        "a name in parentheses": b"(X): a",
    }.items()
})  # fmt: skip

ROWS: Final = (*BOTH_LENGTHS, *TE_TE, *LENGTHS, *CHUNKS, *TRAILERS, *BODIES, *LINES, *HOSTS, *FIELDS)
"""All of them; their names differ."""
