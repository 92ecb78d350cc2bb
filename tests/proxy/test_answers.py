"""What an answer becomes: the reply to a request with and without conditions."""

import pytest

from nncache.cache.decisions import Reason
from nncache.proxy.answers import Answers
from nncache.proxy.conditional import Conditions, etag_of
from nncache.proxy.errors import NoActiveNameNodeError
from nncache.proxy.messages import UpstreamReply
from nncache.proxy.reading import Reading, read_request
from nncache.proxy.reads import FromNameNode, PassOn, Unanswered
from nncache.proxy.traffic import Exchange, Result
from nncache.proxy.wait_groups import Waited
from tests.proxy.doubles import FILE, NAMENODE, TERM, FakeClock

WISH = Conditions(None, 5)


def reading() -> Reading:
    """Return a plain read."""
    return read_request("GET", "/webhdfs/v1/w/f?op=GETFILESTATUS&user.name=alice", (), "10.0.0.1")


def exchange() -> Exchange:
    """Return its count."""
    return Exchange("GET", "/webhdfs/v1/w/f", "10.0.0.1", 100.0)


def replied(status: int = 200, body: bytes = FILE) -> UpstreamReply:
    """Return a NameNode's reply that sets a cookie."""
    return UpstreamReply(
        status=status,
        reason="",
        headers=((b"Set-Cookie", b"hadoop.auth=alice's"), (b"Content-Type", b"application/json")),
        body=body,
        namenode=NAMENODE,
        term=TERM,
        replied_at=100.0,
    )


@pytest.mark.parametrize(("is_shared", "has_cookie"), [(False, True), (True, False)])
def test_a_reply_for_several_carries_the_cookie_of_none(*, is_shared: bool, has_cookie: bool) -> None:
    """That of its own question goes to its client."""
    answers = Answers(FakeClock())
    waited = Waited(
        answer=FromNameNode(replied(), Reason.MISS, is_stored=True), applied_s=5, is_shared=is_shared
    )
    seen = exchange()
    text = answers.with_conditions(seen, reading(), waited, WISH, is_secure=False).text(is_last=False)
    assert (b"hadoop.auth" in text) is has_cookie
    assert b"ETag: " + etag_of(FILE) in text
    assert b"Preference-Applied: wait=5" in text
    assert (seen.result, seen.why) == (Result.STORED, Reason.MISS)
    assert answers.forwarded == {Reason.MISS: 1}


def test_no_answer_is_an_error_and_has_no_tag() -> None:
    """The NameNode was asked, and the request counts as one that failed."""
    answers, seen = Answers(FakeClock()), exchange()
    waited = Waited(answer=Unanswered(NoActiveNameNodeError("none"), Reason.MISS))
    response = answers.with_conditions(seen, reading(), waited, WISH, is_secure=False)
    assert (response.status, seen.result) == (503, Result.FAILED)
    assert b"ETag" not in response.text(is_last=False)


def test_what_is_passed_through_is_not_answered_here() -> None:
    """It has its own way."""
    waited = Waited(answer=PassOn(Reason.NO_FILTER))
    with pytest.raises(AssertionError):
        Answers(FakeClock()).with_conditions(exchange(), reading(), waited, WISH, is_secure=False)
