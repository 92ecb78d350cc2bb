"""ZooKeeperSettings: an invalid value is refused by name."""

from typing import Any

import pytest

from nncache.coordination.settings import ZooKeeperSettings
from nncache.net.setting_error import SettingError


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
    """The error names the setting and the allowed values."""
    with pytest.raises(SettingError, match=f"^{key}: .*: must ") as raised:
        ZooKeeperSettings(**{key: value})
    assert raised.value.key == key


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("zk1:2181/x/y", "must be host:port, zk1:2181; /x/y belongs in zookeeper_root"),
        ("http://zk1:2181/x", "must be host:port, without http:// and without a path: zk1:2181"),
    ],
)
def test_a_path_behind_an_address_is_sent_where_it_belongs(address: str, allowed: str) -> None:
    """Other ZooKeeper clients accept a path there (a chroot)."""
    with pytest.raises(SettingError) as raised:
        ZooKeeperSettings(zookeeper=(address,))
    assert raised.value.allowed == allowed
