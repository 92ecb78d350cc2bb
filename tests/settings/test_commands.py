"""The settings of each command: defaults, the component of each key, and consistency."""

from pathlib import Path
from typing import Any

import pytest

from nncache.errors import ConfigurationError
from nncache.settings.commands import (
    FORMS,
    KEYS,
    PROXY,
    PUBLISHER,
    WATCH,
    SettingsOfProxy,
    load_settings,
)
from nncache.settings.forms import Form

ZOOKEEPER = {"zookeeper": ("zk1:2181,zk2:2181",)}
YARN = {"yarn_rm": ("http://rm1:8088",)}


def test_a_proxy_needs_no_file_and_no_flags() -> None:
    """The defaults suffice. Without ZooKeeper it reads the edits itself."""
    settings = load_settings(PROXY, None, {})
    assert settings == SettingsOfProxy()
    assert settings.channel_name == "direct"


def test_each_key_goes_to_its_own_component(tmp_path: Path) -> None:
    """All keys are at the top level of one file."""
    config = tmp_path / "nncache.toml"
    config.write_text(
        'glob = ["/a/{b,c}", "/d"]\nmax_staleness_s = 2\nlisten = "[::1]:1"\nlog_level = "debug"\n'
    )
    settings = load_settings(PROXY, config, {})
    assert settings.cache.glob == ("/a/{b,c}", "/d")
    assert settings.cache.max_staleness_s == 2.0
    assert settings.proxy.listen == "[::1]:1"
    assert settings.log.log_level == "debug"


def test_addresses_of_several_namenodes_share_a_flag() -> None:
    """`--namenode-http` and `--namenode-rpc` take comma-separated lists for HA."""
    settings = load_settings(PROXY, None, {"namenode_http": ("a:1,b:1",), "namenode_rpc": ("a:2", "b:2")})
    assert settings.namenodes.namenode_http == ("a:1", "b:1")
    assert settings.namenodes.namenode_rpc == ("a:2", "b:2")


def test_with_zookeeper_a_proxy_follows_a_publisher() -> None:
    """`channel` overrides that."""
    assert load_settings(PROXY, None, ZOOKEEPER).channel_name == "zookeeper"
    assert load_settings(PROXY, None, ZOOKEEPER | {"channel": "direct"}).channel_name == "direct"


@pytest.mark.parametrize(
    ("form", "flags", "reported"),
    [
        (
            PROXY,
            {"channel": "zookeeper"},
            "channel: zookeeper: needs the servers of ZooKeeper: zookeeper, host:port of each",
        ),
        (
            PROXY,
            {"max_staleness_s": "2", "poll_interval_s": "2"},
            (
                "max_staleness_s: 2.0: must be more than poll_interval_s, 2 s, or nothing is ever answered from "
                "memory; 3 is the default"
            ),
        ),
        (
            WATCH,
            {"nameservice": "ns1"},
            "zookeeper: none: must name the servers of ZooKeeper for nncache watch, host:port each",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_with_what_to_do(
    form: Form[Any], flags: dict[str, object], reported: str
) -> None:
    """The error is one line at the start, as for a single wrong value."""
    with pytest.raises(ConfigurationError) as caught:
        load_settings(form, None, flags)
    assert str(caught.value) == reported


def test_on_zookeeper_the_interval_of_polling_is_the_publishers() -> None:
    """It does not limit the bound of a proxy that does not poll."""
    flags = ZOOKEEPER | {"max_staleness_s": "2", "poll_interval_s": "2"}
    assert load_settings(PROXY, None, flags).cache.max_staleness_s == 2


def test_a_publisher_of_another_output_needs_no_zookeeper() -> None:
    """The output is replaceable, like the channel."""
    flags = {"output_stream": "package.module:Class"}
    assert not load_settings(PUBLISHER, None, flags).zookeeper.zookeeper


def test_the_daemons_of_one_host_do_not_meet_at_one_address() -> None:
    """Each has a different default for `admin`."""
    proxy, publisher = load_settings(PROXY, None, {}), load_settings(PUBLISHER, None, ZOOKEEPER)
    assert len({proxy.proxy.listen_at, proxy.proxy.admin_at, publisher.publisher.admin_at}) == 3


def test_the_globs_of_a_proxy_that_polls_are_its_own() -> None:
    """Neither the direct channel nor a third-party channel uses filters in HDFS."""
    for channel in ("direct", "package.module:Class"):
        flags = ZOOKEEPER | {"channel": channel, "glob": ("/a",)}
        assert load_settings(PROXY, None, flags).cache.glob == ("/a",)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.command)
def test_one_file_serves_every_command_of_a_host(form: Form[Any], tmp_path: Path) -> None:
    """A key of another command is ignored, whatever its value, as in hdfs-site.xml."""
    config = tmp_path / "nncache.toml"
    others = sorted(KEYS - set(form.keys))
    assert others
    config.write_text("".join(f'{name} = "?"\n' for name in others))
    must = {**ZOOKEEPER, **YARN, "domain": "registry.example"}
    needed = {key: value for key, value in must.items() if key in form.keys}
    assert load_settings(form, config, needed) == load_settings(form, None, needed)


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_key_means_the_same_to_all_commands_that_have_it(name: str) -> None:
    """Otherwise one file could not serve all commands."""
    assert len({form.keys[name].kind for form in FORMS if name in form.keys}) == 1


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.command)
def test_each_setting_says_what_it_means(form: Form[Any]) -> None:
    """The help is a sentence."""
    for key in form.keys.values():
        assert key.help.rstrip(")").endswith("."), key.name
