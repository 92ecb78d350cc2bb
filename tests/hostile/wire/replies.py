"""Replies that a NameNode must not give.

They answer a GETFILESTATUS of `/w/f`, which is cacheable. Each is passed through unchanged or becomes an error of a
defined kind, and only a status that is valid in every part is cached.
"""

from dataclasses import dataclass
from typing import Final

from nncache.hadoop.filestatus import render_missing
from tests.proxy.doubles import FILE

PATH: Final = "/w/f"


@dataclass(frozen=True, slots=True, kw_only=True)
class BadReply:
    """One reply.

    Attributes:
        raw: the pieces that the NameNode sends, a moment apart; then it closes the connection.
        statuses: the statuses that the client may get.
        stays_open: the NameNode leaves the connection open.
    """

    name: str
    raw: tuple[bytes, ...]
    statuses: tuple[int, ...]
    stays_open: bool = False


def reply(body: bytes, *fields: bytes, line: bytes = b"HTTP/1.1 200 OK", length: int | None = None) -> bytes:
    """Return a reply."""
    size = b"Content-Length: %d" % (len(body) if length is None else length)
    return b"\r\n".join((line, b"Content-Type: application/json", size, *fields, b"", body))


_HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKED: Final = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_BAD_GATEWAY: Final = (502, 503, 504)

TRUNCATED: Final = tuple(
    BadReply(name=f"truncated: {name}", raw=(raw,), statuses=_BAD_GATEWAY)
    for name, raw in {
        "nothing": b"",
        "within the line": b"HTTP/1.1 2",
        "within a field": b"HTTP/1.1 200 OK\r\nContent-Le",
        "before the empty line": _HEAD,
        "before the body": reply(b"", length=10),
        "within the body": reply(FILE[:-20], length=len(FILE)),
        "within a chunk": _CHUNKED + b"ff\r\n" + FILE[:20],
        "before the last chunk": _CHUNKED + b"%x\r\n%b\r\n" % (len(FILE), FILE),
    }.items()
)

MALFORMED: Final = tuple(
    BadReply(name=f"malformed: {name}", raw=(raw,), statuses=_BAD_GATEWAY)
    for name, raw in {
        "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
        "TLS": b"\x15\x03\x01\x00\x02\x02\x0a",
        "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        "no status": b"HTTP/1.1 OK\r\n\r\n",
        "a status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        "a bad chunk size": _CHUNKED + b"zz\r\n" + FILE,
        "a chunk longer than its size": _CHUNKED + b"2\r\n%b\r\n0\r\n\r\n" % FILE,
        "length and chunks": _HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two lengths": _HEAD + b"Content-Length: 3\r\nContent-Length: 5\r\n\r\nabcde",
        "a negative length": _HEAD + b"Content-Length: -1\r\n\r\n" + FILE,
        "a length of 80 bits": _HEAD + b"Content-Length: 999999999999999999999999\r\n\r\n" + FILE,
        "a NUL in a field": _HEAD + b"X: \0\r\nContent-Length: 2\r\n\r\n{}",
        "other protocol": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    }.items()
)

CONTRADICTORY: Final = tuple(
    BadReply(name=f"contradictory: {name}", raw=(raw,), statuses=statuses)
    for name, (raw, statuses) in {
        "a 404 of another path": (reply(render_missing("/w/other"), line=b"HTTP/1.1 404 Not Found"), (404,)),
        "a status behind 404": (reply(FILE, line=b"HTTP/1.1 404 Not Found"), (404,)),
        "a missing file behind 200": (reply(render_missing(PATH)), (200,)),
        "a status behind 201": (reply(FILE, line=b"HTTP/1.1 201 Created"), (201,)),
        "a status behind 206": (reply(FILE, line=b"HTTP/1.1 206 Partial Content"), (206,)),
        "a status behind 403": (reply(FILE, line=b"HTTP/1.1 403 Forbidden"), (403,)),
        "a status behind 999": (reply(FILE, line=b"HTTP/1.1 999 X"), (999, 502)),
        "HTML": (reply(b"<html>login</html>"), (200,)),
        "two statuses": (reply(FILE + FILE), (200,)),
        "half a status that says it is whole": (reply(FILE[:-10]), (200,)),
        "an unknown type": (reply(FILE.replace(b'"FILE"', b'"DOOR"')), (200,)),
        "a number for a text": (reply(FILE.replace(b'"alice"', b"7")), (200,)),
        "nested a thousand deep": (reply(FILE[:-2] + b',"x":' + b"[" * 5000), (200,)),
        "no UTF-8": (reply(FILE.replace(b"alice", b"\xff")), (200,)),
        "a listing": (reply(b'{"FileStatuses":{"FileStatus":[]}}'), (200,)),
        "a body with 304": (reply(FILE, line=b"HTTP/1.1 304 Not Modified"), (304, 502)),
    }.items()
)

MORE: Final = tuple(
    BadReply(name=name, raw=raw, statuses=statuses)
    for name, raw, statuses in (
        (
            "more: a folded field",
            (_HEAD + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",),
            (200, *_BAD_GATEWAY),
        ),
        (
            "more: a hundred interim replies",
            (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100 + reply(b"{}"),),
            (200, *_BAD_GATEWAY),
        ),
        ("more: 2,000 fields", (_HEAD + b"X: y\r\n" * 2000 + b"\r\n",), _BAD_GATEWAY),
        ("more: a field of 3 MB", (_HEAD + b"X: " + b"y" * 3_000_000 + b"\r\n\r\n",), _BAD_GATEWAY),
        ("slow: it drips, and ends", tuple(bytes((byte,)) for byte in reply(b"{}")), (200,)),
    )
)

LEFT_OPEN: Final = tuple(
    BadReply(name=name, raw=raw, statuses=statuses, stays_open=True)
    for name, raw, statuses in (
        (
            "more: a second reply, unasked",
            (reply(b"{}") + reply(FILE.replace(b"alice", b"mallory")),),
            (200, *_BAD_GATEWAY),
        ),
        ("slow: silent behind the head", (_HEAD + b"Content-Length: 5\r\n\r\n",), _BAD_GATEWAY),
        ("slow: silent from the start", (), _BAD_GATEWAY),
    )
)

BAD_REPLIES: Final = (*TRUNCATED, *MALFORMED, *CONTRADICTORY, *MORE, *LEFT_OPEN)
"""All of them; their names differ."""
