"""The manners in which a scripted NameNode replies: in pieces, in every framing, or incompletely."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from nncache.proxy.headers import encode_fields
from nncache.proxy.upstream.direct_exchange import MAX_BYTES
from tests.proxy.doubles import HEADERS
from tests.proxy.wire import STANDBY_REPLY

DELAYS_S: Final = (0.0, 0.0, 0.0, 0.00137, 0.00137, 0.00119, 0.00119, 0.00071, 0.00071, 0.0053)
"""Delays before a reply in seconds; the last one exceeds the patience of direct calls here (`PATIENCE_S`)."""

PATIENCE_S: Final = 0.0029
"""Replaces `nncache.proxy.upstream.pool.REPLY_PATIENCE_S`, so that late replies cost less time."""

_FIELDS: Final = encode_fields(HEADERS)
_FIELDS_BUT_TYPE: Final = encode_fields(HEADERS[:-1])
_FIELDS_BUT_COOKIE: Final = encode_fields(field for field in HEADERS if field[0] != b"Set-Cookie")
_LARGE: Final = b'{"large":"' + b"x" * (MAX_BYTES + 5000) + b'"}'
_STATUSES_OF_A_MANNER: Final = 10  # one in this many status requests gets a manner other than `whole`


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The content of a reply."""

    status: int
    reason: bytes
    body: bytes
    has_no_body: bool = False  # only the head is sent
    is_by_credential: bool = False  # no cookie is set: the request's credential is valid

    @property
    def line(self) -> bytes:
        """The status line, with the Location of a redirect."""
        line = b"HTTP/1.1 %d %b\r\n" % (self.status, self.reason)
        if self.status == 307:
            line += b"Location: http://dn:9864/webhdfs/v1/f?op=CREATE\r\n"
        return line

    @property
    def fields(self) -> bytes:
        """The header fields that nearly all replies have."""
        if self.status == 307:
            return _FIELDS_BUT_TYPE + b"Content-Type: application/octet-stream\r\n"
        return _FIELDS_BUT_COOKIE if self.is_by_credential else _FIELDS


Pieces: TypeAlias = Iterator[bytes | None]
"""The data of each write; None closes the connection."""

Manner: TypeAlias = Callable[[HttpReply], Pieces]


def _counted(answer: HttpReply, *, more: bytes = b"", body: bytes | None = None) -> tuple[bytes, bytes]:
    body = answer.body if body is None else body
    head = b"%b%b%bContent-Length: %d\r\n\r\n" % (answer.line, answer.fields, more, len(body))
    return head, b"" if answer.has_no_body else body


def _chunked(answer: HttpReply, *parts: bytes, trailer: bytes = b"") -> tuple[bytes, ...]:
    head = b"%bTransfer-Encoding: chunked\r\n%b\r\n" % (answer.line, answer.fields)
    if answer.has_no_body:
        return (head,)
    chunks = (b"%x\r\n%b\r\n" % (len(part), part) for part in parts if part)
    return (head, *chunks, b"0\r\n%b\r\n" % trailer)


def whole(answer: HttpReply) -> Pieces:
    """Yield the reply in one piece."""
    yield b"".join(_counted(answer))


def _in_two(answer: HttpReply) -> Pieces:
    yield from filter(None, _counted(answer))


def _in_three(answer: HttpReply) -> Pieces:
    text = b"".join(_counted(answer))
    yield from (text[:20], text[20:-1], text[-1:])


def _chunked_whole(answer: HttpReply) -> Pieces:
    yield b"".join(_chunked(answer, answer.body[:7], answer.body[7:]))


def _chunked_in_pieces(answer: HttpReply) -> Pieces:
    yield from _chunked(answer, answer.body[:3], answer.body[3:])


def _with_a_trailer(answer: HttpReply) -> Pieces:
    yield b"".join(_chunked(answer, answer.body, trailer=b"X-Trailer: 1\r\n"))


def _large(answer: HttpReply) -> Pieces:
    head, body = _counted(answer, body=_LARGE)
    yield head + body[:1000]
    if not answer.has_no_body:
        yield body[1000:30_000]
        yield body[30_000:]


def _large_chunked(answer: HttpReply) -> Pieces:
    yield from _chunked(answer, _LARGE[:9000], _LARGE[9000:18_000], _LARGE[18_000:])


def _longest(answer: HttpReply) -> Pieces:
    body = b'"' + b"y" * (MAX_BYTES - 2) + b'"'
    head, body = _counted(answer, body=body)
    yield head + body[:100]
    if not answer.has_no_body:
        yield body[100:]


def _many_pieces(answer: HttpReply) -> Pieces:
    text = b"".join(_counted(answer))
    step = len(text) // 40 + 1
    yield from (text[at : at + step] for at in range(0, len(text), step))


def _standby(_: HttpReply) -> Pieces:
    yield STANDBY_REPLY


def _cut_before(_: HttpReply) -> Pieces:
    yield None


def _cut_in_head(answer: HttpReply) -> Pieces:
    yield _counted(answer)[0][:-7]
    yield None


def _cut_in_body(answer: HttpReply) -> Pieces:
    yield b"".join(_counted(answer))[:-1]
    yield None


def _cut_in_chunks(answer: HttpReply) -> Pieces:
    yield b"".join(_chunked(answer, answer.body, b" ")[:-1])
    yield None


def _ends_with_it(answer: HttpReply) -> Pieces:
    yield b"".join(_counted(answer))
    yield None


def _says_close(answer: HttpReply) -> Pieces:
    yield b"".join(_counted(answer, more=b"Connection: close\r\n"))
    yield None


def _to_the_end(answer: HttpReply) -> Pieces:
    yield b"%b%b\r\n" % (answer.line, answer.fields) + (b"" if answer.has_no_body else answer.body)
    yield None


def _no_json(answer: HttpReply) -> Pieces:
    head, body = _counted(answer)
    head = head.replace(b"application/json", b"text/html;charset=utf-8")
    yield head + body[:3]
    yield body[3:]


def _no_json_cut(answer: HttpReply) -> Pieces:
    head, body = _counted(answer)
    yield head.replace(b"application/json", b"text/plain") + body[:3]
    yield None


def _with_charset(answer: HttpReply) -> Pieces:
    yield b"".join(_counted(answer)).replace(b"application/json", b"application/json;charset=utf-8")


def _spelled_oddly(answer: HttpReply) -> Pieces:
    text = b"".join(_counted(answer))
    yield text.replace(b"Content-Length: ", b"content-length:").replace(b"Pragma: ", b"Pragma:  ")


def _spelled_in_capitals(answer: HttpReply) -> Pieces:
    text = b"".join(_counted(answer, more=b"X-Odd: a, b;  c=\t1\r\n"))
    yield text.replace(b"Content-Length", b"CONTENT-LENGTH").replace(b"Pragma", b"PRAGMA")


def _with_fields_of_the_connection(answer: HttpReply) -> Pieces:
    yield b"".join(
        _counted(answer, more=b"Keep-Alive: timeout=5\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n")
    )


def _with_a_number_twice(answer: HttpReply) -> Pieces:
    head, body = _counted(answer)
    yield head[:-2] + b"Content-Length: %d\r\n\r\n" % len(answer.body) + body


def _with_too_much(answer: HttpReply) -> Pieces:
    yield b"".join(_counted(answer)) + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


def _after_another_line(answer: HttpReply) -> Pieces:
    yield b"HTTP/1.1 102 Processing\r\n\r\n"
    yield b"".join(_counted(answer))


def _unavailable(answer: HttpReply) -> Pieces:
    yield b"".join(
        _counted(HttpReply(503, b"Service Unavailable", answer.body, has_no_body=answer.has_no_body))
    )


def _no_reason(answer: HttpReply) -> Pieces:
    yield b"".join(_counted(answer)).replace(b" %b\r\n" % answer.reason, b" \r\n", 1)


def _no_content(_: HttpReply) -> Pieces:
    yield b"HTTP/1.1 204 No Content\r\nX-Odd: 1\r\n\r\n"


def _no_http(_: HttpReply) -> Pieces:
    yield b"no HTTP\r\n\r\n"


CUT_BEFORE: Final = _cut_before
_MANNERS: Final[tuple[Manner, ...]] = (
    *(whole,) * 70,
    *(_in_two, _in_three) * 8,
    *(_chunked_whole,) * 16,
    *(_chunked_in_pieces,) * 6,
    _with_a_trailer,
    *(_large,) * 3,
    _large_chunked,
    _longest,
    _many_pieces,
    *(_standby,) * 3,
    *(_cut_before,) * 3,
    *(_cut_in_head,) * 3,
    *(_cut_in_body,) * 3,
    _cut_in_chunks,
    _ends_with_it,
    *(_says_close,) * 3,
    _to_the_end,
    _no_json,
    _no_json_cut,
    _with_charset,
    _with_charset,
    _spelled_oddly,
    _spelled_in_capitals,
    _with_fields_of_the_connection,
    _with_a_number_twice,
    _with_too_much,
    _after_another_line,
    _unavailable,
    _no_reason,
    _no_content,
    _no_http,
)


def manner_of(number: int, *, is_status: bool, is_active: bool) -> Manner:
    """Return the manner for a target's number; the standby always replies in one piece."""
    if not is_active or (is_status and (number >> 16) % _STATUSES_OF_A_MANNER):
        return whole
    return _MANNERS[number % len(_MANNERS)]
