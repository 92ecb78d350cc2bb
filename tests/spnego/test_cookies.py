"""A cookie is valid if one of the proxy's keys has signed it and it has not expired."""

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest

from nncache.hadoop.credentials import parse_auth_cookie
from nncache.spnego.cookies import (
    MAX_COOKIES,
    Keys,
    LoginSession,
    encode_cookie,
    may_be_named,
    parse_keys,
    session_of,
)
from nncache.testbed.readiness import signed_cookie

KEY, OTHER = b"k" * 32, b"o" * 32
ALICE = LoginSession("alice", "alice@EXAMPLE.COM", 1_000_000)


def cookie(session: LoginSession = ALICE, key: bytes = KEY) -> bytes:
    """Return name and value of the cookie."""
    return encode_cookie(session, Keys((key,)), is_secure=False)[1].partition(b";")[0]


def good(*cookies: bytes, now_ms: float = 0.0, keys: tuple[bytes, ...] = (KEY,)) -> LoginSession | None:
    """Return the session of these `Cookie` values."""
    return session_of(cookies, Keys(keys), now_ms)


def test_a_cookie_says_whose_it_is() -> None:
    """This holds with or without quotes, with other cookies beside it, and for any key in use."""
    assert good(cookie()) == ALICE
    assert good(cookie().replace(b'"', b"")) == ALICE
    assert good(b"a=b; " + cookie() + b"; c=d") == ALICE
    assert good(b"a=b", cookie()) == ALICE
    assert good(cookie(key=OTHER), keys=(KEY, OTHER)) == ALICE


def test_clients_can_read_when_it_ends() -> None:
    """The format is that of Hadoop's cookie."""
    read = parse_auth_cookie(cookie().partition(b"=")[2])
    assert read is not None
    assert (read.user, read.kind, read.ends_at_ms) == ("alice", "nncache", 1_000_000)


@pytest.mark.parametrize("is_secure", [True, False])
def test_it_is_kept_from_scripts_and_over_tls_from_the_clear(*, is_secure: bool) -> None:
    """Its attributes: HttpOnly always, Secure over TLS."""
    name, value = encode_cookie(ALICE, Keys((KEY,)), is_secure=is_secure)
    attributes = [each.strip() for each in value.split(b";")[1:]]
    assert name == b"Set-Cookie"
    assert (b"Secure" in attributes) is is_secure
    assert {b"Path=/", b"HttpOnly", b"SameSite=Lax"} <= set(attributes)


@pytest.mark.parametrize(
    "forged",
    [
        cookie(key=OTHER),
        cookie().replace(b"alice&", b"bob&"),
        cookie().replace(b"e=1000000", b"e=9000000"),
        cookie().replace(b"&s=", b"&u=bob&s="),
        cookie().replace(b"&s=", b"&s=A"),
        cookie().rpartition(b"&s=")[0] + b'"',
        cookie().rpartition(b"&s=")[0] + b'&s="',
        cookie().replace(b"hadoop.auth", b"HADOOP.AUTH"),
        cookie().replace(b"hadoop.auth", b"xhadoop.auth"),
        cookie().replace(b"=", b"= ", 1),
        cookie()[:-1],
        b"hadoop.auth=",
        b"hadoop.auth",
        b"",
    ],
)
def test_another_one_is_nobodys(forged: bytes) -> None:
    """The cookie is altered, signed with another key, or malformed."""
    assert good(forged) is None


@pytest.mark.parametrize("foreign", [b"hadoop.auth=x", b'hadoop.auth="u=eve&p=eve&t=kerberos&e=9&s=c2ln"'])
def test_a_good_one_beside_a_foreign_one_is_good(foreign: bytes) -> None:
    """Any order works, in one field or two: NameNodes set theirs for a whole domain (aws-cli #1386, mtth/hdfs #127)."""
    for cookies in (
        (cookie() + b"; " + foreign,),
        (foreign + b"; " + cookie(),),
        (cookie(), foreign),
        (foreign, cookie()),
        (cookie(), cookie()),
        (foreign,) * (MAX_COOKIES - 1) + (cookie(),),
    ):
        assert good(*cookies) == ALICE
    assert good(foreign) is None
    assert good(*(foreign,) * MAX_COOKIES, cookie()) is None, "what a request costs is bounded"


def test_two_good_ones_of_two_users_are_nobodys() -> None:
    """Another reader may pick the other one. An expired cookie does not count."""
    bob = encode_cookie(replace(ALICE, user="bob"), Keys((KEY,)), is_secure=False)[1].split(b";")[0]
    assert good(bob) is not None
    assert good(cookie(), bob) is None
    old = encode_cookie(replace(ALICE, user="bob", ends_at_ms=1), Keys((KEY,)), is_secure=False)[1]
    assert good(cookie(), old.split(b";")[0], now_ms=2.0) == ALICE


def test_it_ends() -> None:
    """It expires to the millisecond."""
    assert good(cookie(), now_ms=999_999.0) == ALICE
    assert good(cookie(), now_ms=1_000_000.0) is None


def test_a_namenode_cookie_with_our_secret_is_not_ours() -> None:
    """One with the proxy's type that is signed as a NameNode signs is refused as well."""
    theirs = signed_cookie(KEY, "alice", expires_s=1000.0).encode()
    assert good(b'hadoop.auth="' + theirs + b'"') is None
    typed = signed_cookie(KEY, "alice", expires_s=1000.0, kind="nncache").encode()
    assert good(b'hadoop.auth="' + typed + b'"') is None


def test_our_cookie_with_a_namenodes_secret_is_not_its() -> None:
    """The proxy signs another text than a NameNode does."""
    text, _, signature = cookie().partition(b'="')[2].rstrip(b'"').rpartition(b"&s=")
    assert base64.b64decode(signature) != hmac.digest(KEY, text, hashlib.sha256)


def test_keys_are_one_a_line() -> None:
    """The first key signs; empty lines and whitespace around keys are ignored."""
    assert parse_keys(b" " + KEY + b"\n\n" + OTHER + b"\r\n" + KEY + b"\n").keys == (KEY, OTHER)


@pytest.mark.parametrize("text", [b"", b"\n \n", b"short", KEY + b"\nshort"])
def test_keys_that_can_be_guessed_are_refused(text: bytes) -> None:
    """There is no key, or one that is too short."""
    with pytest.raises(ValueError, match="openssl"):
        parse_keys(text)


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ("alice@A.B", True),
        ("x/y-z_1@A", True),
        ("a&b@A", False),
        ('a"@A', False),
        ("a b@A", False),
        ("", False),
    ],
)
def test_names_that_a_cookie_can_hold(principal: str, *, expected: bool) -> None:
    """A name must not contain a character that ends a field."""
    assert may_be_named(principal) is expected
