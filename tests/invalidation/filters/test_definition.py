"""A filter is validated when it is created, so that no unusable one reaches HDFS or ZooKeeper."""

import json

import pytest

from nncache.invalidation.channel.published_filters import MAX_GLOB_LENGTH
from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.definition import (
    MAX_DEFINITION_BYTES,
    Filter,
    encode_definition,
    filter_as_json,
    parse_definition,
)

JOE = Filter("joe.SUCCESS-1", "/user/joe/*/*/_SUCCESS", "joe", ("bob", "alice", "bob"))


def test_subscribers_are_a_set_in_order() -> None:
    """Two filters that allow the same users are equal, whatever the order and repetition of the users."""
    assert JOE.allowed_subscribers == ("alice", "bob")
    assert Filter("joe.SUCCESS-1", "/user/joe/*/*/_SUCCESS", "joe", ("alice", "bob")) == JOE


@pytest.mark.parametrize(
    "name", ["", ".cache", ".tmp-1", "-a", "a/b", "a b", "ä", "zookeeper", "quota", "a" * 129, "a\n", ".."]
)
def test_a_name_that_no_znode_may_have_is_refused(name: str) -> None:
    """The name becomes a znode next to the channel's own, and a directory in HDFS."""
    with pytest.raises(FilterError, match=r"^name: .*must be letters, digits"):
        Filter(name, "/a", "joe")


@pytest.mark.parametrize("glob", ["", "user/joe", "/a{b", "/a/../b", "//a"])
def test_a_glob_that_hadoop_would_not_read_is_refused(glob: str) -> None:
    """The reason and its position are those of the glob parser."""
    with pytest.raises(FilterError, match=r"^glob: .*at position"):
        Filter("a", glob, "joe")


def test_a_glob_that_no_path_could_carry_is_refused() -> None:
    """It has bytes that are not UTF-8 (surrogates on a command line), or more characters than a path may have."""
    with pytest.raises(FilterError, match=r"^glob: .*is not UTF-8"):
        Filter("a", "/\udcff", "joe")
    with pytest.raises(FilterError, match=r"^glob: 8001 characters: at most 8000"):
        Filter("a", "/" + "a" * MAX_GLOB_LENGTH, "joe")


def test_whoever_is_no_user_is_refused() -> None:
    """HDFS must accept the owner of a directory; a subscriber becomes a file name."""
    with pytest.raises(FilterError, match=r"^owner: 'a:b': must be a user name"):
        Filter("a", "/a", "a:b")
    with pytest.raises(FilterError, match=r"^subscriber: '../b': must be a user name"):
        Filter("a", "/a", "joe", ("alice", "../b"))


def test_the_subscribers_of_one_filter_fit_into_a_znode() -> None:
    """Their number and the total length of their names are limited (guarantee: every definition can be published)."""
    Filter("a", "/a", "joe", tuple(f"u{number}" for number in range(10_000)))
    with pytest.raises(FilterError, match=r"^10001 subscribers: at most 10000"):
        Filter("a", "/a", "joe", tuple(f"u{number}" for number in range(10_001)))
    with pytest.raises(FilterError, match=r"^2000 subscribers: their names have 400000 bytes"):
        Filter("a", "/a", "joe", tuple(f"u{number:0199}" for number in range(2000)))
    with pytest.raises(FilterError, match=r"^2000 subscribers: their names have 408000 bytes"):
        Filter("a", "/a", "joe", tuple(f"{number:04}" + 100 * "\\" for number in range(2000)))


def test_the_definition_holds_what_administrators_change() -> None:
    """The owner and the subscribers are not in it: the directory that the owner may edit has both."""
    assert encode_definition(JOE) == b'{"name":"joe.SUCCESS-1","pathGlob":"/user/joe/*/*/_SUCCESS"}\n'
    assert (
        parse_definition(
            encode_definition(JOE), name=JOE.name, owner="joe", allowed_subscribers=("bob", "alice")
        )
        == JOE
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"\xff", "malformed"),
        (b'{"name":"\xff","pathGlob":"/a"}', "(?i)utf-8"),
        (b'{"name":"a"}', "missing required field `pathGlob`"),
        (b'{"name":"a","pathGlob":1}', r"Expected `str`.*pathGlob"),
        (b'{"name":"a","pathGlob":"/a","allowedSubscribers":["joe"]}', "unknown field `allowedSubscribers`"),
        (b'{"name":"b","pathGlob":"/a"}', "is that of 'b'"),
        (b'{"name":"a","pathGlob":"a"}', "at position 0"),
    ],
)
def test_a_definition_that_says_something_else_is_refused(data: bytes, reason: str) -> None:
    """A bad definition costs only its filter, and gives a reason."""
    with pytest.raises(FilterError, match=reason):
        parse_definition(data, name="a", owner="joe")


def test_no_definition_is_longer_than_what_is_read() -> None:
    """The longest glob consists of characters that JSON escapes."""
    longest = Filter("a" * 128, "/" + "\x01" * (MAX_GLOB_LENGTH - 1), "joe")
    assert len(encode_definition(longest)) <= MAX_DEFINITION_BYTES


def test_json_has_the_names_of_the_design() -> None:
    """The keys are those of INotifyPathFilterInfo."""
    assert json.loads(json.dumps(filter_as_json(JOE))) == {
        "name": "joe.SUCCESS-1",
        "pathGlob": "/user/joe/*/*/_SUCCESS",
        "owner": "joe",
        "allowedSubscribers": ["alice", "bob"],
    }
