"""A cached reply as the bytes that go to the client. (proxy/hit_text.py)

On the ordinary path the same fields in the same order are made by `proxy.cached_reply`; a test compares.
"""

from email.utils import formatdate
from http import HTTPStatus

from cache.entries import Reply
from proxy.headers import HIT, encode_fields


class DateText:
    """The `Date` of replies, formatted once a second; at most a second behind the wall clock."""

    __slots__ = ("_second", "_text")

    def __init__(self) -> None:
        self._second = -1  # of the local clock
        self._text = b""  # IMF-fixdate of that second (RFC 9110, section 5.6.7)

    def at(self, now: float) -> bytes:
        """Return the date to be sent at local time `now`."""
        second = int(now)
        if second != self._second:
            self._second = second
            self._text = formatdate(usegmt=True).encode("ascii")
        return self._text


class HitText:
    """One cached reply, rendered but for the fields that change with time.

    `Expires` equals `Date`, as the NameNode has it. The whole text is kept for the rest of a second.
    """

    __slots__ = ("_middle", "_replied_at", "_second", "_start", "_tail", "_text")

    def __init__(self, reply: Reply, body: bytes, replied_at: float) -> None:
        """Render.

        Args:
            reply: what the NameNode said; its own body is not looked at.
            body: the body to send: the reply's, or a 404's for the path as it was asked for.
            replied_at: local time of the NameNode's reply, for `Age`.
        """
        self._replied_at = replied_at
        line = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"
        self._start = line.encode("ascii") + b"\r\nDate: "
        self._middle = b"\r\n" + encode_fields(reply.headers) + b"Age: "
        length = (b"Content-Length", b"%d" % len(body))
        self._tail = b"\r\n" + encode_fields((HIT, length)) + b"\r\n" + body
        self._second = -1  # of the local clock, for which `_text` holds
        self._text = b""

    @property
    def size(self) -> int:
        """Bytes that it may hold, the text of the running second included."""
        return 2 * (len(self._start) + len(self._middle) + len(self._tail) + 80)

    def at(self, now: float, dates: DateText) -> bytes:
        """Return the whole reply to be sent at local time `now` on a connection that goes on."""
        second = int(now)
        if second != self._second:
            date = dates.at(now)
            self._text = b"".join(
                (self._start, date, b"\r\nExpires: ", date, self._middle, self._age(now), self._tail)
            )
            self._second = second
        return self._text

    def _age(self, now: float) -> bytes:
        return b"%d" % max(0, int(now - self._replied_at))
