"""The namespaces of a settings file, and the choice of one."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from nncache.errors import ConfigurationError
from nncache.net.setting_error import SettingError
from nncache.settings.namespaces import (
    NamespaceTables,
    Tables,
    namespaces_of,
    own_keys_at_the_top,
    written_in,
)

FILE = Path("n.toml")
TABLES: Tables = {"one": {"user": "hdfs"}, "two": {}}


def found(
    tables: Tables, mounts: Mapping[str, str], viewfs: Mapping[str, str] | None = None
) -> NamespaceTables:
    """Return the namespaces of the file and core-site.xml, which must be several."""
    made = namespaces_of(tables, mounts, viewfs or {}, FILE, "/etc/hadoop")
    assert made is not None
    return made


_NESTED = (
    "mounts: /a/b: must not lie below another mount point, /a of one: of a directory one namespace holds everything "
    "(only / may have mount points below it)"
)
BOTH = {"/": "one", "/b": "two"}


def test_tables_and_mounts_are_read_as_they_stand() -> None:
    """Keys of commands are ignored."""
    table = {
        "listen": "x",
        "namespaces": {"one": {"user": "hdfs"}, "two": {}},
        "mounts": {"/": "one", "/b": "two"},
    }
    assert written_in(table, FILE) == (TABLES, BOTH)
    assert written_in({"listen": "x"}, FILE) == ({}, {})


@pytest.mark.parametrize(
    ("table", "reported"),
    [
        ({"namespaces": 1}, "n.toml: namespaces: 1: must be tables of keys: [namespaces.NAME]"),
        ({"namespaces": {"one": 1}}, "n.toml: namespaces.one: 1: must be a table: [namespaces.one]"),
        ({"namespaces": {"a b": {}}}, "n.toml: namespaces.a b: must be letters, digits and ._- only"),
        ({"mounts": "x"}, 'n.toml: mounts: x: must be a table: [mounts], "/data" = "NAME"'),
        ({"mounts": {"/a": 1}}, "n.toml: mounts: /a: 1: must be the name of a namespace"),
    ],
)
def test_another_form_is_named(table: dict[str, object], reported: str) -> None:
    """The error has the file, the key, the value and the right form."""
    with pytest.raises(ConfigurationError) as raised:
        written_in(table, FILE)
    assert raised.value.lines == (reported,)


def test_one_namespace_needs_none_of_this() -> None:
    """Mounts of a single namespace in core-site.xml are ignored, too: its NameNodes serve all paths."""
    assert namespaces_of({}, {}, {}, None, "") is None
    assert namespaces_of({}, {}, {"/a": "one", "/b": "one"}, None, "/etc/hadoop") is None


def test_the_mounts_of_the_file_win() -> None:
    """The mount table of core-site.xml is ignored."""
    made = found(TABLES, BOTH, {"/": "three", "/x": "four"})
    assert (made.mounts.points, made.tables, made.origin) == ({"/": "one", "/b": "two"}, TABLES, "n.toml")


def test_core_site_says_what_each_holds() -> None:
    """The file may have tables for some of the namespaces."""
    made = found({"one": {"user": "x"}}, {}, {"/": "one", "/b": "two"})
    assert (made.tables, made.origin) == ({"one": {"user": "x"}, "two": {}}, "/etc/hadoop")
    assert found({}, {}, {"/": "one", "/b": "two"}).tables == {"one": {}, "two": {}}


@pytest.mark.parametrize(
    ("tables", "mounts", "viewfs", "reported"),
    [
        (
            TABLES,
            {"/": "one"},
            {},
            ["namespaces.two: is mounted nowhere: give it a path in [mounts] (in n.toml)"],
        ),
        (
            {"one": {}},
            {"/": "one", "/b": "two"},
            {},
            ["mounts: /b: two: must be the name of a namespace, [namespaces.two] (in n.toml)"],
        ),
        (
            TABLES,
            {},
            {},
            ['mounts: none: must give each namespace at least one path: "/data" = "NAMESPACE" (in n.toml)'],
        ),
        (
            {"three": {}},
            {},
            {"/": "one", "/b": "two"},
            ["namespaces.three: is mounted nowhere: give it a path in [mounts] (in n.toml)"],
        ),
        (
            TABLES,
            {"/a": "one", "/a/b": "two"},
            {},
            [f"{_NESTED} (in n.toml)"],
        ),
    ],
)
def test_what_does_not_fit_together_is_named(
    tables: Tables, mounts: dict[str, str], viewfs: dict[str, str], reported: list[str]
) -> None:
    """Each fault is one line."""
    with pytest.raises(ConfigurationError) as raised:
        found(tables, mounts, viewfs)
    assert list(raised.value.lines) == reported


def test_a_name_or_a_path_chooses() -> None:
    """A single namespace needs no choice."""
    made = found(TABLES, BOTH)
    assert [made.chosen(each) for each in ("one", "two", "/b/x", "/c", "/")] == [
        "one",
        "two",
        "two",
        "one",
        "one",
    ]
    assert found({"one": {}}, {"/a": "one"}).chosen("") == "one"


@pytest.mark.parametrize(
    ("choice", "reported"),
    [
        ("", "namespace: none: must be one of one, two, or a path that one of them holds"),
        ("three", "namespace: three: must be one of one, two, or a path that one of them holds"),
        ("/c", "namespace: /c: must lie below a mount point (/a, /b), or be one of one, two"),
        ("/a\0", "namespace: /a\0: NUL in path: '/a\\x00'"),
    ],
)
def test_what_chooses_none_is_named(choice: str, reported: str) -> None:
    """The error has all allowed values."""
    with pytest.raises(SettingError) as raised:
        found(TABLES, {"/a": "one", "/b": "two"}).chosen(choice)
    assert str(raised.value) == reported


def test_what_identifies_a_namespace_belongs_in_its_table() -> None:
    """At the top it would apply to all namespaces."""
    assert own_keys_at_the_top(["glob", "user"]) == ""
    reported = own_keys_at_the_top(["namenode_http", "glob", "nameservice"])
    assert reported.startswith("namenode_http, nameservice: must stand in [namespaces.NAME]")
