"""A target means to plain calls what it means to the ordinary path, also when its query is known."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import parse_call, parse_plain
from nncache.hadoop.effects import changes_nothing
from nncache.proxy.credentials import Unclear, authentication_of
from nncache.proxy.identity import claimed_caller
from nncache.proxy.plain_targets import MAX_QUERIES, PlainTarget, PlainTargets
from nncache.proxy.targets import is_webhdfs
from tests.hadoop.made_credentials import token

PATHS: Final = (
    "/a/f",
    "",
    "/",
    "//a//f/",
    "/a%2Ff",
    "/a%zz",
    "/.reserved/x",
    "/a/../b",
    "/a;b",
    "/%C3%A9",
    "x",
)
QUERIES: Final = (
    "op=GETFILESTATUS",
    "op=GETFILESTATUS&user.name=joe",
    "user.name=joe&op=GETFILESTATUS&doas=ann",
    "op=getfilestatus&user.name=joe",
    "op=GETFILESTATUS&user.name=jane%40corp.example",
    "op=GETFILESTATUS&user.name=jane%0A",
    "op=GETFILESTATUS&user.name=knox&doAs=jane%40corp.example",
    "op=GETFILESTATUS&user.name=knox&doas=ann&doAs=joe",
    "op=GETFILESTATUS&op=GETFILESTATUS",
    "op=GETFILESTATUS&user.name=",
    "op=GETFILESTATUS&user.name=" + "j" * 300,
    "op=GETFILESTATUS&user.name=" + "j" * 110,
    "op=GETFILESTATUS&delegation=abc",
    f"op=GETFILESTATUS&delegation={token()}",
    f"op=GETFILESTATUS&delegation={token()}&user.name=joe",
    "op=GETFILESTATUS&Delegation=abc",
    "op=GETFILESTATUS&offset=1",
    "op=LISTSTATUS&user.name=GETFILESTATUS",
    "op=LISTSTATUS",
    "op=OPEN",
    "op=CREATE",
    "",
)


def as_on_the_ordinary_path(target: str) -> PlainTarget | None:
    """Read a target without anything that is remembered."""
    plain = parse_plain(target)
    call = parse_call("GET", target)
    if not is_webhdfs(target) or (plain is None and not changes_nothing(call)):
        return None
    proof = None if plain is None else authentication_of(plain, ())
    if proof is Unclear.UNCLEAR:
        return None
    read = PlainTargets().read(target)
    assert read is not None
    assert read.token == proof
    assert (read.text, read.plain) == (target, plain)
    assert read.caller == claimed_caller(plain or call)
    return read


@given(st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(QUERIES)), max_size=12))
def test_what_was_read_before_changes_nothing(asked: list[tuple[str, str]]) -> None:
    """Neither the same query with another path, nor the same path with another query."""
    targets = PlainTargets()
    for path, query in asked:
        target = f"/webhdfs/v1{path}?{query}"
        assert targets.read(target) == as_on_the_ordinary_path(target)
        targets.check()


@pytest.mark.parametrize("target", ["/webhdfs/v2/a?op=GETFILESTATUS", "/jmx?op=GETFILESTATUS", "/webhdfs/v1"])
def test_what_is_no_webhdfs_is_left(target: str) -> None:
    """Whatever its query."""
    targets = PlainTargets()
    assert targets.read("/webhdfs/v1/a?op=GETFILESTATUS") is not None
    read = targets.read(target)
    assert read is None or read.plain is None


def test_queries_are_bounded() -> None:
    """As many callers as may be."""
    targets = PlainTargets()
    for number in range(MAX_QUERIES + 3):
        read = targets.read(f"/webhdfs/v1/a?op=GETFILESTATUS&user.name=u{number}")
        assert read is not None
        assert read.caller == f"user.name=u{number}"
    targets.check()
    assert len(targets._askers) == MAX_QUERIES  # noqa: SLF001 - the bound
