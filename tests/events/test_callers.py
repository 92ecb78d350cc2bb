"""Who asks for events: a user verified by the proxy or, without Kerberos, the `user.name` of WebHDFS."""

import json
from typing import Any

import pytest

from nncache.events.callers import IdentifiedUser, Identify, by_credential, by_user_name, identify_by, refused
from nncache.events.events_request import read_events_request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import CallerNotVerifiedError, ClientError
from nncache.proxy.messages import Header
from tests.model.upstream import ClientRequest
from tests.spnego.test_terminator import Fixture, cookie, ticket

TARGET = "/v1/events?filter=f"


async def asked(identify: Identify, query: str = "", *headers: Header) -> IdentifiedUser | RawResponse:
    """Identify the caller of a request with this query and these fields."""
    target = f"{TARGET}{query}"
    request: Any = ClientRequest("GET", target, headers)
    return await identify(request, read_events_request(target, headers))


async def test_user_name_says_who_asks() -> None:
    """No other part of the request counts."""
    assert await asked(by_user_name, "&user.name=joe") == IdentifiedUser("joe")


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("", "user.name is missing"),
        ("&user.name=", "user.name is missing"),
        ("&user.name=a%0Ab", "user.name is no name of a user"),
        ("&user.name=joe&doas=bob", "doas has no meaning here"),
        ("&user.name=joe&delegation=T", "delegation has no meaning here"),
    ],
)
async def test_what_does_not_say_it(query: str, complaint: str) -> None:
    """The error is a `ClientError`."""
    with pytest.raises(ClientError, match=complaint):
        await asked(by_user_name, query)


async def test_a_ticket_or_the_proxys_cookie_says_it() -> None:
    """`user.name` does not count; a ticket yields the cookie."""
    callers = by_credential(Fixture().terminator.admit)
    by_ticket = await asked(callers, "&user.name=bob", ticket("alice@EXAMPLE.COM"))
    assert isinstance(by_ticket, IdentifiedUser)
    assert by_ticket.user == "alice"
    assert [name for name, _ in by_ticket.adds] == [b"WWW-Authenticate", b"Set-Cookie"]
    by_cookie = await asked(callers, "&user.name=bob", cookie("alice"))
    assert by_cookie == IdentifiedUser("alice")
    for caller in (by_ticket, by_cookie):
        assert isinstance(caller, IdentifiedUser)
        assert caller.lease is not None
        assert caller.lease.is_good()


async def test_who_shows_nothing_is_challenged() -> None:
    """The reply is that of WebHDFS, whatever `user.name` says."""
    challenged = await asked(by_credential(Fixture().terminator.admit), "&user.name=alice")
    assert isinstance(challenged, RawResponse)
    assert challenged.status == 401
    assert (
        json.loads(challenged.whole_body or b"")["RemoteException"]["exception"] == "AuthenticationException"
    )


async def test_a_token_says_nothing_here() -> None:
    """Only its NameNode can verify it."""
    with pytest.raises(CallerNotVerifiedError, match="NameNodes alone judge a delegation token"):
        await asked(by_credential(Fixture().terminator.admit), "&delegation=T", cookie("alice"))


async def test_a_proxy_that_authenticates_nobody_believes_nobody() -> None:
    """This holds on a cluster with Kerberos; the error names the setting."""
    with pytest.raises(CallerNotVerifiedError, match="spnego_principal") as raised:
        await asked(refused, "&user.name=alice", ticket("alice@EXAMPLE.COM"), cookie("alice"))
    assert raised.value.status == 403


def test_user_name_is_believed_without_kerberos_alone() -> None:
    """With Kerberos, a proxy that does not authenticate refuses every caller, and one that does asks for a ticket."""
    assert identify_by(None, is_secured=False) is by_user_name
    assert identify_by(None, is_secured=True) is refused
    assert identify_by(Fixture().terminator.admit, is_secured=True) not in {by_user_name, refused}
