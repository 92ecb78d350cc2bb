"""A reply to a request that knows an entity tag, or would wait for another one."""

from http import HTTPStatus

from nncache.proxy.clients.response import RawResponse
from nncache.proxy.conditional import Conditions, etag_of
from nncache.proxy.messages import Header


def with_conditions(response: RawResponse, conditions: Conditions, *, applied_s: int | None) -> RawResponse:
    """Add `ETag` to an answer whose body is known, or make a 304 of it if the client has that body.

    Args:
        response: not yet prepared.
        conditions: the request's.
        applied_s: the wait that was granted, for `Preference-Applied` (RFC 7240, section 3); None: none.
    """
    body = response.whole_body
    if body is None or response.status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
        return response
    tag: Header = (b"ETag", etag_of(body))
    applied = () if applied_s is None else ((b"Preference-Applied", b"wait=%d" % applied_s),)
    if conditions.is_not_modified(response.status, body):
        response = response.not_modified()
    response.add((tag, *applied))
    return response
