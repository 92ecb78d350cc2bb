"""Which clients are admitted, as which user, and the replies to others."""

import base64
from typing import Any

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.auth_to_local import AuthToLocal
from nncache.hadoop.kerberos.gss import Accepted, RefusedToken
from nncache.hadoop.proxy_users import parse_proxy_users
from nncache.proxy.admission import AdmittedRequest, ByToken
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.decide.ports import RejectedRequest
from nncache.proxy.messages import Header, Headers
from nncache.spnego.cookies import Keys, LoginSession, encode_cookie
from nncache.spnego.handshakes import Handshakes
from nncache.spnego.impersonation import Impersonation
from nncache.spnego.stats import TicketOutcome
from nncache.spnego.terminator import Terminator
from tests.model.upstream import ClientRequest
from tests.proxy.doubles import FakeClock

SERVICE = "HTTP/proxy@EXAMPLE.COM"
KEYS = Keys((b"k" * 32,))
NOW_S = 1_000_000.0
TARGET = "/webhdfs/v1/a/b?op=GETFILESTATUS"
RULES = {"hadoop.proxyuser.knox.users": "alice,a\nb,11100215", "hadoop.proxyuser.knox.hosts": "10.0.0.1"}


def accept(token: bytes) -> Accepted | RefusedToken:
    """Accept a token for the principal that it names; `fail` raises an error, and `forged` is refused."""
    text = token.decode()
    if text == "fail":
        raise KerberosError("spnego_keytab: /secret/place: gone")
    return RefusedToken("it is forged") if text == "forged" else Accepted(text, SERVICE, b"reply")


class Fixture:
    """A terminator with a fixed time, and its requests."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.keys = KEYS
        self.terminator = Terminator(
            Handshakes(frozenset({SERVICE}), accept, 8),
            lambda: self.keys,
            AuthToLocal(
                "RULE:[1:$1@$0](.*@ODD)s/@.*// RULE:[1:$1@$0](.*@AT)s/.*/a,b/ DEFAULT", "EXAMPLE.COM"
            ),
            Impersonation(parse_proxy_users(Configuration(RULES)), self.clock),
            self.clock,
            unix_time=lambda: NOW_S,
            validity_s=3600,
        )

    async def admit(
        self, *headers: Header, target: str = TARGET, **request: Any
    ) -> AdmittedRequest | ByToken | RejectedRequest:
        """Send a request."""
        made: Any = ClientRequest(request.pop("method", "GET"), target, headers, **request)
        return await self.terminator.admit(made)


def ticket(principal: str) -> Header:
    """Return a ticket of this principal."""
    return b"Authorization", b"Negotiate " + base64.b64encode(principal.encode())


def cookie(user: str = "alice", *, ends_s: float = NOW_S + 60.0) -> Header:
    """Return a cookie of this user."""
    session = LoginSession(user, f"{user}@EXAMPLE.COM", int(ends_s * 1000))
    return b"Cookie", encode_cookie(session, KEYS, is_secure=False)[1].split(b";")[0]


def rejection(admission: object) -> tuple[int, Headers, bytes]:
    """Return status, fields and body of a rejection."""
    assert isinstance(admission, RejectedRequest)
    response = admission.response
    assert isinstance(response, RawResponse)
    body = response._whole  # noqa: SLF001 - there is no wire here
    assert body is not None
    return response.status, response._fields, body


async def test_a_ticket_brings_a_cookie_that_is_good_next_time() -> None:
    """The reply also has the service's proof; neither ticket nor cookie is passed on to the NameNode."""
    fixture = Fixture()
    first = await fixture.admit(ticket("alice@EXAMPLE.COM"), (b"Accept", b"*/*"))
    assert isinstance(first, AdmittedRequest)
    assert (first.user, first.headers) == ("alice", ((b"Accept", b"*/*"),))
    assert first.target == "/webhdfs/v1/a/b?doas=alice&op=GETFILESTATUS"
    assert first.repeatable_until is None, "a ticket is looked at each time"
    (name, proof), (_, given) = first.adds
    assert (name, proof) == (b"WWW-Authenticate", b"Negotiate " + base64.b64encode(b"reply"))
    again = await fixture.admit((b"Cookie", given.split(b";")[0]))
    assert isinstance(again, AdmittedRequest)
    assert (again.user, again.adds) == ("alice", ())
    assert again.repeatable_until == pytest.approx(fixture.clock() + 3600.0)


async def test_without_anything_there_is_a_challenge() -> None:
    """This holds for every method; an invalid cookie is cleared."""
    fixture = Fixture()
    for fields in (
        (),
        (cookie(ends_s=NOW_S),),
        ((b"Authorization", b"Basic YTpi"),),
        (ticket("a"), ticket("b")),
    ):
        for method in ("GET", "PUT", "OPTIONS"):
            status, reported, _ = rejection(await fixture.admit(*fields, method=method))
            assert status == 401
            assert (b"WWW-Authenticate", b"Negotiate") in reported
            assert (b"Set-Cookie", b"hadoop.auth=; Path=/; HttpOnly") in reported
    assert fixture.terminator.stats().challenges == 12


@pytest.mark.parametrize(
    "principal", ["forged", "alice@OTHER.REALM", "a b@ODD", "1a@AT", "x/y/z@EXAMPLE.COM"]
)
async def test_a_ticket_that_names_no_user_is_refused(principal: str) -> None:
    """There is no challenge, as at a NameNode: the same ticket would fail again."""
    status, reported, _ = rejection(await Fixture().admit(ticket(principal)))
    assert status == 403
    assert not {b"WWW-Authenticate", b"Set-Cookie"} & {name for name, _ in reported}


async def test_a_ticket_that_cannot_be_judged_is_not_the_clients_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Only the log has the reason."""
    fixture = Fixture()
    status, _, body = rejection(await fixture.admit(ticket("fail")))
    assert status == 503
    assert b"/secret/place" not in body
    assert "/secret/place" in caplog.text
    assert fixture.terminator.stats().tickets[TicketOutcome.FAILED] == 1


async def test_a_good_cookie_precedes_a_ticket() -> None:
    """A NameNode does the same."""
    fixture = Fixture()
    good = await fixture.admit(cookie("alice"), ticket("bob@EXAMPLE.COM"))
    assert isinstance(good, AdmittedRequest)
    assert (good.user, good.adds) == ("alice", ())
    bad = await fixture.admit(cookie("alice", ends_s=NOW_S - 1), ticket("bob@EXAMPLE.COM"))
    assert isinstance(bad, AdmittedRequest)
    assert bad.user == "bob"
    assert bad.adds
    assert bad.repeatable_until is None


async def test_a_retired_key_is_good_for_nothing() -> None:
    """This holds from the next request on."""
    fixture = Fixture()
    fixture.keys = Keys((b"n" * 32,))
    assert rejection(await fixture.admit(cookie()))[0] == 401


async def test_a_token_is_for_the_namenode() -> None:
    """The request is passed on without other credentials."""
    target = f"{TARGET}&delegation=abc"
    admission = await Fixture().admit(cookie("carol"), ticket("carol"), (b"Accept", b"*/*"), target=target)
    assert admission == ByToken(((b"Accept", b"*/*"),))


@pytest.mark.parametrize(
    ("user", "doas", "remote", "status"),
    [
        ("knox", "alice", "10.0.0.1", 200),
        ("knox", "11100215", "10.0.0.1", 200),
        ("knox", "knox", "10.0.0.2", 200),
        ("carol", "carol", "10.0.0.2", 200),
        ("knox", "alice", "10.0.0.2", 403),
        ("knox", "bob", "10.0.0.1", 403),
        ("carol", "alice", "10.0.0.1", 403),
        ("knox", "", "10.0.0.1", 400),
        ("knox", "a%0Ab", "10.0.0.1", 400),
    ],
)
async def test_doas_is_judged_here(user: str, doas: str, remote: str, status: int) -> None:
    """The connection's address counts, not a header field, and each request is checked."""
    fields = (cookie(user), (b"X-Forwarded-For", b"10.0.0.1"))
    fixture = Fixture()
    admission = await fixture.admit(*fields, target=f"{TARGET}&doas={doas}", peer=remote)
    if status == 200:
        assert isinstance(admission, AdmittedRequest)
        assert admission.user == doas
        assert admission.repeatable_until is None
        return
    assert rejection(admission)[0] == status
    assert fixture.terminator.stats().doas_refused == (status == 403)


async def test_a_refused_impersonator_still_gets_a_cookie() -> None:
    """The client is authenticated; the body is the NameNode's."""
    target = f"{TARGET}&doas=bob"
    status, reported, body = rejection(await Fixture().admit(ticket("carol@EXAMPLE.COM"), target=target))
    assert status == 403
    assert b'"message" : "User: carol is not allowed to impersonate bob"' in body
    assert {b"Date", b"Set-Cookie"} <= {name for name, _ in reported}


async def test_a_target_that_readers_could_differ_about_is_refused() -> None:
    """The target is checked first."""
    assert rejection(await Fixture().admit(cookie(), target=f"{TARGET}#x"))[0] == 400


async def test_only_a_get_asks_the_cache() -> None:
    """The plain read has the user's name."""
    fixture = Fixture()
    got, put = await fixture.admit(cookie()), await fixture.admit(cookie(), method="HEAD")
    assert isinstance(got, AdmittedRequest)
    assert isinstance(put, AdmittedRequest)
    assert (got.plain is not None and got.plain.user_name, put.plain) == ("alice", None)


@pytest.mark.parametrize(
    "content_type",
    [
        b"application/x-www-form-urlencoded",
        b"Application/X-WWW-Form-Urlencoded; charset=utf-8",
        b"text/plain",
    ],
)
@pytest.mark.parametrize("target", [TARGET, f"{TARGET}&delegation=abc"])
async def test_no_body_is_a_form_at_the_namenode(content_type: bytes, target: str) -> None:
    """The NameNode would read parameters from it, such as another doas. Ticket, cookie and token are treated alike."""
    admitted = await Fixture().admit(
        cookie(), (b"content-TYPE", content_type), (b"A", b"b"), method="PUT", target=target
    )
    assert not isinstance(admitted, RejectedRequest)
    assert admitted.headers == ((b"content-TYPE", b"application/octet-stream"), (b"A", b"b"))
