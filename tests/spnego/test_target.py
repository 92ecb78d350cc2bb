"""A NameNode gets exactly one user name: the one that the proxy has checked."""

from urllib.parse import parse_qsl

import pytest

from nncache.hadoop.calls import MAX_PARAMETERS
from nncache.proxy.errors import ClientError
from nncache.spnego.target import read_target

PREFIX = "/webhdfs/v1"


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("?op=GETFILESTATUS", "?doas=alice&op=GETFILESTATUS"),
        ("?op=X&user.name=bob", "?doas=alice&op=X"),
        ("?op=X&USER.NAME=bob&doAs=carol", "?doas=alice&op=X"),
        ("?op=X&d%6Fas=carol&user%2Ename=bob", "?doas=alice&op=X"),
        ("?op=X&a=%2F&b=1+1", "?doas=alice&op=X&a=%2F&b=1+1"),
        ("?doas", "?doas=alice"),
        ("", "?doas=alice"),
        ("?&&", "?doas=alice"),
        ("?op=X&x=doas=carol", "?doas=alice&op=X&x=doas=carol"),
    ],
)
def test_it_is_first_and_alone(query: str, sent: str) -> None:
    """Every other one is removed, and the rest of the query is unchanged."""
    assert read_target(f"{PREFIX}/a%20b{query}").for_user("alice") == f"{PREFIX}/a%20b{sent}"


def test_the_roots_slash_may_be_missing() -> None:
    """FailToNameNode: NameNodes accept this, and fsspec requests tokens and the home directory so."""
    target = read_target(f"{PREFIX}?op=GETDELEGATIONTOKEN")
    assert target.for_user("alice") == f"{PREFIX}?doas=alice&op=GETDELEGATIONTOKEN"
    plain = read_target(f"{PREFIX}?op=GETFILESTATUS").plain_for("alice")
    assert plain is not None
    assert (plain.path, plain.user_name) == ("/", "alice")


@pytest.mark.parametrize(
    "user", ["jane@corp.example", "a&user.name=hdfs", "CORP\\jane", "m\u00fcller", "a b+c%41"]
)
def test_a_name_cannot_add_a_parameter(user: str) -> None:
    """ProvenGrant: whatever the user's name, the NameNode reads exactly this name."""
    query = read_target(f"{PREFIX}/?op=X").for_user(user).partition("?")[2]
    assert parse_qsl(query) == [("doas", user), ("op", "X")]


@pytest.mark.parametrize(
    ("query", "doas"),
    [("?op=X", None), ("?doas=bob", "bob"), ("?DOAS=b%6Fb", "bob"), ("?doas=", ""), ("?user.name=bob", None)],
)
def test_whom_the_client_names(query: str, doas: str | None) -> None:
    """This holds for any spelling."""
    assert read_target(f"{PREFIX}/{query}").doas == doas


@pytest.mark.parametrize(
    ("query", "expected"),
    [("?delegation=x", True), ("?DELEGATION=", True), ("?d%65legation=x", True), ("?token=x", False)],
)
def test_whether_a_token_says_who_asks(query: str, *, expected: bool) -> None:
    """This holds for any spelling."""
    assert read_target(f"{PREFIX}/{query}").has_token is expected


@pytest.mark.parametrize(
    "target",
    [
        f"{PREFIX}/?op=X#f",
        "http://host/webhdfs/v1/?op=X",
        "/webhdfs/v2/?op=X",
        "/webhdfs/v1x?op=X",
        "/webhdfs/v1%2F?op=X",
        "/webhdfs",
        f"{PREFIX}/?do%as=x",
        f"{PREFIX}/?%u0064oas=x",
        f"{PREFIX}/?doas=%ff",
        f"{PREFIX}/?doas=a&DOAS=b",
        f"{PREFIX}/?" + "&".join(["a=1"] * (MAX_PARAMETERS + 1)),
    ],
)
def test_what_readers_could_differ_about_is_refused(target: str) -> None:
    """Such a target is not sent to a NameNode with the service's rights."""
    with pytest.raises(ClientError):
        read_target(target)


def test_what_it_asks_of_the_cache_is_of_the_user() -> None:
    """The read is one with `user.name`; a request that is not plain has none."""
    plain = read_target(f"{PREFIX}/a?op=GETFILESTATUS&user.name=bob&doas=carol").plain_for("alice")
    assert plain is not None
    assert (plain.path, plain.user_name, plain.doas) == ("/a", "alice", None)
    assert read_target(f"{PREFIX}/a?op=LISTSTATUS").plain_for("alice") is None
