"""What authenticates a read, and what a reply proves of it: the rules of docs/decisions/0018, one by one."""

from math import inf

import pytest

from nncache.hadoop.calls import StatusRequest, parse_call, parse_plain
from nncache.proxy.identity import (
    MARGIN_S,
    Authentication,
    Credential,
    Unclear,
    authentication_of,
    cancelled_by,
    claimed_user,
    is_authenticated_by_fields,
    proven_for_s,
)
from nncache.proxy.messages import Header
from tests.hadoop.made_credentials import cookie, token

DATE = (b"Date", b"Sun, 22 Nov 2026 00:00:00 GMT")
DATE_MS = 1_795_305_600_000
SIMPLE, ALICE, BOB = cookie(kind="simple"), cookie("alice"), cookie("bob")


def plain(query: str = "") -> StatusRequest:
    """The read with this query."""
    read = parse_plain(f"/webhdfs/v1/w/f?op=GETFILESTATUS{query}")
    assert read is not None
    return read


def of_cookies(*values: bytes, query: str = "") -> Authentication:
    """What authenticates a read with these `Cookie` fields."""
    return authentication_of(plain(query), [(b"Cookie", value) for value in values])


@pytest.mark.parametrize(
    "values", [(), (b"a=b",), (SIMPLE,), (b"a=b; " + SIMPLE + b"; c=d",), (b"a=b", SIMPLE)]
)
def test_without_a_credential_the_target_says_who_asks(values: tuple[bytes, ...]) -> None:
    """A cookie of the type `simple` says nothing beside it: the NameNode goes by `user.name`."""
    assert of_cookies(*values, query="&user.name=alice") is None


def test_a_simple_cookie_is_the_credential_of_who_names_nobody() -> None:
    """Without it the NameNode may refuse what it lets in with it (simple.anonymous.allowed)."""
    assert isinstance(of_cookies(SIMPLE), Credential)
    assert of_cookies(SIMPLE) == of_cookies(SIMPLE)
    assert of_cookies(b"a=b") is None


def test_a_cookie_is_a_credential() -> None:
    """It is known by a digest; what it claims is no proof."""
    found = of_cookies(ALICE)
    assert isinstance(found, Credential)
    assert found.claims == "alice"
    assert ALICE.decode() not in found.name
    assert found != of_cookies(BOB)
    assert found == authentication_of(plain(), [(b"COOKIE", ALICE)])


@pytest.mark.parametrize(
    ("owner", "shown"),
    [("alice", "\0claims=alice"), ("a" * 999, "\0claims=" + "a" * 64), ("alice\x1b[2J", "")],
    ids=["alice", "long", "escapes"],
)
def test_a_credentials_name_says_whom_it_claims(owner: str, shown: str) -> None:
    """For who reads it: in bounds, and steering no terminal. A cancel ends just this name."""
    of_token = authentication_of(plain(f"&delegation={token(owner)}"), ())
    assert isinstance(of_token, Credential)
    assert of_token.name[len("token=") + 64 :] == shown
    cancel = parse_call("PUT", f"/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token={token(owner)}")
    assert cancelled_by(cancel) == (of_token.name,)
    of_cookie = of_cookies(ALICE)
    assert isinstance(of_cookie, Credential)
    assert of_cookie.name.endswith("\0claims=alice")


def test_each_byte_of_the_cookies_counts() -> None:
    """A parser may take what stands beside it into account; so a proof is one of exactly these fields."""
    names = {found.name for found in map(of_cookies, (ALICE, b"a=b; " + ALICE, ALICE + b"; a=b")) if found}
    forged = of_cookies(cookie(signature="c2lo"))
    assert isinstance(forged, Credential)
    assert len(names | {forged.name}) == 4
    assert of_cookies(b"a=b", ALICE) not in (of_cookies(ALICE), of_cookies(b"a=b; " + ALICE))


@pytest.mark.parametrize(
    "values",
    [
        (ALICE + b"; " + ALICE,),
        (ALICE, BOB),
        (SIMPLE, ALICE),
        (b"HADOOP.AUTH" + ALICE[11:],),
        (b'a="b, ' + ALICE,),
        (b"hadoop.auth=opaque",),
        (b"hadoop.auth",),
        (b"x" + ALICE,),
        (ALICE.replace(b"t=kerberos", b"t=simple&t=kerberos"),),
    ],
)
def test_several_or_odd_cookies_are_unclear(values: tuple[bytes, ...]) -> None:
    """Which of them counts is the NameNode's to say."""
    assert of_cookies(*values) is Unclear.UNCLEAR
    assert is_authenticated_by_fields([(b"Cookie", value) for value in values])


def test_a_token_is_a_credential_in_all_its_spellings() -> None:
    """A NameNode pays no heed to kind and service."""
    found = authentication_of(plain(f"&delegation={token()}"), ())
    assert isinstance(found, Credential)
    assert found.claims == "alice"
    assert found == authentication_of(plain(f"&delegation={token(service='x')}"), ())
    assert found != authentication_of(plain(f"&delegation={token(password=b'q' * 20)}"), ())


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("&delegation=zzz", ()),
        (f"&delegation={token()}", (ALICE,)),
        (f"&delegation={token()}", (SIMPLE,)),
        (f"&delegation={token()}", (b"hadoop.auth=x",)),
        (f"&delegation={token()}&user.name=bob", ()),
        (f"&delegation={token()}&doas=bob", ()),
    ],
)
def test_a_token_beside_anything_else_is_unclear(query: str, values: tuple[bytes, ...]) -> None:
    """One credential only: what counts may depend on the release."""
    assert of_cookies(*values, query=query) is Unclear.UNCLEAR


@pytest.mark.parametrize(
    ("headers", "is_authenticated", "user"),
    [
        ([], False, None),
        ([(b"Cookie", SIMPLE), (b"Accept", b"*/*")], False, None),
        ([(b"cookie", ALICE)], True, "alice"),
        ([(b"Authorization", b"Negotiate YII=")], True, None),
        ([(b"Cookie", b"hadoop.auth=opaque")], True, None),
    ],
)
def test_whom_the_fields_of_any_call_name(
    headers: list[Header], is_authenticated: bool, user: str | None
) -> None:
    """A cookie's user is a claim, for limits."""
    assert is_authenticated_by_fields(headers) is is_authenticated
    assert claimed_user(headers) == user


def _credential(ends_at_ms: int) -> Credential:
    return Credential("cookie=x", "alice", ends_at_ms)


def test_a_proof_ends_before_its_credential() -> None:
    """By the NameNode's own clock, as this reply tells it; the later where it tells it twice."""
    credential = _credential(DATE_MS + 60_000)
    assert proven_for_s(credential, [DATE]) == 60 - MARGIN_S
    later = (b"date", b"Sun, 22 Nov 2026 00:00:10 GMT")
    assert proven_for_s(credential, [later, DATE]) == 50 - MARGIN_S


@pytest.mark.parametrize(
    ("ends_in_ms", "headers"),
    [
        (60_000, []),
        (60_000, [(b"Date", b"today")]),
        (60_000, [(b"Date", b"\xff")]),
        (60_000, [DATE, (b"Date", b"today")]),
        (-1, [DATE]),
        (int(MARGIN_S * 1000), [DATE]),
        (60_000, [DATE, (b"Set-Cookie", SIMPLE)]),
        (60_000, [DATE, (b"set-cookie", b"a=b")]),
        (60_000, [DATE, (b"Set-Cookie", ALICE)]),
    ],
)
def test_replies_that_prove_nothing_of_a_credential(ends_in_ms: int, headers: list[Header]) -> None:
    """No clock, no time left, or a cookie that is set: another credential was accepted, or this one is renewed."""
    assert proven_for_s(_credential(DATE_MS + ends_in_ms), headers) is None


@pytest.mark.parametrize(
    ("value", "proves"),
    [
        (b'hadoop.auth="u=joe&p=joe&t=simple&e=1&s=x"; Path=/; HttpOnly', True),
        (b"hadoop.auth=u=joe&p=joe&t=simple&e=1&s=x", True),
        (b"hadoop.auth=; Path=/; HttpOnly", True),
        (b'hadoop.auth=""; Path=/', True),
        (b"hadoop.auth=", True),
        (b"other=x", True),
        (b'hadoop.auth="u=joe&p=joe&t=kerberos&e=1&s=x"', False),
        (b'hadoop.auth="u=joe&p=joe&t=jwt&e=1&s=x&t=simple&"', False),
        (b"HADOOP.AUTH=u=joe&p=joe&t=simple&e=1&s=x", False),
        (b"hadoop.auth=secret", False),
    ],
)
def test_a_cookie_set_without_a_credential_is_simple(value: bytes, proves: bool) -> None:
    """Else the NameNode accepted something that is not known here, such as another server's cookie (JWT)."""
    assert proven_for_s(None, [DATE, (b"Set-Cookie", value)]) == (inf if proves else None)


def test_without_a_credential_nothing_has_to_be_said() -> None:
    """Neither a cookie nor a time."""
    assert proven_for_s(None, []) == inf


def test_a_call_cancels_the_tokens_that_it_names() -> None:
    """However they are spelled; other calls cancel none."""
    held = authentication_of(plain(f"&delegation={token()}"), ())
    assert isinstance(held, Credential)
    for spelled in (token(), token(service="s"), token().replace("-", "+") + "%3D"):
        call = parse_call("PUT", f"/webhdfs/v1/?op=cancelDelegationToken&token={spelled}")
        assert cancelled_by(call) == (held.name,)
    assert cancelled_by(parse_call("PUT", f"/webhdfs/v1/?op=RENEWDELEGATIONTOKEN&token={token()}")) == ()
    assert cancelled_by(parse_call("PUT", "/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token=zzz")) == ()
    assert cancelled_by(parse_call("PUT", "/webhdfs/v1/?op=CANCELDELEGATIONTOKEN")) == ()
