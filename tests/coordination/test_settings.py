"""ZooKeeperSettings: each value outside what is allowed is refused by name."""

from dataclasses import fields
from typing import Any

import pytest

from nncache.coordination.settings import ZooKeeperSettings
from nncache.hadoop.settings import SettingError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("zookeeper", ("zk1",)),
        ("zookeeper", ("zk1:2181", "zk2:0")),
        ("zookeeper_root", ""),
        ("zookeeper_root", "HDFSInotifyRoot"),
        ("zookeeper_root", "/"),
        ("zookeeper_root", "/a/"),
        ("zookeeper_root", "/a/.b"),
        ("zookeeper_session_timeout_s", 0.0),
        ("zookeeper_session_timeout_s", float("nan")),
        ("zookeeper_session_timeout_s", 3601.0),
    ],
)
def test_a_wrong_value_is_refused_by_name(key: str, value: Any) -> None:
    """The error names the key and what is allowed."""
    with pytest.raises(SettingError, match=f"^{key}: .*: must ") as raised:
        ZooKeeperSettings(**{key: value})
    assert raised.value.key == key


@pytest.mark.parametrize(("chroot", "root"), [("/x", "/x"), ("/a/b/", "/a/b"), ("/", "/HDFSInotifyRoot")])
def test_a_chroot_leads_to_its_setting(chroot: str, root: str) -> None:
    """As other clients of ZooKeeper write it behind the servers."""
    with pytest.raises(SettingError) as raised:
        ZooKeeperSettings(zookeeper=("zk1:2181", f"zk2:2181{chroot}"))
    assert str(raised.value) == (
        f"zookeeper: zk2:2181{chroot}: must be host:port alone, such as zk2:2181; the znode below which all is comes "
        f"from zookeeper_root (--zookeeper-root), such as {root}"
    )


def test_the_defaults_are_allowed_and_explained() -> None:
    """Every field has one sentence of help."""
    ZooKeeperSettings(zookeeper=("zk1:2181", "[::1]:2181"), zookeeper_root="/apps/inotify")
    for key in fields(ZooKeeperSettings):
        assert key.metadata["help"].endswith(".")
