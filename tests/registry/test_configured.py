"""What Hadoop's configuration says of the registry."""

import pytest

from nncache.hadoop.configuration import Configuration
from nncache.registry.configured import configured_registry


def test_a_configuration_without_it_says_nothing() -> None:
    """Then our own defaults hold, which are Hadoop's."""
    assert configured_registry(Configuration({"fs.defaultFS": "hdfs://ns1"})) == {}


def test_all_that_it_may_say() -> None:
    """In the types of our settings."""
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
    """Ports may be left out, and what follows the servers is above the registry's root."""
    found = configured_registry(Configuration({"hadoop.registry.zk.quorum": quorum}))
    assert found == {"zookeeper": servers} | ({} if root is None else {"registry_root": root})


@pytest.mark.parametrize("value", ["false", "yes", ""])
def test_what_is_not_true_is_not_secure(value: str) -> None:
    """As Configuration.getBoolean has it."""
    assert configured_registry(Configuration({"hadoop.registry.secure": value})) == {}
