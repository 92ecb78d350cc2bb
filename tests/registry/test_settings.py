"""Settings of the registry."""

import socket
from typing import Any

import pytest

from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity
from nncache.registry.dns_settings import DnsSettings
from nncache.registry.settings import (
    ReaperSettings,
    RegistrationSettings,
    RegistrySettings,
    UpdateSettings,
    reached_at,
)
from nncache.registry.yarn_states import Terms


def test_a_secure_registry_has_system_accounts_in_a_realm() -> None:
    """Hadoop's, unless others are named."""
    settings = RegistrySettings(registry_secure=True, registry_realm="R")
    accounts = tuple(ZooKeeperIdentity("sasl", f"{name}@R") for name in ("yarn", "mapred", "hdfs", "hadoop"))
    assert settings.access == AccessPolicy(accounts, "R")


@pytest.mark.parametrize("root", ["", "/", "registry", "/registry/", "/a//b", "/a/../b"])
def test_a_root_that_is_no_path_is_refused(root: str) -> None:
    """With its key."""
    with pytest.raises(SettingError, match="registry_root"):
        RegistrySettings(registry_root=root)


def test_a_wrong_account_is_refused_where_it_matters() -> None:
    """An open registry looks at none."""
    RegistrySettings(registry_system_accounts=("x",))
    with pytest.raises(SettingError, match="registry_system_accounts"):
        RegistrySettings(registry_secure=True, registry_system_accounts=("x",))
    with pytest.raises(SettingError, match="registry_realm must be given"):
        RegistrySettings(registry_secure=True)


def test_what_a_reaper_may_conclude() -> None:
    """By default nothing of what YARN does not know, but for containers once all nodes have reported."""
    assert ReaperSettings().terms == Terms(frozenset(), 600.0)
    given = ReaperSettings(yarn_forgotten=("1408631738011", "1795643495309"), yarn_settle_s=0)
    assert given.terms == Terms(frozenset({1408631738011, 1795643495309}), 0)


@pytest.mark.parametrize("url", ["http://rm1.example.com:8088", "https://10.0.0.1:8090", "http://[::1]:8088"])
def test_a_url_of_a_resource_manager(url: str) -> None:
    """Scheme, host and port."""
    assert ReaperSettings(yarn_rm=(url,)).yarn_rm == (url,)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("yarn_rm", ("rm1:8088",)),
        ("yarn_rm", ("http://rm1",)),
        ("yarn_rm", ("http://rm1:8088/",)),
        ("yarn_rm", ("ftp://rm1:8088",)),
        ("yarn_rm", ("http://joe@rm1:8088",)),
        ("yarn_forgotten", ("application_1408631738011_0001",)),
        ("yarn_forgotten", ("",)),
        ("yarn_settle_s", -1.0),
        ("yarn_settle_s", float("nan")),
    ],
)
def test_a_wrong_setting_of_a_reaper_is_refused(key: str, value: Any) -> None:
    """With its key."""
    with pytest.raises(SettingError, match=key):
        ReaperSettings(**{key: value})


@pytest.mark.parametrize("per_s", [0.0, -1.0, float("inf"), float("nan")])
def test_changes_have_a_rate(per_s: float) -> None:
    """One that can be kept."""
    assert UpdateSettings().registry_updates_per_s == 100.0
    with pytest.raises(SettingError, match="registry_updates_per_s"):
        UpdateSettings(registry_updates_per_s=per_s)


@pytest.mark.parametrize("host", ["localhost:9871", "[::1]", "http://h", "a b", "h/", "h:"])
def test_a_host_to_register_has_no_port(host: str) -> None:
    """It would be registered as http://[localhost:9871]:9870/."""
    with pytest.raises(SettingError, match="registry_host") as caught:
        RegistrationSettings(registry_host=host)
    assert "without port and brackets" in str(caught.value)


@pytest.mark.parametrize("host", ["", "proxy1.example.com", "PROXY1", "10.0.0.7", "fd00::1"])
def test_a_host_to_register_is_a_name_or_an_address(host: str) -> None:
    """Empty is this host's own."""
    assert RegistrationSettings(registry_host=host).registry_host == host


@pytest.mark.parametrize("everywhere", [f"0.{'0.' * 2}0", "::"])
def test_every_address_becomes_the_name_of_this_machine(everywhere: str) -> None:
    """Unless the settings name one."""
    assert reached_at("proxy.example.com", everywhere) == "proxy.example.com"
    assert reached_at("", "10.0.0.7") == "10.0.0.7"
    assert reached_at("", everywhere) == socket.getfqdn()


def test_the_addresses_are_read() -> None:
    """Hadoop's port is the default."""
    settings = DnsSettings(
        domain="Registry.example.", dns_listen="[::1]:53", dns_name_server="ns1.example.com"
    )
    assert settings.listen_at == ListenAddress("::1", 53)
    assert settings.admin_at == ListenAddress("127.0.0.1", 9874)
    assert DnsSettings().listen_at == ListenAddress("127.0.0.1", 5335)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("domain", "a b", "no label"),
        ("domain", "a..b", "empty"),
        ("domain", ".", "empty"),
        ("domain", ".".join("a" * 64), "126 characters"),
        ("dns_name_server", "ns_1", "no label"),
        ("dns_listen", "53", "host:port"),
        ("admin", "x", "host:port"),
        ("dns_ttl_s", -1, "from 0"),
        ("dns_ttl_s", 86_401, "to 86400"),
        ("dns_queries_per_s", 0.0, "more than 0"),
        ("dns_queries_per_s", float("nan"), "more than 0"),
    ],
)
def test_a_wrong_value_is_named(key: str, value: object, rule: str) -> None:
    """With what is allowed."""
    with pytest.raises(SettingError, match=rule) as caught:
        DnsSettings(**{key: value})  # type: ignore[arg-type] # the point of it
    assert caught.value.key == key
