"""The settings of the NameNodes."""

from typing import Any

import pytest

from nncache.hadoop.namenode_settings import NameNodeSettings, NameserviceSettings, WebHdfsSettings
from nncache.net.setting_error import SettingError


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"nameservice": ""}, "nameservice: : must be letters, digits and ._- only"),
        ({"nameservice": "a/b"}, "nameservice: a/b: must be letters, digits and ._- only"),
        ({"namenode_http": ()}, "namenode_http: : must name at least one NameNode"),
        ({"namenode_http": ("a",)}, "namenode_http: a: must be host:port"),
        ({"namenode_rpc": ("a:x",)}, "namenode_rpc: a:x: must end in a port from 1 to 65535"),
        ({"namenode_http": ("a:1", "a:1")}, "namenode_http: a:1: must name each NameNode once"),
        (
            {"namenode_http": ("a:1", "b:1"), "namenode_rpc": ("a:2",)},
            "namenode_rpc: a:2: must name as many NameNodes as namenode_http, 2",
        ),
        ({"user": ""}, "user: : must be a user name that HDFS knows, such as hdfs"),
        ({"user": "a:b"}, "user: a:b: must be a user name that HDFS knows, such as hdfs"),
        ({"namenode_probe_interval_s": 0.0}, "namenode_probe_interval_s: 0.0: must be more than 0"),
        ({"namenode_probe_timeout_s": -1.0}, "namenode_probe_timeout_s: -1.0: must be more than 0"),
        ({"rpc_timeout_s": float("nan")}, "rpc_timeout_s: nan: must be more than 0"),
    ],
)
def test_a_wrong_setting_is_one_line(given: dict[str, Any], line: str) -> None:
    """The line has the key, the value and the valid values."""
    with pytest.raises(SettingError) as caught:
        NameNodeSettings(**({"user": "hdfs"} | given))
    assert str(caught.value) == line


def test_without_a_user_the_operating_systems_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any Hadoop client does the same."""
    monkeypatch.setenv("LOGNAME", "hdfs")
    assert NameNodeSettings().user == "hdfs"


@pytest.mark.parametrize(
    ("component", "given", "line"),
    [
        (WebHdfsSettings, {"namenode_http": ("a",)}, "namenode_http: a: must be host:port"),
        (WebHdfsSettings, {"user": "a:b"}, "user: a:b: must be a user name that HDFS knows, such as hdfs"),
        (
            NameserviceSettings,
            {"nameservice": "a/b"},
            "nameservice: a/b: must be letters, digits and ._- only",
        ),
    ],
)
def test_a_part_of_the_settings_is_as_strict(component: type, given: dict[str, Any], line: str) -> None:
    """The same key has the same rules in every command."""
    with pytest.raises(SettingError) as caught:
        component(**given)
    assert str(caught.value) == line


def test_a_user_without_a_name_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, a container that runs under any uid."""

    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found: 54321")

    monkeypatch.setattr("getpass.getuser", nameless)
    monkeypatch.setattr("os.getuid", lambda: 54321)
    with pytest.raises(SettingError) as caught:
        NameNodeSettings()
    assert str(caught.value) == (
        "user: none: --user or $HADOOP_USER_NAME must name one: uid 54321 has no name on this host"
    )
