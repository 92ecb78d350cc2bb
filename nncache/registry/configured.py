"""The registry's location and its system accounts in the cluster's own configuration.

Source: `RegistryConstants`, `RegistrySecurity` and `CuratorService` of Hadoop 3.5.0; ZooKeeper's
`ConnectStringParser` for the connect string.
"""

from collections.abc import Mapping
from typing import Final

from nncache.hadoop.configuration import Configuration

RESOURCES: Final = ("core-site.xml", "yarn-site.xml")
"""Files of a configuration directory, in the order in which a YARN client reads them."""

QUORUM: Final = "hadoop.registry.zk.quorum"
ZK_ROOT: Final = "hadoop.registry.zk.root"
SECURE: Final = "hadoop.registry.secure"
SYSTEM_ACCOUNTS: Final = "hadoop.registry.system.accounts"
REALM: Final = "hadoop.registry.kerberos.realm"

_CLIENT_PORT: Final = 2181
_DEFAULT_ROOT: Final = "/registry"


def configured_registry(configuration: Configuration) -> Mapping[str, object]:
    """Return the registry's configuration, by the keys of our settings; a key without a value is left out."""
    found: dict[str, object] = {}
    servers, chroot = _quorum(configuration.get(QUORUM) or "")
    root = configuration.get(ZK_ROOT)
    if servers:
        found["zookeeper"] = servers
    if root or chroot:
        elements = filter(None, f"{chroot}/{root or _DEFAULT_ROOT}".split("/"))  # as RegistryPathUtils.join
        found["registry_root"] = f"/{'/'.join(elements)}"
    if (configuration.get(SECURE) or "").lower() == "true":
        found["registry_secure"] = True
    if accounts := configuration.names(SYSTEM_ACCOUNTS):
        found["registry_system_accounts"] = accounts
    if realm := configuration.get(REALM):
        found["registry_realm"] = realm
    return found


def _quorum(text: str) -> tuple[tuple[str, ...], str]:
    """Return the servers of a connect string, and its chroot: the znode above all its paths, "" for the root."""
    hosts, slash, chroot = text.partition("/")
    servers = dict.fromkeys(_with_port(part.strip()) for part in hosts.split(",") if part.strip())
    return tuple(servers), (slash + chroot).rstrip("/")


def _with_port(server: str) -> str:
    """Return host:port of a server; an IPv6 address has brackets."""
    has_port = ":" in server.rpartition("]")[2]
    return server if has_port else f"{server}:{_CLIENT_PORT}"
