"""A token that a NameNode has just issued to alice identifies alice, until it is cancelled, refused or too old."""

import json

import pytest

from nncache.hadoop.calls import parse_call
from nncache.proxy.decide.issued_tokens import IssuedTokens
from nncache.proxy.messages import RequestHead
from nncache.proxy.reading import ParsedRequest, read_request
from tests.hadoop.made_credentials import token
from tests.proxy.doubles import FakeClock, settled

TOKEN = token("alice")
GET = parse_call("GET", "/webhdfs/v1/?op=GETDELEGATIONTOKEN&doas=alice")
HEAD = RequestHead("GET", "", (), acts_for="alice")
BODY = json.dumps({"Token": {"urlString": TOKEN}}).encode()


def reading(text: str = TOKEN) -> ParsedRequest:
    """Return a read with a token."""
    return read_request("GET", f"/webhdfs/v1/a/b?op=GETFILESTATUS&delegation={text}", (), "10.0.0.1")


@pytest.fixture
def clock() -> FakeClock:
    """Return the clock of the test."""
    return FakeClock()


@pytest.fixture
def issued(clock: FakeClock) -> IssuedTokens:
    """Return a table that has seen TOKEN issued."""
    made = IssuedTokens(clock, believed_for_s=60.0)
    made.replied(GET, HEAD, settled(200, BODY))
    return made


def test_it_is_its_owners(issued: IssuedTokens) -> None:
    """The caller is the same as with a cookie; repeated requests are read again each time."""
    found = issued.believed(reading())
    assert (found.caller, found.repeatable_until) == ("user=alice", None)
    assert found.credential == reading().credential


def test_another_token_is_not(issued: IssuedTokens) -> None:
    """A token with another password is unknown, and a read without a token is returned unchanged."""
    for other in (reading(token("alice", password=b"x" * 20)), reading("zzz")):
        assert issued.believed(other) is other
    plain = read_request("GET", "/webhdfs/v1/a?op=GETFILESTATUS&user.name=alice", (), "")
    assert issued.believed(plain) is plain


def test_it_ends_with_the_time_of_a_proof(issued: IssuedTokens, clock: FakeClock) -> None:
    """The time counts from the reply."""
    clock.now += 61.0
    assert issued.believed(reading()) == reading()


@pytest.mark.parametrize(
    "spelled",
    [
        TOKEN,
        f"{TOKEN[:9]}%0A.{TOKEN[9:]}",
        f"{TOKEN}%3D%3Dxyz",
        f"{TOKEN}%FF",
        f"{TOKEN}%3D",
        token("alice", more=b"behind"),
        token("alice", password=b"another"),
        token("alice", more_in_identifier=b"behind"),
    ],
)
def test_it_ends_when_it_is_cancelled(issued: IssuedTokens, spelled: str) -> None:
    """This holds before the NameNode gets the call, for every spelling that cancels the token."""
    issued.sent(parse_call("PUT", f"/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token={spelled}"))
    assert issued.believed(reading()) == reading()


def test_it_ends_when_it_is_refused(issued: IssuedTokens) -> None:
    """It was cancelled elsewhere. A refused read without a token has no effect."""
    issued.refused(read_request("GET", "/webhdfs/v1/a?op=GETFILESTATUS&user.name=a", (), ""))
    assert issued.believed(reading()) != reading()
    issued.refused(reading())
    assert issued.believed(reading()) == reading()


@pytest.mark.parametrize(
    ("call", "head", "status", "body"),
    [
        (GET, RequestHead("GET", "", ()), 200, BODY),
        (GET, RequestHead("GET", "", (), acts_for="bob"), 200, BODY),
        (GET, HEAD, 403, BODY),
        (GET, HEAD, 200, b"{}"),
        (GET, HEAD, 200, None),
        (GET, HEAD, 200, b'{"Token":{"urlString":"zzz"}}'),
        (parse_call("GET", "/webhdfs/v1/?op=LISTSTATUS"), HEAD, 200, BODY),
        (parse_call("GET", "/webhdfs/v1/?x"), HEAD, 200, BODY),
    ],
)
def test_nothing_else_is_taken_for_one(
    clock: FakeClock, call: object, head: RequestHead, status: int, body: bytes | None
) -> None:
    """Only a NameNode's reply to the owner whom the proxy has authenticated counts."""
    made = IssuedTokens(clock, believed_for_s=60.0)
    made.replied(call, head, settled(status, body))  # type: ignore[arg-type] # a Call
    assert made.believed(reading()) == reading()
