"""What the fields of a reply say to a conditional request."""

import pytest

from nncache.proxy.clients.conditional_reply import with_conditions
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.conditional import Conditions, etag_of

WAITS = Conditions(None, 5)


def fields_of(response: RawResponse) -> dict[bytes, bytes]:
    """Return what it would send."""
    return dict(response._fields)


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_gets_its_tag_and_what_was_applied(status: int) -> None:
    """RFC 7240, section 3."""
    said = fields_of(with_conditions(RawResponse(status, "", (), body=b"x"), WAITS, applied_s=5))
    assert said == {b"ETag": etag_of(b"x"), b"Preference-Applied": b"wait=5"}
    said = fields_of(with_conditions(RawResponse(status, "", (), body=b"x"), WAITS, applied_s=None))
    assert said == {b"ETag": etag_of(b"x")}


def test_a_body_that_is_known_is_not_sent_again() -> None:
    """RFC 9110, section 15.4.5: the other fields stay."""
    made = RawResponse(200, "OK", ((b"Date", b"now"),), body=b"x")
    reply = with_conditions(made, Conditions(frozenset({etag_of(b"x")}), 0), applied_s=None)
    assert (reply.status, reply.reason) == (304, "Not Modified")
    assert fields_of(reply) == {b"Date": b"now", b"ETag": etag_of(b"x")}


def test_all_else_stays_as_it_is() -> None:
    """A refusal, and what goes through part by part."""
    refusal, streamed = RawResponse(403, "", (), body=b"x"), RawResponse(200, "", ())
    for each in (refusal, streamed):
        assert not fields_of(with_conditions(each, WAITS, applied_s=5))
