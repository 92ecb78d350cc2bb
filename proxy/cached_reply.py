"""A kept reply as an answer to one request. (proxy/cached_reply.py)

The fast path has the same fields in the same order: `proxy.hit_text`.
"""

from http import HTTPStatus

from cache.replies import Reply
from hadoop.filestatus import render_missing
from proxy.hit_text import DateText
from proxy.messages import Header
from proxy.response import RawResponse


def body_of(reply: Reply, as_requested: str) -> bytes:
    """Return the bytes that the NameNode would send: a 404 quotes the path as it was asked for."""
    return render_missing(as_requested) if reply.status == HTTPStatus.NOT_FOUND else reply.body


def cached_reply(
    reply: Reply, body: bytes, cache_status: Header, *, replied_at: float, now: float, dates: DateText
) -> RawResponse:
    """Make the answer (guarantee Verbatim): `Expires` equals `Date`, as the NameNode has it.

    Args:
        reply: what is kept.
        body: see `body_of`.
        cache_status: how the answer was made.
        replied_at: when the NameNode said so, in seconds of the local clock, for `Age` (RFC 9111, section 5.1).
        now: the same clock's present.
        dates: the wall clock's present.
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
