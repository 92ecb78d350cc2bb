"""How requests are read: with a user name, a token, or a user whom the proxy has authenticated."""

from math import inf

import pytest

from nncache.hadoop.calls import parse_plain
from nncache.proxy import reading
from nncache.proxy.admission import AdmittedRequest
from nncache.proxy.messages import Header, Headers
from nncache.proxy.reading import read_admitted, read_request
from nncache.spnego.cookies import Keys, LoginSession
from nncache.spnego.terminator import SessionLease
from tests.hadoop.made_credentials import cookie, token

TARGET = "/webhdfs/v1/a/b?op=GETFILESTATUS"
ADDS = ((b"Set-Cookie", b"hadoop.auth=x"),)


def admitted(*headers: Header, target: str = f"{TARGET}&user.name=alice") -> AdmittedRequest:
    """Return an admitted request of alice's."""
    return AdmittedRequest(
        user="alice",
        target="/webhdfs/v1/a/b?doas=alice&op=GETFILESTATUS",
        plain=parse_plain(target),
        headers=headers,
        adds=ADDS,
        repeatable_until=7.0,
        lease=SessionLease(LoginSession("alice", "alice@TEST", 0), lambda: Keys(()), lambda: 0.0, 7.0),
    )


def test_a_request_that_says_who_asks() -> None:
    """The name or the credential counts; the address is forwarded."""
    reading = read_request("GET", f"{TARGET}&user.name=joe", ((b"Host", b"nn"),), "10.0.0.1")
    assert (reading.caller, reading.credential, reading.repeatable_until) == ("user=joe", None, inf)
    assert reading.head.headers == ((b"Host", b"nn"), (b"X-Forwarded-For", b"10.0.0.1"))
    assert (reading.head.caller, reading.head.acts_for) == ("user.name=joe", "")
    by_token = read_request("GET", f"{TARGET}&delegation={token()}", (), "")
    assert by_token.credential is not None
    assert by_token.caller == by_token.credential.name


def test_who_asks_is_read_of_what_goes_on() -> None:
    """`Connection` removes a cookie (RFC 9110, section 7.6.1), so the NameNode sees none."""
    headers = ((b"Cookie", cookie()), (b"Connection", b"cookie"))
    reading = read_request("GET", TARGET, headers, "10.0.0.1")
    assert (reading.credential, reading.caller) == (None, "anonymous")
    assert reading.head.headers == ((b"X-Forwarded-For", b"10.0.0.1"),)
    assert read_request("GET", TARGET, headers[:1], "10.0.0.1").credential is not None


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("PUT", TARGET, ()),
        ("GET", TARGET + "&x=1", ()),
        ("GET", TARGET, ((b"Authorization", b"Negotiate x"),)),
        ("GET", TARGET, ((b"Cookie", cookie() + b"; " + cookie()),)),
    ],
)
def test_what_passes_through_without_a_trace(method: str, target: str, headers: tuple[Header, ...]) -> None:
    """This covers writes, requests that are not plain, and uncertain callers."""
    assert read_request(method, target, headers, "").plain is None


def test_doas_is_looked_at_each_time() -> None:
    """The fast path does not check the address."""
    reading = read_request("GET", f"{TARGET}&user.name=joe&doas=alice", (), "10.0.0.1")
    assert reading.repeatable_until is None


def test_an_authenticated_user_asks_through_the_service() -> None:
    """The reply gets the fields of the authentication as well."""
    reading = read_admitted("GET", admitted(), "10.0.0.1")
    assert (reading.caller, reading.head.acts_for, reading.head.caller) == (
        "user=alice",
        "alice",
        "user.name=alice",
    )
    assert (reading.head.target, reading.adds) == (admitted().target, ADDS)
    assert reading.repeatable_until == 7.0
    assert read_admitted("GET", admitted((b"Cache-Control", b"no-cache")), "").refresh


@pytest.mark.parametrize(
    "one",
    [admitted((b"Cache-Control", b"no-store")), admitted(target=f"{TARGET}&x=1")],
    ids=["no-store", "odd"],
)
def test_their_odd_questions_pass_through_as_well(one: AdmittedRequest) -> None:
    """They are sent as the service, and the fields of the authentication are added to the reply."""
    reading = read_admitted("GET", one, "")
    assert (reading.plain, reading.head.acts_for, reading.adds) == (None, "alice", ADDS)


@pytest.mark.parametrize(
    ("headers", "is_kept"),
    [
        (((b"Host", b"nn"), (b"User-Agent", b"curl")), True),
        (((b"Host", b"nn"), (b"Cookie", b"s3cret")), False),
        (((b"Host", b"nn"), (b"User-Agent", 8_192 * b"x")), False),
        (100 * ((b"Accept", b""),), False),
    ],
)
def test_no_secret_and_no_long_fields_are_remembered(headers: Headers, *, is_kept: bool) -> None:
    """Requests cannot fill the memory."""
    reading._FIELDS.clear()  # noqa: SLF001 - the remembered fields
    read_request("GET", f"{TARGET}&user.name=alice", headers, "10.0.0.1")
    assert len(reading._FIELDS) == is_kept  # noqa: SLF001 - the remembered fields
    assert len(read_request("GET", TARGET, headers, "10.0.0.1").head.headers) == len(headers) + 1
