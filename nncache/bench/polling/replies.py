"""A parser of HTTP replies for pollers: bytes in, values out, no socket.

Optimized for small replies that arrive in one piece: one search of the head for each used field.
Source: RFC 9112, sections 6 and 7.1 (length of a body, chunks); RFC 9211 (`Cache-Status`).
"""

import re
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

from nncache.bench.shared.tables import DENIED, FAILED

MAX_HEAD_BYTES: Final = 64 * 1024

_FILE_ID: Final = re.compile(rb'"fileId":\s*(\d{1,18})')
_CACHE: Final = re.compile(rb";\s*(?:(hit)(?![\w=-])|fwd=([\w-]+)|(detail)=([\w-]+))")
_HEX: Final = b"0123456789abcdefABCDEF"
_NO_BODY: Final = frozenset((204, 304))


class PollReplyError(Exception):
    """The server sent something other than an HTTP/1 reply."""


class PollReply(NamedTuple):
    """One complete reply."""

    status: int
    # the source of the reply, according to the server: "hit", "miss", "bypass" and so on; "" if not reported
    served: str
    body: bytes
    keeps: bool  # whether the connection stays usable for the next request
    head: bytes = b""  # its header fields, in lower case

    @property
    def tag(self) -> bytes:
        """The `ETag`, in lower case as nncache generates it; empty if missing."""
        return _field(self.head, b"\r\netag:")

    @property
    def is_applied(self) -> bool:
        """Whether a wait was granted (`Preference-Applied`)."""
        return b"\r\npreference-applied: wait=" in self.head


def parse(data: bytes, *, is_end: bool = False) -> PollReply | None:
    """Return the reply in the data received since the request; None if it is incomplete.

    With `is_end` no data will follow: the server closed the connection.

    Raises:
        ReplyError: the data are not a reply.
    """
    if data[:7] != b"HTTP/1."[: len(data)]:
        raise PollReplyError(f"no HTTP reply: {data[:20]!r}")
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > MAX_HEAD_BYTES:
            raise PollReplyError(f"the head of the reply is longer than {MAX_HEAD_BYTES} bytes")
        return None
    head = data[: end + 2].lower()
    if not head[9:12].isdigit():
        raise PollReplyError(f"no HTTP status: {head[:20]!r}")
    status = int(head[9:12])
    body, rest = _body(head, data, end + 4, status)
    if body is None:
        if rest is not None or not is_end:
            return None
        body = data[end + 4 :]  # neither length nor chunks: the body ends with the connection
    connection = _field(head, b"\r\nconnection:")
    keeps = not rest and rest is not None and connection != b"close" and head[7:8] == b"1"
    cache_status = _field(head, b"\r\ncache-status:") or _field(head, b"\r\nx-cache-status:")
    return PollReply(status, _served(cache_status) if cache_status else "", body, keeps, head)


def digest_of(status: int, body: bytes) -> int:
    """Return the value of the column `digest` for a reply."""
    if status in {FAILED, DENIED}:
        return 0
    return int.from_bytes(blake2b(body, digest_size=8).digest(), signed=True)


def file_id_of(body: bytes) -> int:
    """Return the fileId in a FileStatus in JSON; 0 if there is none."""
    found = _FILE_ID.search(body)
    return 0 if found is None else int(found[1])


def _field(head: bytes, name: bytes) -> bytes:
    """Return the value of a field in a lower-case head; empty if it is missing."""
    at = head.find(name)
    if at < 0:
        return b""
    at += len(name)
    return head[at : head.find(b"\r\n", at)].strip()


def _body(head: bytes, data: bytes, at: int, status: int) -> tuple[bytes | None, bytes | None]:
    """Return the body and the bytes after it; (None, b"") if incomplete, (None, None) if only the end completes it."""
    if status in _NO_BODY:
        return b"", data[at:]
    coding = _field(head, b"\r\ntransfer-encoding:")
    if coding == b"chunked":
        return _chunks(data, at)
    if coding:
        raise PollReplyError(f"unknown Transfer-Encoding: {coding!r}")
    length = _field(head, b"\r\ncontent-length:")
    if not length:
        return None, None
    if not length.isdigit():
        raise PollReplyError(f"no Content-Length: {length!r}")
    end = at + int(length)
    return (data[at:end], data[end:]) if len(data) >= end else (None, b"")


def _chunks(data: bytes, at: int) -> tuple[bytes | None, bytes]:
    parts: list[bytes] = []
    while (end := data.find(b"\r\n", at)) >= 0:
        digits = data[at:end].partition(b";")[0].strip()
        if not digits or digits.strip(_HEX):
            raise PollReplyError(f"no size of a chunk: {digits!r}")
        size = int(digits, 16)
        at = end + 2
        if size == 0:
            return _after_trailers(b"".join(parts), data, at)
        if len(data) < at + size + 2:
            break
        parts.append(data[at : at + size])
        at += size + 2
    return None, b""


def _after_trailers(body: bytes, data: bytes, at: int) -> tuple[bytes | None, bytes]:
    while (end := data.find(b"\r\n", at)) >= 0:
        if end == at:
            return body, data[end + 2 :]
        at = end + 2
    return None, b""


@lru_cache(maxsize=1024)
def _served(cache_status: bytes) -> str:
    """Return a short form of an RFC 9211 `Cache-Status` (last member: the nearest cache), or nginx's own status."""
    if b";" not in cache_status:
        return cache_status.decode("latin-1")
    how, why = b"", b""
    for hit, forwarded, detail, reason in _CACHE.findall(cache_status):
        if detail:
            why = b"; " + reason
        else:
            how, why = hit or forwarded, b""
    return (how + why if how else b"").decode("latin-1")
