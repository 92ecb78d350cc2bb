"""Two callers have one name only if the NameNode can't tell them apart."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import StatusRequest, parse_call, parse_plain
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.identity import caller_of, claimed_caller, rpc_user_of, rpc_user_of_target


def plain(query: str) -> StatusRequest:
    """The read with this query."""
    read = parse_plain(f"/webhdfs/v1/w/f?op=GETFILESTATUS{query}")
    assert read is not None
    return read


def test_who_asks_is_the_user_name() -> None:
    """With SIMPLE authentication nothing else counts: neither path nor address nor spelling of the op."""
    assert caller_of(plain("&user.name=alice"), "10.0.0.1") == caller_of(
        plain("&user.name=alice"), "10.0.0.2"
    )
    assert caller_of(plain("&user.name=alice"), "") != caller_of(plain("&user.name=Alice"), "")


def test_nobody_can_be_named_so_that_he_is_the_anonymous_caller() -> None:
    """Without a name the NameNode sees its static user, whatever that is called."""
    assert caller_of(plain(""), "") != caller_of(plain("&user.name=anonymous"), "")
    assert caller_of(plain(""), "") != caller_of(plain("&user.name=dr.who"), "")


def test_the_address_counts_for_a_proxy_user() -> None:
    """`hadoop.proxyuser.X.hosts`: the same claim is true from one host and false from another."""
    query = "&user.name=knox&doas=alice"
    assert caller_of(plain(query), "10.0.0.1") != caller_of(plain(query), "10.0.0.2")


def test_a_token_is_not_kept_in_clear() -> None:
    """A delegation token is a credential; its digest tells tokens apart as well."""
    named = caller_of(plain("&delegation=SecretToken"), "")
    assert "SecretToken" not in named
    assert named != caller_of(plain("&delegation=OtherToken"), "")


values = st.none() | st.text("ab=@:/$.-", min_size=1, max_size=6)


@given(
    parts=st.lists(
        st.tuples(values, values, values, st.sampled_from(["10.0.0.1", "::1"])),
        min_size=2,
        max_size=6,
        unique=True,
    )
)
def test_the_name_tells_all_parts_apart(
    parts: list[tuple[str | None, str | None, str | None, str]],
) -> None:
    """ProvenGrant: no value can be written so that it looks like another part."""
    for (one_user, one_doas, one_token, one_peer), (user, doas, token, peer) in itertools.combinations(
        parts, 2
    ):
        one = StatusRequest(
            path="/f", as_requested="/f", user_name=one_user, doas=one_doas, delegation=one_token
        )
        other = StatusRequest(path="/f", as_requested="/f", user_name=user, doas=doas, delegation=token)
        same = (one_user, one_doas, one_token) == (user, doas, token) and (doas is None or one_peer == peer)
        assert (caller_of(one, one_peer) == caller_of(other, peer)) is same


def test_over_rpc_the_same_caller_is_the_same_user() -> None:
    """With `doas` the user who is acted for asks, through the one who acts (IpcConnectionContext)."""
    assert rpc_user_of(plain("&user.name=alice")) == RpcUser("alice")
    assert rpc_user_of(plain("&user.name=oozie&doas=alice")) == RpcUser("alice", real_name="oozie")


def test_who_is_not_named_cannot_be_asked_as() -> None:
    """A token does not say whose it is, and the NameNode's configuration who the anonymous caller is."""
    assert rpc_user_of(plain("")) is None
    assert rpc_user_of(plain("&doas=alice")) is None
    assert rpc_user_of(plain("&user.name=alice&delegation=token")) is None


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
        ("op=CREATE&user.name=a%20b", None),
    ],
)
def test_one_asks_as_a_caller_only_if_every_release_reads_the_same_name(
    query: str, user: RpcUser | None
) -> None:
    """OwnWrites: the right of another says nothing of the caller's."""
    assert rpc_user_of_target(f"/webhdfs/v1/a?{query}") == user
