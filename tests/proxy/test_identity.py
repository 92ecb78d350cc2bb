"""Two callers have one name only if the NameNode can't tell them apart."""

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import StatusRequest, parse_call, parse_plain
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.identity import Credential, caller_of, claimed_caller, rpc_user_of, rpc_user_of_head
from nncache.proxy.messages import RequestHead
from tests.hadoop.made_credentials import cookie


def plain(query: str) -> StatusRequest:
    """The read with this query."""
    read = parse_plain(f"/webhdfs/v1/w/f?op=GETFILESTATUS{query}")
    assert read is not None
    return read


def test_who_asks_is_the_user_name() -> None:
    """With SIMPLE authentication nothing else counts: neither path nor address nor spelling of the op."""
    assert caller_of(plain("&user.name=alice"), None, "10.0.0.1") == caller_of(
        plain("&user.name=alice"), None, "10.0.0.2"
    )
    assert caller_of(plain("&user.name=alice"), None, "") != caller_of(plain("&user.name=Alice"), None, "")


def test_nobody_can_be_named_so_that_he_is_the_anonymous_caller() -> None:
    """Without a name the NameNode sees its static user, whatever that is called."""
    assert caller_of(plain(""), None, "") != caller_of(plain("&user.name=anonymous"), None, "")
    assert caller_of(plain(""), None, "") != caller_of(plain("&user.name=dr.who"), None, "")


def test_the_address_counts_for_a_proxy_user() -> None:
    """`hadoop.proxyuser.X.hosts`: the same claim is true from one host and false from another."""
    query = "&user.name=knox&doas=alice"
    assert caller_of(plain(query), None, "10.0.0.1") != caller_of(plain(query), None, "10.0.0.2")


def test_what_a_doas_proves_in_one_case_is_nothing_in_another() -> None:
    """ProvenGrant: without Kerberos 3.4.1 answers `doAs` for knox, and `doas` for alice."""
    exact, *others = (plain(f"&user.name=knox&{name}=alice") for name in ("doas", "doAs", "DOAS"))
    assert len({caller_of(each, None, "10.0.0.1") for each in (exact, *others)}) == 2
    assert caller_of(exact, None, "10.0.0.1") not in {caller_of(each, None, "10.0.0.1") for each in others}
    assert {rpc_user_of(each, None) for each in others} == {None}
    assert {claimed_caller(each) for each in (exact, *others)} == {"user.name=knox\0doas=alice"}


def test_all_spellings_of_a_name_are_one_caller() -> None:
    """No client library sends a raw `@` or `$` (mtth/hdfs #140)."""
    names = ("jane@corp.example", "jane%40corp.example", "jane%40corp%2eexample")
    for query in ("&user.name={}", "&user.name=knox&doas={}", "&user.name=knox&doAs={}"):
        reads = [plain(query.format(name)) for name in names]
        assert len({caller_of(read, None, "10.0.0.1") for read in reads}) == 1
        assert len({claimed_caller(read) for read in reads}) == 1
    assert rpc_user_of(plain(f"&user.name={names[1]}"), None) == RpcUser(names[0])


def test_a_credential_says_who_asks() -> None:
    """By its name, whatever else the request says; with `doas` that and the address count as well."""
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
    """ProvenGrant: no value can be written so that it looks like another part."""
    for (one_user, one_doas, one_token, one_peer), (user, doas, token, peer) in itertools.combinations(
        parts, 2
    ):
        one = StatusRequest(path="/f", as_requested="/f", user_name=one_user, doas=one_doas, delegation=None)
        other = StatusRequest(path="/f", as_requested="/f", user_name=user, doas=doas, delegation=None)
        same = (one_user, one_doas, one_token) == (user, doas, token) and (doas is None or one_peer == peer)
        names = (caller_of(one, _of(one_token), one_peer), caller_of(other, _of(token), peer))
        assert (names[0] == names[1]) is same


def _of(token: str | None) -> Credential | None:
    return None if token is None else Credential(f"token={hashlib.sha256(token.encode()).hexdigest()}", "", 1)


def test_over_rpc_the_same_caller_is_the_same_user() -> None:
    """With `doas` the user who is acted for asks, through the one who acts (IpcConnectionContext)."""
    assert rpc_user_of(plain("&user.name=alice"), None) == RpcUser("alice")
    assert rpc_user_of(plain("&user.name=oozie&doas=alice"), None) == RpcUser("alice", real_name="oozie")


def test_who_is_not_named_cannot_be_asked_as() -> None:
    """A token does not say whose it is, and the NameNode's configuration who the anonymous caller is."""
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
    """For limits alone: the first of each, whatever it proves."""
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
    """OwnWrites: the right of another says nothing of the caller's."""
    assert rpc_user_of_head(RequestHead("GET", f"/webhdfs/v1/a?{query}", ())) == user


@pytest.mark.parametrize("field", [(b"Authorization", b"Negotiate YII="), (b"Cookie", cookie("bob"))])
def test_what_header_fields_may_say_is_not_guessed_over_rpc(field: tuple[bytes, bytes]) -> None:
    """HitsKept: with a cookie of bob's, `user.name=alice` must not be asked about as alice."""
    head = RequestHead("PUT", "/webhdfs/v1/a?op=CREATE&user.name=alice", (field,))
    assert rpc_user_of_head(head) is None


def test_a_cookie_claims_a_caller() -> None:
    """For limits, before `user.name`, to which a NameNode with Kerberos pays no heed."""
    call = parse_call("GET", "/webhdfs/v1/f?op=OPEN&user.name=alice")
    assert claimed_caller(call, [(b"Cookie", cookie("bob"))]) == "user.name=bob"
