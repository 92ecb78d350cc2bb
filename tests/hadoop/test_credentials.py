"""The contents of cookies and delegation tokens, and which values are neither."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.credentials import (
    AuthCookie,
    parse_auth_cookie,
    parse_cancelled_token,
    parse_delegation_token,
)
from tests.hadoop.made_credentials import FAR_MS, blob, cookie, number, text, token

REAL = (
    b'"u=alice&p=alice@TEST.LOCAL&t=kerberos&e=1795300000000&s=zc1Zx+/0Yb8oN2TtqFqQ0yT1o1p1cVw2Rl0mA0Y9d2E="'
)
"""A cookie of a NameNode 3.5.0, with another signature."""


@pytest.mark.parametrize("value", [REAL, REAL.strip(b'"')])
def test_a_cookie_names_user_kind_and_end(value: bytes) -> None:
    """A NameNode accepts it with or without quotes. With token.max-inactive-interval it also has `i`."""
    assert parse_auth_cookie(value) == AuthCookie("alice", "kerberos", 1795300000000)
    assert parse_auth_cookie(b"u=a&p=a&t=kerberos&i=1&e=2&s=x") == AuthCookie("a", "kerberos", 2)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b'""',
        b"opaque",
        b'"u=a&p=a&t=kerberos&e=1&s=x',
        b'u=a&p=a&t=kerberos&e=1&s=x"',
        b"u=a&p=a&t=kerberos&e=1",
        b"u=a&p=a&t=kerberos&s=x",
        b"u=a&p=a&e=1&s=x",
        b"p=a&t=kerberos&e=1&s=x",
        b"u=a&u=b&p=a&t=kerberos&e=1&s=x",
        b"u=a&p=a&t=simple&t=kerberos&e=1&s=x",
        b"u=a&p=a&t=kerberos&e=1&s=x&z=1",
        b"u=a&p=a&t=kerberos&e=-1&s=x",
        b"u=a&p=a&t=kerberos&e=1e9&s=x",
        b"u=a&p=a&t=kerberos&e=" + b"9" * 19 + b"&s=x",
        b"u=&p=a&t=kerberos&e=1&s=x",
        b"u=a b&p=a&t=kerberos&e=1&s=x",
        b"u=a&p=a&t=kerberos&e=1&s=x\xff",
        b"u=a,p=a&p=a&t=kerberos&e=1&s=x",
    ],
)
def test_what_might_be_read_in_another_way_is_no_cookie(value: bytes) -> None:
    """A NameNode may still accept it; the cache concludes nothing from that."""
    assert parse_auth_cookie(value) is None


def test_a_token_names_owner_and_end() -> None:
    """The token also has a fingerprint of its identifier and password."""
    read = parse_delegation_token(token("bob", max_date_ms=FAR_MS))
    assert read is not None
    assert (read.owner, read.max_date_ms) == ("bob", FAR_MS)


def test_all_spellings_of_a_token_have_one_fingerprint() -> None:
    """A NameNode ignores kind and service; it knows a token by identifier and password."""
    prints = [
        parse_delegation_token(spelled)
        for spelled in (token(), token(kind="X"), token(service="10.0.0.1:8020"))
    ]
    assert len({each.fingerprint for each in prints if each is not None}) == 1
    assert None not in prints


@given(
    one=st.tuples(st.sampled_from(["a", "ab", "b"]), st.binary(max_size=3)),
    other=st.tuples(st.sampled_from(["a", "ab", "b"]), st.binary(max_size=3)),
)
def test_another_token_has_another_fingerprint(one: tuple[str, bytes], other: tuple[str, bytes]) -> None:
    """Bytes of the password never count as part of the identifier, or the other way round."""
    first, second = (
        parse_delegation_token(token(owner, password=password)) for owner, password in (one, other)
    )
    assert first is not None
    assert second is not None
    assert (first.fingerprint == second.fingerprint) is (one == other)


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_read_as_they_are_written(value: int) -> None:
    """The encoding is that of WritableUtils.readVLong."""
    read = parse_delegation_token(token(max_date_ms=value))
    assert read is not None
    assert read.max_date_ms == value


@pytest.mark.parametrize(
    "spelled",
    [
        "",
        "token",
        "a",
        token() + "=",
        token() + "AAAA",
        token(version=1),
        token(more=b"x"),
        base64.urlsafe_b64encode(blob(b"") + blob(b"") + text("") + text("")).decode().rstrip("="),
        base64.urlsafe_b64encode(number(-1)).decode().rstrip("="),
        base64.urlsafe_b64encode(blob(b"\0\xff")).decode().rstrip("="),
        base64.urlsafe_b64encode(blob(b"\0\1\xff") + blob(b"") + text("") + text("")).decode().rstrip("="),
    ],
)
def test_what_is_no_token(spelled: str) -> None:
    """They are truncated, too long, of another version, or not URL-safe base64."""
    assert parse_delegation_token(spelled) is None


def test_made_cookies_are_cookies() -> None:
    """The cookies of `made_credentials.py` are valid, so the other tests that use them are."""
    assert parse_auth_cookie(cookie("bob", kind="simple").partition(b"=")[2]) == AuthCookie(
        "bob", "simple", FAR_MS
    )


@given(
    st.binary(max_size=5),
    st.binary(max_size=5),
    st.text(alphabet=" \n\r\t.!%&*,:;~\xe9\u20ac", max_size=6),
    st.integers(min_value=0),
    st.sampled_from(["", "=", "==", "=AAAA", "=\n= x"]),
    st.booleans(),
)
def test_every_spelling_that_is_cancelled_is_read(
    behind: bytes, in_identifier: bytes, odd: str, at: int, end: str, is_standard: bool
) -> None:
    """As commons-codec and Hadoop's Writables read it; other characters, and all after "=", are ignored."""
    plain = parse_delegation_token(token())
    assert plain is not None
    spelled = token(more=behind, more_in_identifier=in_identifier)
    if is_standard:
        spelled = spelled.replace("-", "+").replace("_", "/")
    at %= len(spelled) + 1
    if behind:
        end = end if len(spelled) % 4 != 1 else ""
    found = parse_cancelled_token(spelled[:at] + odd + spelled[at:] + end)
    assert found == plain
    assert parse_delegation_token(token(more_in_identifier=b"x")) is None


@pytest.mark.parametrize(
    "spelled",
    ["", "=", "!!", "A", "=" + token(), token()[:40], token(version=1), token()[: len(token()) // 2]],
)
def test_what_names_no_token_cancels_none(spelled: str) -> None:
    """A NameNode finds no token either: the value is invalid, or of another version."""
    assert parse_cancelled_token(spelled) is None


def test_a_token_is_cancelled_by_its_identifier() -> None:
    """A NameNode ignores the password there."""
    other = parse_cancelled_token(token(password=b"other"))
    plain = parse_delegation_token(token())
    assert other is not None
    assert plain is not None
    assert other.identity == plain.identity
    assert other.fingerprint != plain.fingerprint
    renamed = parse_cancelled_token(token("bob"))
    assert renamed is not None
    assert renamed.identity != plain.identity
