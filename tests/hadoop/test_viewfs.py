"""The mount table of core-site.xml, as ViewFs reads it (InodeTree, 3.5.0), as far as a proxy can apply it."""

from collections.abc import Mapping

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.hadoop.viewfs import viewfs_mounts
from nncache.net.setting_error import SettingError


def values(links: Mapping[str, str], default: str = "viewfs://clusterX/") -> Configuration:
    """Return a configuration with a mount table for clusterX, from the names and targets of its links."""
    table = {f"fs.viewfs.mounttable.clusterX.{name}": target for name, target in links.items()}
    return Configuration({"fs.defaultFS": default, "dfs.nameservices": "ns1, ns2", **table}, {})


def test_links_and_fallback_become_mount_points() -> None:
    """The target gives the nameservice; homedir is no link, and the tables of other clusters are ignored."""
    read = values(
        {
            "link./data": "hdfs://ns1/data",
            "link./user/joe": "hdfs://ns2/user/joe/",
            "linkFallback": "hdfs://ns1/",
            "homedir": "/user",
        }
    )
    assert viewfs_mounts(read) == {"/": "ns1", "/data": "ns1", "/user/joe": "ns2"}
    assert viewfs_mounts(values({"linkMergeSlash": "hdfs://ns2"})) == {"/": "ns2"}


def test_without_viewfs_there_is_none() -> None:
    """Mount tables without a viewfs default file system are ignored."""
    assert viewfs_mounts(values({"link./data": "hdfs://ns1/data"}, "hdfs://ns1")) == {}
    assert viewfs_mounts(Configuration({}, {})) == {}


def test_a_file_system_without_a_name_uses_the_default_table() -> None:
    """The setting `default.name.key` may name another table."""
    link = {"fs.viewfs.mounttable.default.link./a": "hdfs://ns1/a", "dfs.nameservices": "ns1"}
    assert viewfs_mounts(Configuration({"fs.defaultFS": "viewfs:///", **link}, {})) == {"/a": "ns1"}
    named = {
        "fs.viewfs.mounttable.default.name.key": "other",
        "fs.viewfs.mounttable.other.link./b": "hdfs://ns1/b",
    }
    assert viewfs_mounts(Configuration({"fs.defaultFS": "viewfs:///", **link, **named}, {})) == {"/b": "ns1"}


@pytest.mark.parametrize(
    ("links", "reported"),
    [
        (
            {"linkMerge./a": "hdfs://ns1/a,hdfs://ns2/a"},
            "linkMerge./a: .*: is a link that a proxy cannot follow",
        ),
        ({"linkNfly./a": "hdfs://ns1/a"}, "is a link that a proxy cannot follow"),
        ({"linkRegx./a": "hdfs://ns1/a"}, "write \\[mounts\\] into the settings file"),
        ({"link./a": "hdfs://ns1/b"}, "must lead to the path at which it is mounted, hdfs://ns1/a"),
        ({"linkFallback": "hdfs://ns1/home"}, "must lead to the path at which it is mounted, hdfs://ns1/"),
        ({"link./a": "hdfs://ns3/a"}, "must lead to hdfs://ns1 or hdfs://ns2"),
        ({"link./a": "s3a://bucket/a"}, "link./a: s3a://bucket/a: must lead to"),
        ({"link./a": ""}, "must lead to"),
        ({"link.a": "hdfs://ns1/a"}, "must name an absolute path"),
        ({"link./a": "hdfs://ns1/a", "link./a/": "hdfs://ns1/a"}, "must be one mount point of clusterX only"),
    ],
)
def test_what_a_proxy_cannot_follow_is_named(links: dict[str, str], reported: str) -> None:
    """The error has the property, its value, and the valid form."""
    with pytest.raises(SettingError, match=reported):
        viewfs_mounts(values(links))


def test_without_nameservices_it_says_what_a_target_needs() -> None:
    """A host with a port is no nameservice."""
    read = Configuration(
        {"fs.defaultFS": "viewfs://c/", "fs.viewfs.mounttable.c.link./a": "hdfs://nn:8020/a"}, {}
    )
    with pytest.raises(SettingError, match="must lead to hdfs://NAMESERVICE"):
        viewfs_mounts(read)
