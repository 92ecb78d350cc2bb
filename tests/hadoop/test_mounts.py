"""A mount table gives the namespace of a path, as ViewFs does (InodeTree.resolve)."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.mounts import MountTable
from nncache.hadoop.paths import ROOT, ancestors
from nncache.net.setting_error import SettingError

DEEP: Mapping[str, str] = {"/data": "one", "/user/joe": "two", "/user/ann": "one"}
WITH_ROOT: Mapping[str, str] = {"/": "rest", **DEEP}


@pytest.mark.parametrize(
    ("path", "holder"),
    [
        ("/data", "one"),
        ("/data/x/y", "one"),
        ("/data2", None),
        ("/dat", None),
        ("/user/joe", "two"),
        ("/user/joe/a/b/c", "two"),
        ("/user/joey", None),
        ("/user/ann/x", "one"),
        ("/user", None),
        ("/", None),
        ("/.reserved/raw/data/x", "one"),
        ("/.reserved/raw", None),
        ("/.reserved/rawdata", None),
        ("/.reserved/.inodes/16385", None),
    ],
)
def test_the_longest_mount_point_holds_a_path(path: str, holder: str | None) -> None:
    """Whole names count; other paths belong to the root's namespace, if the root is mounted."""
    assert MountTable(DEEP).find(path) == holder
    assert MountTable(WITH_ROOT).find(path) == holder or holder is None
    assert MountTable(WITH_ROOT).find(path) == (holder or "rest")


def test_the_root_alone_holds_everything() -> None:
    """With one namespace there is no choice."""
    table = MountTable({"/": "one"})
    assert (table.find("/"), table.find("/a/b"), table.fallback) == ("one", "one", "one")
    assert MountTable(DEEP).fallback is None
    assert MountTable(DEEP).points == DEEP


def test_mount_points_and_what_is_above_them_stay() -> None:
    """The table needs both; everything below a mount point belongs to the namespace."""
    table = MountTable(DEEP)
    assert [path for path in ("/", "/user", "/user/joe", "/data", "/data/x") if table.is_fixed(path)] == [
        "/",
        "/user",
        "/user/joe",
        "/data",
    ]
    assert [path for path in ("/", "/user", "/user/joe", "/data") if table.is_above(path)] == ["/", "/user"]


@pytest.mark.parametrize(
    ("path", "is_fixed"),
    [
        ("/.reserved/raw/user/joe", True),
        ("/.reserved/raw/user", True),
        ("/.reserved/raw/data", True),
        ("/.reserved/raw", True),
        ("/.reserved/raw/data/x", False),
        ("/.reserved/rawdata", False),
        ("/.reserved", False),
    ],
)
def test_what_the_raw_files_show_of_them_stays_as_well(path: str, is_fixed: bool) -> None:
    """A superuser may delete by that name as well."""
    assert MountTable(DEEP).is_fixed(path) is is_fixed
    assert MountTable(WITH_ROOT).is_fixed(path) is is_fixed


@pytest.mark.parametrize(
    ("path", "is_above"),
    [
        ("/.reserved/raw", True),
        ("/.reserved/raw/user", True),
        ("/.reserved/raw/user/joe", False),
        ("/.reserved/rawdata", False),
        ("/.reserved", False),
    ],
)
def test_what_the_raw_files_show_above_them_is_above_as_well(path: str, is_above: bool) -> None:
    """Otherwise the reply would be that it does not exist."""
    assert MountTable(DEEP).is_above(path) is is_above


def test_a_subtree_may_be_held_by_several() -> None:
    """The namespace of the path itself comes first, and each occurs once."""
    table = MountTable(WITH_ROOT)
    assert table.within("/") == ("rest", "one", "two")
    assert table.within("/user") == ("rest", "two", "one")
    assert table.within("/data/x") == ("one",)
    assert table.within("/.reserved/raw/user") == ("rest", "two", "one")
    assert MountTable(DEEP).within("/user") == ("two", "one")
    assert MountTable(DEEP).within("/other") == ()


@pytest.mark.parametrize(
    "point", ["data", "/data/", "//data", "/a/../b", "/.reserved/raw/x", "/a/.snapshot", ""]
)
def test_a_mount_point_is_a_plain_path(point: str) -> None:
    """A path with another spelling, or an alias, is refused."""
    with pytest.raises(SettingError, match="must be an absolute path with single slashes"):
        MountTable({point: "one"})


def test_no_mount_point_lies_below_another_one() -> None:
    """ViewFs has the same rule (InodeTree.createLink); the error names both."""
    with pytest.raises(
        SettingError, match="mounts: /a/b/c: must not lie below another mount point, /a of one"
    ):
        MountTable({"/a": "one", "/a/b/c": "two"})
    with pytest.raises(SettingError, match="must give each namespace at least one path"):
        MountTable({})


NAMES = st.sampled_from(["a", "b", "ab"])
PATHS = st.lists(NAMES, max_size=4).map(lambda names: "/" + "/".join(names))


@given(st.dictionaries(PATHS, st.sampled_from(["one", "two"]), min_size=1), PATHS)
def test_any_table_agrees_with_the_naive_one(mounts: dict[str, str], path: str) -> None:
    """The naive one walks from the path upwards."""
    try:
        table = MountTable(mounts)
    except SettingError:
        inner = [point for point in mounts if set(ancestors(point)) & (mounts.keys() - {ROOT})]
        assert inner
        return
    naive = next((mounts[each] for each in (path, *ancestors(path)) if each in mounts), None)
    assert table.find(path) == naive
