"""Paths below the registry's root."""

import pytest

from nncache.registry import paths
from nncache.registry.errors import InvalidPathnameError


def test_a_path_has_one_spelling() -> None:
    """Repeated and trailing slashes are ignored."""
    assert paths.elements_of("//users/joe/") == ("users", "joe")
    assert paths.path_of() == "/"
    for spelling in ("users/joe", "/users/joe/", "//users//joe"):
        assert paths.readable(spelling) == paths.writable(spelling) == "/users/joe"
    assert paths.readable("") == paths.readable("/") == paths.writable("/") == "/"


@pytest.mark.parametrize("path", ["/users/joe smith", "/users/A_b", "/Ä", "/a b/c\\d", "/" + "x" * 70])
def test_what_others_made_can_be_read(path: str) -> None:
    """Hadoop's own client checks only what ZooKeeper requires."""
    assert paths.readable(path) == path
    with pytest.raises(InvalidPathnameError):
        paths.writable(path)


@pytest.mark.parametrize(
    "path", ["/a/../b", "/./a", "/a\0", "/a\x1f", "/a\x7f", "/a\x9f", "/\ue000", "/\ud800", "/\uffff"]
)
def test_what_zookeeper_cannot_hold_is_refused(path: str) -> None:
    """The error names the element."""
    with pytest.raises(InvalidPathnameError, match="the element"):
        paths.readable(path)


def test_only_the_element_of_a_user_may_have_dots() -> None:
    """Anywhere else a dot would separate two labels of a host name."""
    assert (
        paths.writable("/users/john.smith/org-apache-hbase/demo1")
        == "/users/john.smith/org-apache-hbase/demo1"
    )
    for path in ("/services/a.b", "/a.b", "/users/joe/a.b", "/net/a.b"):
        with pytest.raises(InvalidPathnameError, match="is no label"):
            paths.writable(path)


def test_a_path_has_a_length() -> None:
    """No client may fill ZooKeeper with names."""
    longest = "/" + "/".join(["a" * 63] * 16)
    assert len(longest) == paths.MAX_PATH_CHARACTERS
    assert paths.writable(longest) == longest
    with pytest.raises(InvalidPathnameError, match="has 1026 characters; at most 1024"):
        paths.writable(f"{longest}/a")


def test_above_and_below() -> None:
    """This includes the root."""
    assert paths.parent_of("/a/b") == "/a"
    assert paths.parent_of("/a") == paths.parent_of("/") == "/"
    assert paths.below("/", "a", "b") == "/a/b"
    assert paths.below("/a/b", "c") == "/a/b/c"
    assert paths.name_of("/a/b/") == "b"
    assert paths.name_of("/") == ""
    assert paths.is_below("/a/b", "/a")
    assert paths.is_below("/a", "/a")
    assert paths.is_below("/a", "/")
    assert not paths.is_below("/ab", "/a")


def test_the_places_of_the_design() -> None:
    """They are users' entries and core services."""
    assert paths.home_of("joe@EXAMPLE.COM") == "/users/joe"
    assert paths.service_path("hdfs") == "/services/hdfs"
    with pytest.raises(InvalidPathnameError, match="'Demo'"):
        paths.service_path("Demo")


def test_a_path_that_is_made_has_so_many_elements() -> None:
    """No created path is deeper than those that are read."""
    assert paths.depth_of(paths.writable("/a" * paths.MAX_ELEMENTS)) == paths.MAX_ELEMENTS
    with pytest.raises(InvalidPathnameError, match="has 65 elements; at most 64 are allowed"):
        paths.writable("/a" * (paths.MAX_ELEMENTS + 1))
    assert paths.depth_of("/") == 0


def test_the_order_of_entries_is_depth_first() -> None:
    """The order is that of the elements, without a tuple for each path."""
    some = ["/a/b/c", "/a-b", "/a/b-c", "/a/b", "/a", "/", "/a b", "/a!/b"]
    assert sorted(some, key=paths.in_order) == sorted(some, key=paths.elements_of)
