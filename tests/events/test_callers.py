"""Who asks for events: whom the proxy has verified, or whom WebHDFS would believe where there is no Kerberos."""

import json
from typing import Any

import pytest

from nncache.events.callers import Caller, NamedCallers, UnverifiedCallers, VerifiedCallers, callers_of
from nncache.events.events_request import read_events_request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import CallerNotVerifiedError, ClientError
from nncache.proxy.messages import Header
from tests.model.upstream import ClientRequest
from tests.spnego.test_terminator import Fixture, cookie, ticket

TARGET = "/v1/events?filter=f"


async def asked(
    callers: NamedCallers | VerifiedCallers | UnverifiedCallers, query: str = "", *headers: Header
) -> Caller | RawResponse:
    """Ask so."""
    target = f"{TARGET}{query}"
    request: Any = ClientRequest("GET", target, headers)
    return await callers.known(request, read_events_request(target, headers))


async def test_user_name_says_who_asks() -> None:
    """And nothing else does."""
    assert await asked(NamedCallers(), "&user.name=joe") == Caller("joe")


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
    """It is the request's fault."""
    with pytest.raises(ClientError, match=complaint):
        await asked(NamedCallers(), query)


async def test_a_ticket_or_the_proxys_cookie_says_it() -> None:
    """`user.name` does not; a ticket brings the cookie."""
    callers = VerifiedCallers(Fixture().terminator.admit)
    by_ticket = await asked(callers, "&user.name=bob", ticket("alice@EXAMPLE.COM"))
    assert isinstance(by_ticket, Caller)
    assert by_ticket.user == "alice"
    assert [name for name, _ in by_ticket.adds] == [b"WWW-Authenticate", b"Set-Cookie"]
    by_cookie = await asked(callers, "&user.name=bob", cookie("alice"))
    assert by_cookie == Caller("alice")
    for caller in (by_ticket, by_cookie):
        assert isinstance(caller, Caller)
        assert caller.lease is not None
        assert caller.lease.is_good()


async def test_who_shows_nothing_is_challenged() -> None:
    """As for WebHDFS; whoever they say they are."""
    refused = await asked(VerifiedCallers(Fixture().terminator.admit), "&user.name=alice")
    assert isinstance(refused, RawResponse)
    assert refused.status == 401
    assert json.loads(refused.whole_body or b"")["RemoteException"]["exception"] == "AuthenticationException"


async def test_a_token_says_nothing_here() -> None:
    """Only its NameNode can judge it."""
    with pytest.raises(CallerNotVerifiedError, match="NameNodes alone judge a delegation token"):
        await asked(VerifiedCallers(Fixture().terminator.admit), "&delegation=T", cookie("alice"))


async def test_a_proxy_that_authenticates_nobody_believes_nobody() -> None:
    """On a cluster with Kerberos; it says what to set."""
    with pytest.raises(CallerNotVerifiedError, match="spnego_principal") as raised:
        await asked(UnverifiedCallers(), "&user.name=alice", ticket("alice@EXAMPLE.COM"), cookie("alice"))
    assert raised.value.status == 403


def test_user_name_is_believed_without_kerberos_alone() -> None:
    """With it a proxy that does not authenticate believes nobody, and one that does asks for a ticket."""
    assert isinstance(callers_of(None, is_secured=False), NamedCallers)
    assert isinstance(callers_of(None, is_secured=True), UnverifiedCallers)
    assert isinstance(callers_of(Fixture().terminator.admit, is_secured=True), VerifiedCallers)
