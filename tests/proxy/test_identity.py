"""What authenticates a read, what its reply proves (docs/decisions/0018), and how the NameNode tells callers apart."""

import hashlib
import itertools
from math import inf
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import StatusRequest, parse_call, parse_plain
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.identity import (
    MARGIN_S,
    Authentication,
    Credential,
    Unclear,
    authentication_of,
    caller_in,
    caller_of,
    cancelled_by,
    claim_of,
    claimed_caller,
    claimed_user,
    is_authenticated_by_fields,
    proven_for_s,
    rpc_user_of,
    rpc_user_of_head,
    unread_fields,
)
from nncache.proxy.messages import Header, RequestHead
from tests.hadoop.made_credentials import cookie, token


def plain(query: str = "") -> StatusRequest:
    """Return the read with this query."""
    read = parse_plain(f"/webhdfs/v1/w/f?op=GETFILESTATUS{query}")
    assert read is not None
    return read


def test_who_asks_is_the_user_name() -> None:
    """With SIMPLE authentication nothing else counts: not the path, the address or the spelling of the op."""
    assert caller_of(plain("&user.name=alice"), None, "10.0.0.1") == caller_of(
        plain("&user.name=alice"), None, "10.0.0.2"
    )
    assert caller_of(plain("&user.name=alice"), None, "") != caller_of(plain("&user.name=Alice"), None, "")


def test_nobody_can_be_named_so_that_he_is_the_anonymous_caller() -> None:
    """Without a name the NameNode uses its static user, whatever its name."""
    assert caller_of(plain(""), None, "") != caller_of(plain("&user.name=anonymous"), None, "")
    assert caller_of(plain(""), None, "") != caller_of(plain("&user.name=dr.who"), None, "")


def test_the_address_counts_for_a_proxy_user() -> None:
    """`hadoop.proxyuser.X.hosts`: a proxy user may be allowed on one host and refused on another."""
    query = "&user.name=knox&doas=alice"
    assert caller_of(plain(query), None, "10.0.0.1") != caller_of(plain(query), None, "10.0.0.2")


def test_what_a_doas_proves_in_one_case_is_nothing_in_another() -> None:
    """ProvenGrant: without Kerberos, Hadoop 3.4.1 answers `doAs` as knox and `doas` as alice."""
    exact, *others = (plain(f"&user.name=knox&{name}=alice") for name in ("doas", "doAs", "DOAS"))
    assert len({caller_of(each, None, "10.0.0.1") for each in (exact, *others)}) == 2
    assert caller_of(exact, None, "10.0.0.1") not in {caller_of(each, None, "10.0.0.1") for each in others}
    assert {rpc_user_of(each, None) for each in others} == {None}
    assert {claimed_caller(each) for each in (exact, *others)} == {"user.name=knox\0doas=alice"}


def test_all_spellings_of_a_name_are_one_caller() -> None:
    """Client libraries percent-encode `@` and `$` (mtth/hdfs #140)."""
    names = ("jane@corp.example", "jane%40corp.example", "jane%40corp%2eexample")
    for query in ("&user.name={}", "&user.name=knox&doas={}", "&user.name=knox&doAs={}"):
        reads = [plain(query.format(name)) for name in names]
        assert len({caller_of(read, None, "10.0.0.1") for read in reads}) == 1
        assert len({claimed_caller(read) for read in reads}) == 1
    assert rpc_user_of(plain(f"&user.name={names[1]}"), None) == RpcUser(names[0])


def test_a_credential_says_who_asks() -> None:
    """Only its name counts, whatever else the request says; with `doas`, that and the address count as well."""
    one, other = (Credential(name, "alice", 1) for name in ("cookie=1", "cookie=2"))
    assert caller_of(plain(""), one, "") != caller_of(plain(""), other, "")
    assert caller_of(plain(""), one, "10.0.0.1") == caller_of(plain(""), one, "10.0.0.2")
    assert caller_of(plain("&user.name=alice"), one, "") != caller_of(plain("&user.name=alice"), None, "")
    assert caller_of(plain("&doas=bob"), one, "10.0.0.1") != caller_of(plain("&doas=bob"), one, "10.0.0.2")


values = st.none() | st.text("ab=@:/$.-", min_size=1, max_size=6)


@given(
    parts=st.lists(
        st.tuples(values, values, values, st.sampled_from(["10.0.0.1", "::1"])),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_the_name_tells_all_parts_apart(parts: list[tuple[str | None, str | None, str | None, str]]) -> None:
    """ProvenGrant: no value can be spelled so that it looks like another part."""
    for (one_user, one_doas, one_token, one_peer), (user, doas, of_token, peer) in itertools.combinations(
        parts, 2
    ):
        one = StatusRequest(path="/f", as_requested="/f", user_name=one_user, doas=one_doas, delegation=None)
        other = StatusRequest(path="/f", as_requested="/f", user_name=user, doas=doas, delegation=None)
        same = (one_user, one_doas, one_token) == (user, doas, of_token) and (
            doas is None or one_peer == peer
        )
        names = (caller_of(one, _of(one_token), one_peer), caller_of(other, _of(of_token), peer))
        assert (names[0] == names[1]) is same


def _of(token: str | None) -> Credential | None:
    return None if token is None else Credential(f"token={hashlib.sha256(token.encode()).hexdigest()}", "", 1)


def test_over_rpc_the_same_caller_is_the_same_user() -> None:
    """With `doas` the caller is the user acted for, through the real user (IpcConnectionContext)."""
    assert rpc_user_of(plain("&user.name=alice"), None) == RpcUser("alice")
    assert rpc_user_of(plain("&user.name=oozie&doas=alice"), None) == RpcUser("alice", real_name="oozie")


def test_who_is_not_named_cannot_be_asked_as() -> None:
    """A token does not prove its owner, and only the NameNode's configuration names the anonymous caller."""
    assert rpc_user_of(plain(""), None) is None
    assert rpc_user_of(plain("&doas=alice"), None) is None
    assert rpc_user_of(plain("&user.name=alice"), Credential("cookie=1", "alice", 1)) is None


@pytest.mark.parametrize(
    ("query", "claimed"),
    [
        ("op=OPEN&user.name=alice", "user.name=alice"),
        ("op=OPEN&user.name=alice&doas=bob", "user.name=alice\0doas=bob"),
        ("op=OPEN&user.name=alice&user.name=bob", "user.name=alice"),
        ("op=OPEN", ""),
    ],
)
def test_what_a_call_says_of_its_caller(query: str, claimed: str) -> None:
    """Only limits use it: the first value of each parameter, even if it proves nothing."""
    assert claimed_caller(parse_call("GET", f"/webhdfs/v1/f?{query}")) == claimed


@pytest.mark.parametrize(
    ("query", "user"),
    [
        ("op=CREATE&user.name=alice", RpcUser("alice")),
        ("op=CREATE&user.name=hue&doas=bob", RpcUser("bob", real_name="hue")),
        ("op=CREATE", None),
        ("op=CREATE&user.name=", None),
        ("op=CREATE&doas=bob", None),
        ("op=CREATE&user.name=alice&user.name=bob", None),
        ("op=CREATE&USER.NAME=alice", None),
        ("op=CREATE&user.name=alice&User.Name=bob", None),
        ("op=CREATE&user%2Ename=alice", None),
        ("op=CREATE&user.name=alice&delegation=x", None),
        ("op=CREATE&user.name=jane%40corp.example", RpcUser("jane@corp.example")),
        ("op=CREATE&user.name=a%0Ab", None),
        ("op=CREATE&user.name=a/b", None),
        ("op=CREATE&user.name=knox&doAs=bob", None),
    ],
)
def test_queries_name_a_caller_if_all_releases_agree(query: str, user: RpcUser | None) -> None:
    """OwnWrites: another user's right says nothing about the caller's."""
    assert rpc_user_of_head(RequestHead("GET", f"/webhdfs/v1/a?{query}", ())) == user


@pytest.mark.parametrize("field", [(b"Authorization", b"Negotiate YII="), (b"Cookie", cookie("bob"))])
def test_what_header_fields_may_say_is_not_guessed_over_rpc(field: tuple[bytes, bytes]) -> None:
    """HitsKept: with bob's cookie, `user.name=alice` must not be asked about as alice."""
    head = RequestHead("PUT", "/webhdfs/v1/a?op=CREATE&user.name=alice", (field,))
    assert rpc_user_of_head(head) is None


FORM: Final = (b"Content-Type", b"application/x-www-form-urlencoded; charset=UTF-8")


@pytest.mark.parametrize(
    ("fields", "user"),
    [
        ((FORM, (b"Content-Length", b"10")), None),
        ((FORM,), None),  # in chunks
        ((FORM, (b"Content-Length", b"0")), RpcUser("knox")),
        (((b"Content-Type", b"text/plain"), (b"Content-Length", b"10")), RpcUser("knox")),
    ],
)
def test_a_form_may_name_the_caller(fields: tuple[Header, ...], user: RpcUser | None) -> None:
    """OwnWrites: what is written for alice by a form's `doas` must not be asked about as knox."""
    head = RequestHead("PUT", "/webhdfs/v1/a?op=CREATE&user.name=knox", fields)
    assert rpc_user_of_head(head) == user


def test_a_cookie_claims_a_caller() -> None:
    """Limits use the cookie's user before `user.name`, which a NameNode with Kerberos ignores."""
    call = parse_call("GET", "/webhdfs/v1/f?op=OPEN&user.name=alice")
    assert claimed_caller(call, [(b"Cookie", cookie("bob"))]) == "user.name=bob"


DATE = (b"Date", b"Sun, 22 Nov 2026 00:00:00 GMT")
DATE_MS = 1_795_305_600_000
SIMPLE, ALICE, BOB = cookie(kind="simple"), cookie("alice"), cookie("bob")


def of_cookies(*values: bytes, query: str = "") -> Authentication:
    """Return the authentication of a read with these `Cookie` fields."""
    return authentication_of(plain(query), [(b"Cookie", value) for value in values])


@pytest.mark.parametrize(
    "values", [(), (b"a=b",), (SIMPLE,), (b"a=b; " + SIMPLE + b"; c=d",), (b"a=b", SIMPLE)]
)
def test_without_a_credential_the_target_says_who_asks(values: tuple[bytes, ...]) -> None:
    """A cookie of type `simple` adds nothing: the NameNode uses `user.name`."""
    assert of_cookies(*values, query="&user.name=alice") is None


def test_a_simple_cookie_is_the_credential_of_who_names_nobody() -> None:
    """The NameNode may refuse such a request without the cookie (simple.anonymous.allowed)."""
    assert isinstance(of_cookies(SIMPLE), Credential)
    assert of_cookies(SIMPLE) == of_cookies(SIMPLE)
    assert of_cookies(b"a=b") is None


def test_a_cookie_is_a_credential() -> None:
    """The credential is named by a digest; the user that the cookie claims is not proven."""
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
    """Operators read the claim: it is short and has no control characters. A cancel ends exactly this name."""
    of_token = authentication_of(plain(f"&delegation={token(owner)}"), ())
    assert isinstance(of_token, Credential)
    assert of_token.name[len("token=") + 64 :] == shown
    cancel = parse_call("PUT", f"/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token={token(owner)}")
    assert cancelled_by(cancel) == (of_token.name,)
    of_cookie = of_cookies(ALICE)
    assert isinstance(of_cookie, Credential)
    assert of_cookie.name.endswith("\0claims=alice")


def test_each_byte_of_the_cookies_counts() -> None:
    """A parser may depend on the bytes beside it, so a proof holds for exactly these fields."""
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
    """Only the NameNode knows which of them counts."""
    assert of_cookies(*values) is Unclear.UNCLEAR
    assert is_authenticated_by_fields([(b"Cookie", value) for value in values])


def test_a_token_is_a_credential_in_all_its_spellings() -> None:
    """A NameNode ignores kind and service."""
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
    """Only a single credential is clear: the release decides which of several counts."""
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
    """A cookie's user is a claim, which limits use."""
    assert is_authenticated_by_fields(headers) is is_authenticated
    assert claimed_user(headers) == user


def _credential(ends_at_ms: int) -> Credential:
    return Credential("cookie=x", "alice", ends_at_ms)


def test_a_proof_ends_before_its_credential() -> None:
    """The `Date` of the reply is the NameNode's clock; of two dates the later counts."""
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
    """No date, no time left, or a new cookie: another credential was accepted, or this one was renewed."""
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
    """Otherwise the NameNode accepted a credential unknown here, such as another server's cookie (JWT)."""
    assert proven_for_s(None, [DATE, (b"Set-Cookie", value)]) == (inf if proves else None)


def test_without_a_credential_the_proof_never_ends() -> None:
    """It depends on no cookie and no date."""
    assert proven_for_s(None, []) == inf


def test_a_call_cancels_the_tokens_that_it_names() -> None:
    """All spellings of a token count; other calls cancel none."""
    held = authentication_of(plain(f"&delegation={token()}"), ())
    assert isinstance(held, Credential)
    for spelled in (token(), token(service="s"), token().replace("-", "+") + "%3D"):
        call = parse_call("PUT", f"/webhdfs/v1/?op=cancelDelegationToken&token={spelled}")
        assert cancelled_by(call) == (held.name,)
    assert cancelled_by(parse_call("PUT", f"/webhdfs/v1/?op=RENEWDELEGATIONTOKEN&token={token()}")) == ()
    assert cancelled_by(parse_call("PUT", "/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token=zzz")) == ()
    assert cancelled_by(parse_call("PUT", "/webhdfs/v1/?op=CANCELDELEGATIONTOKEN")) == ()


@pytest.mark.parametrize(
    ("user", "doas", "claim"),
    [
        (None, None, ""),
        ("joe", None, "user.name=joe"),
        (None, "alice", "doas=alice"),
        ("knox", "alice", "user.name=knox\0doas=alice"),
    ],
)
def test_a_claim_names_who_asks_and_for_whom(user: str | None, doas: str | None, claim: str) -> None:
    """It proves nothing, and a long one is replaced by its digest."""
    assert claim_of(user, doas) == claim
    assert len(claim_of(999 * "a", doas)) == 40


def test_the_caller_of_a_head_is_read_of_its_fields() -> None:
    """Only figures of tenants use it; a call that is not a plain read has none."""
    head = b"GET /f HTTP/1.1\r\nHost: nn\r\nCookie: " + cookie("bob") + b"\r\n\r\n"
    assert caller_in(head, "/webhdfs/v1/f?op=GETFILESTATUS&user.name=joe") == "user.name=bob"
    assert (
        caller_in(b"GET /f HTTP/1.1\r\n\r\n", "/webhdfs/v1/f?op=GETFILESTATUS&user.name=joe")
        == "user.name=joe"
    )
    assert caller_in(head, "/webhdfs/v1/f?op=LISTSTATUS") == ""


def test_whom_the_proxy_has_authenticated_it_knows_by_itself() -> None:
    """The target does not count then."""
    head = RequestHead("GET", "/webhdfs/v1/f?op=LISTSTATUS&user.name=joe", (), acts_for="alice")
    assert rpc_user_of_head(head) == RpcUser("alice")


def test_fields_that_may_say_who_asks_tell_requests_apart() -> None:
    """Their order does not matter. A NameNode's own cookie and trace fields are left out."""
    own = (b"Cookie", b'hadoop.auth="u=a&p=a&t=simple&e=1&s=c2ln"')
    trace = (b"TraceParent", b"00-1-1-01")
    assert (
        unread_fields(()) == unread_fields((own, (b"Accept", b"a=b"), trace, (b"Prefer", b"wait=60"))) == b""
    )
    bob = unread_fields((own, (b"cookie", b"hadoop-jwt=bob")))
    assert bob == unread_fields((trace, (b"Cookie", own[1] + b" ;\thadoop-jwt=bob")))
    cookies = (
        b"hadoop-jwt=carol",
        b"a=b; c=d",
        b"a=b;c=e",
        b";",
        b"x-remote-user; bob",
        b"x-remote-user:bob",
    )
    fields = ((b"X-Remote-User", b"bob"), (b"x-remote-user", b"carol"), (b"SM_USER", b"bob"))
    others = {unread_fields((each,)) for each in (*((b"Cookie", each) for each in cookies), *fields)}
    assert len(others | {bob, b""}) == 11
