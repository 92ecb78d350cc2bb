"""Render a cached reply: as a response, or as bytes for the fast path.

Both have the same fields in the same order; a test compares them.
"""

from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from nncache.cache.replies import StoredReply
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.cache_status import HIT
from nncache.proxy.clients.response import CLOSE, KEEP_ALIVE, RawResponse
from nncache.proxy.headers import encode_fields
from nncache.proxy.messages import Header

END: Final = b"%d\r\n" + encode_fields((HIT,)).replace(b"%", b"%%") + b"Content-Length: %d\r\n\r\n"
LAST_END: Final = END.removesuffix(b"\r\n") + CLOSE
KEPT_END: Final = END.removesuffix(b"\r\n") + KEEP_ALIVE


class DateText:
    """The `Date` of replies, formatted once a second; at most one second older than the wall clock."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = -1  # of the local clock
        self._text = b""  # IMF-fixdate of that second (RFC 9110, section 5.6.7)

    def at(self, now: float) -> bytes:
        """Return the date of a reply that is sent at local time `now`."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = formatdate(usegmt=True).encode("ascii")
        return self._text


class HitFrame:
    """The common head of all cached replies with the same status and header fields, rendered once a second.

    `Expires` equals `Date`, as in the NameNode's replies.
    """

    __slots__ = ("_middle", "_second", "_start", "_text")

    def __init__(self, reply: StoredReply) -> None:
        line = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"
        self._start = line.encode("ascii") + b"\r\nDate: "
        self._middle = b"\r\n" + encode_fields(reply.headers) + b"Age: "
        self._second = -1  # of the local clock, in which `_text` is valid
        self._text = b""

    def at(self, now: float, dates: DateText) -> bytes:
        """Return the head up to the value of `Age`, for a reply that is sent at local time `now`."""
        second = int(now)
        if second != self._second:
            date = dates.at(now)
            self._text = b"".join((self._start, date, b"\r\nExpires: ", date, self._middle))
            self._second = second
        return self._text


def rest_of_head(age_s: float, length: int, end: bytes = END) -> bytes:
    """Return the rest of the head, from the value of `Age`, for a body of `length` bytes; `end` is its template."""
    return end % (max(0, int(age_s)), length)


def body_of(reply: StoredReply, as_requested: str) -> bytes:
    """Return the body that the NameNode would send: a 404 quotes the path as requested."""
    return render_missing(as_requested) if reply.status == HTTPStatus.NOT_FOUND else reply.body


def cached_reply(
    reply: StoredReply, body: bytes, cache_status: Header, *, replied_at: float, now: float, dates: DateText
) -> RawResponse:
    """Make the response (guarantee Verbatim): `Expires` equals `Date`, as in the NameNode's replies.

    Args:
        reply: the cached reply.
        body: see `body_of`.
        cache_status: the response's `Cache-Status`.
        replied_at: when the NameNode replied, in seconds of the local clock, for `Age` (RFC 9111, section 5.1).
        now: the present time of the same clock.
        dates: the source of `Date`.
    """
    date = dates.at(now)
    fields = (
        (b"Date", date),
        (b"Expires", date),
        *reply.headers,
        (b"Age", b"%d" % max(0, int(now - replied_at))),
        cache_status,
    )
    return RawResponse(reply.status, HTTPStatus(reply.status).phrase, fields, body=body)
