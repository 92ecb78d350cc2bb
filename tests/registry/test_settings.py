"""The settings of the registry."""

import socket
from typing import Any

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity
from nncache.registry.configured import configured_registry
from nncache.registry.dns_settings import DnsSettings
from nncache.registry.settings import (
    ReaperSettings,
    RegistrationSettings,
    RegistrySettings,
    UpdateSettings,
    reached_at,
)
from nncache.registry.yarn_states import UnknownIdTerms


def test_a_secure_registry_has_system_accounts_in_a_realm() -> None:
    """They are Hadoop's, unless others are configured."""
    settings = RegistrySettings(registry_secure=True, registry_realm="R")
    accounts = tuple(ZooKeeperIdentity("sasl", f"{name}@R") for name in ("yarn", "mapred", "hdfs", "hadoop"))
    assert settings.access == AccessPolicy(accounts, "R")


def test_what_a_reaper_may_conclude() -> None:
    """By default it concludes nothing from unknown ids, except for containers after all nodes have reported."""
    assert ReaperSettings().terms == UnknownIdTerms(frozenset(), 600.0)
    given = ReaperSettings(yarn_forgotten=("1408631738011", "1795643495309"), yarn_settle_s=0)
    assert given.terms == UnknownIdTerms(frozenset({1408631738011, 1795643495309}), 0)


@pytest.mark.parametrize("url", ["http://rm1.example.com:8088", "https://10.0.0.1:8090", "http://[::1]:8088"])
def test_a_url_of_a_resource_manager(url: str) -> None:
    """It has a scheme, a host and a port."""
    assert ReaperSettings(yarn_rm=(url,)).yarn_rm == (url,)


@pytest.mark.parametrize("host", ["", "proxy1.example.com", "PROXY1", "10.0.0.7", "fd00::1"])
def test_a_host_to_register_is_a_name_or_an_address(host: str) -> None:
    """An empty value means this host."""
    assert RegistrationSettings(registry_host=host).registry_host == host


@pytest.mark.parametrize("everywhere", [f"0.{'0.' * 2}0", "::"])
def test_every_address_becomes_the_name_of_this_machine(everywhere: str) -> None:
    """A configured host name has priority."""
    assert reached_at("proxy.example.com", everywhere) == "proxy.example.com"
    assert reached_at("", "10.0.0.7") == "10.0.0.7"
    assert reached_at("", everywhere) == socket.getfqdn()


def test_the_addresses_are_read() -> None:
    """The default port is that of Hadoop."""
    settings = DnsSettings(
        domain="Registry.example.", dns_listen="[::1]:53", dns_name_server="ns1.example.com"
    )
    assert settings.listen_at == ListenAddress("::1", 53)
    assert settings.admin_at == ListenAddress("127.0.0.1", 9874)
    assert DnsSettings().listen_at == ListenAddress("127.0.0.1", 5335)


WRONG: dict[type[Any], dict[str, tuple[tuple[Any, ...], str]]] = {
    RegistrySettings: {
        "registry_root": (("", "/", "registry", "/registry/", "/a//b", "/a/../b"), "absolute path")
    },
    ReaperSettings: {
        "yarn_rm": (
            tuple(
                (url,)
                for url in ("rm1:8088", "http://rm1", "http://rm1:8088/", "ftp://rm1:1", "http://joe@rm1:1")
            ),
            "a URL without a path",
        ),
        "yarn_forgotten": ((("application_1408631738011_0001",), ("",)), "the first number of an id"),
        "yarn_settle_s": ((-1.0, float("nan")), "0 or more"),
    },
    UpdateSettings: {"registry_updates_per_s": ((0.0, -1.0, float("inf"), float("nan")), "more than 0")},
    DnsSettings: {
        "domain": (("a b", "a..b", ".", ".".join("a" * 64)), "no label|empty|126 characters"),
        "dns_name_server": (("ns_1",), "no label"),
        "dns_listen": (("53",), "host:port"),
        "admin": (("x",), "host:port"),
        "dns_ttl_s": ((-1, 86_401), "from 0 to 86400"),
        "dns_queries_per_s": ((0.0, float("nan")), "more than 0"),
    },
}


@pytest.mark.parametrize(
    ("settings", "key", "value", "rule"),
    [
        (settings, key, value, rule)
        for settings, keys in WRONG.items()
        for key, (values, rule) in keys.items()
        for value in values
    ],
)
def test_a_wrong_value_is_named(settings: type[Any], key: str, value: object, rule: str) -> None:
    """The error has the valid values."""
    with pytest.raises(SettingError, match=rule) as caught:
        settings(**{key: value})
    assert caught.value.key == key


@pytest.mark.parametrize("host", ["localhost:9871", "[::1]", "http://h", "a b", "h/", "h:"])
def test_a_host_to_register_has_no_port(host: str) -> None:
    """The URL would be http://[localhost:9871]:9870/."""
    with pytest.raises(SettingError, match=r"registry_host.*without port and brackets"):
        RegistrationSettings(registry_host=host)


def test_a_wrong_account_is_refused_where_it_matters() -> None:
    """An open registry ignores the accounts."""
    RegistrySettings(registry_system_accounts=("x",))
    with pytest.raises(SettingError, match="registry_system_accounts"):
        RegistrySettings(registry_secure=True, registry_system_accounts=("x",))
    with pytest.raises(SettingError, match="registry_realm must be given"):
        RegistrySettings(registry_secure=True)


def test_a_configuration_without_it_says_nothing() -> None:
    """Then nncache's defaults hold, which are Hadoop's."""
    assert configured_registry(Configuration({"fs.defaultFS": "hdfs://ns1"})) == {}


def test_all_that_it_may_say() -> None:
    """The values have the types of nncache's settings."""
    values = {
        "hadoop.registry.zk.quorum": "zk1:2181, zk2:2182",
        "hadoop.registry.zk.root": "/yarn-registry",
        "hadoop.registry.secure": "TRUE",
        "hadoop.registry.system.accounts": "sasl:yarn@, sasl:hdfs@EXAMPLE.COM",
        "hadoop.registry.kerberos.realm": "${the.realm}",
        "the.realm": "EXAMPLE.COM",
    }
    assert configured_registry(Configuration(values)) == {
        "zookeeper": ("zk1:2181", "zk2:2182"),
        "registry_root": "/yarn-registry",
        "registry_secure": True,
        "registry_system_accounts": ("sasl:yarn@", "sasl:hdfs@EXAMPLE.COM"),
        "registry_realm": "EXAMPLE.COM",
    }


@pytest.mark.parametrize(
    ("quorum", "servers", "root"),
    [
        ("zk1", ("zk1:2181",), None),
        ("zk1,zk1:2181,,zk2", ("zk1:2181", "zk2:2181"), None),
        ("[::1]:2182,[::2]", ("[::1]:2182", "[::2]:2181"), None),
        ("zk1:1,zk2:1/a/b/", ("zk1:1", "zk2:1"), "/a/b/registry"),
        ("zk1:1/", ("zk1:1",), None),
    ],
)
def test_a_connect_string_of_zookeeper(quorum: str, servers: tuple[str, ...], root: str | None) -> None:
    """Ports are optional, and the path after the servers is above the registry's root."""
    found = configured_registry(Configuration({"hadoop.registry.zk.quorum": quorum}))
    assert found == {"zookeeper": servers} | ({} if root is None else {"registry_root": root})


@pytest.mark.parametrize(
    ("quorum", "root", "wanted"),
    [
        ("zk1", "/yarn/registry/", "/yarn/registry"),
        ("zk1", "yarn-registry", "/yarn-registry"),
        ("zk1/a", "/", "/a"),
        ("zk1/a/", "b/", "/a/b"),
    ],
)
def test_a_root_may_have_slashes_as_in_hadoop(quorum: str, root: str, wanted: str) -> None:
    """Hadoop's client takes the root with or without a slash at either end."""
    values = {"hadoop.registry.zk.quorum": quorum, "hadoop.registry.zk.root": root}
    found = configured_registry(Configuration(values))["registry_root"]
    assert (found, RegistrySettings(registry_root=str(found)).registry_root) == (wanted, wanted)


@pytest.mark.parametrize("value", ["false", "yes", ""])
def test_what_is_not_true_is_not_secure(value: str) -> None:
    """Configuration.getBoolean has the same rule."""
    assert configured_registry(Configuration({"hadoop.registry.secure": value})) == {}
