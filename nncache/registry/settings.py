"""Settings of the registry, its changes, the registration of daemons and the reaper."""

import math
import re
import socket
from dataclasses import dataclass, field
from typing import Final

from nncache.net.setting_error import SettingError
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity, parse_account
from nncache.registry.addresses import host_of
from nncache.registry.yarn_states import Terms

_RM_URL: Final = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[1-9][0-9]{0,4}")
_TIMESTAMP: Final = re.compile(r"[1-9][0-9]{0,18}")
_ROOT: Final = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """The registry's root and ACLs. Raises SettingError if a value is outside what its key allows."""

    registry_root: str = field(
        default="/registry",
        metadata={
            "help": "Znode below which the service registry is; Hadoop's clients call it hadoop.registry.zk.root."
        },
    )
    registry_secure: bool = field(
        default=False,
        metadata={
            "help": "Whether entries are made with the ACLs of a secure registry (hadoop.registry.secure): readable "
            "by all, changed by registry_system_accounts and their maker. Needs a login at ZooKeeper."
        },
    )
    registry_system_accounts: tuple[str, ...] = field(
        default=("sasl:yarn@", "sasl:mapred@", "sasl:hdfs@", "sasl:hadoop@"),
        metadata={
            "help": "Identities of ZooKeeper with all rights to all entries that are made, scheme:id each "
            "(hadoop.registry.system.accounts); one that ends in @ gets registry_realm."
        },
    )
    registry_realm: str = field(
        default="",
        metadata={"help": "Kerberos realm of the accounts that end in @ (hadoop.registry.kerberos.realm)."},
    )

    def __post_init__(self) -> None:
        if not _ROOT.fullmatch(self.registry_root):
            raise SettingError(
                "registry_root", self.registry_root, "must be an absolute path such as /registry"
            )
        _ = self.access

    @property
    def access(self) -> AccessPolicy:
        """The access policy for entries."""
        if not self.registry_secure:
            return AccessPolicy()
        accounts = tuple(map(self._account, self.registry_system_accounts))
        return AccessPolicy(accounts, self.registry_realm)

    def _account(self, text: str) -> ZooKeeperIdentity:
        try:
            return parse_account(text, self.registry_realm)
        except ValueError as exc:
            raise SettingError("registry_system_accounts", text, str(exc)) from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSettings:
    """The rate of a client's changes. Raises SettingError if a value is outside what its key allows."""

    registry_updates_per_s: float = field(
        default=100.0,
        metadata={
            "help": "Changes of the registry that this client makes in each second at most, after a burst of ten "
            "seconds' worth; further ones wait. A larger value costs all other users of ZooKeeper."
        },
    )

    def __post_init__(self) -> None:
        if not 0.0 < self.registry_updates_per_s < math.inf:
            raise SettingError(
                "registry_updates_per_s",
                self.registry_updates_per_s,
                "must be more than 0; 100 is the default",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationSettings:
    """The registration of a daemon.

    Raises SettingError if a value is outside what its key allows.
    """

    registry: bool = field(
        default=False,
        metadata={
            "help": "Whether to register in the service registry of zookeeper, below /services/nncache/components, "
            "for as long as it serves; a proxy also serves GET /v1/registry then."
        },
    )
    registry_host: str = field(
        default="",
        metadata={
            "help": "Host name or address to register, by which clients reach this daemon. Empty: the host that it "
            "listens on, or this machine's name where that is every address. Without a port: those that it listens on "
            "are registered."
        },
    )

    def __post_init__(self) -> None:
        if self.registry_host and host_of(self.registry_host) is None:
            raise SettingError(
                "registry_host",
                self.registry_host,
                "must be a host name or an address without port and brackets, such as proxy1.example.com: the ports "
                "that the daemon listens on are registered with it",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaperSettings:
    """The YARN cluster that decides what has ended. Raises SettingError if a value is outside what its key allows."""

    yarn_rm: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "URLs of the ResourceManagers' web pages, such as http://rm1.example.com:8088, one for each of a "
            "cluster; the active one is asked."
        },
    )
    yarn_user: str = field(
        default="",
        metadata={
            "help": "User name sent to a ResourceManager with simple authentication; this user must be able to "
            "view all applications where yarn.acl.enable is set. Empty: its default user."
        },
    )
    yarn_ca: str = field(
        default="",
        metadata={
            "help": "PEM file of the certificate authorities that are believed for https. Empty: those of the system."
        },
    )
    yarn_forgotten: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Timestamps T of ids application_T_N that are this cluster's: of these, an application that the "
            "ResourceManager does not know has ended. Of all others nothing is deleted then."
        },
    )
    yarn_settle_s: float = field(
        default=600.0,
        metadata={
            "help": "Seconds for which a ResourceManager must have been active before a container or an application "
            "that it does not know has ended for this reason: after a failover NodeManagers report containers again, "
            "for yarn.nm.liveness-monitor.expiry-interval-ms at most. Less may be wrong about a container that runs."
        },
    )

    def __post_init__(self) -> None:
        for url in self.yarn_rm:
            if not _RM_URL.fullmatch(url):
                raise SettingError(
                    "yarn_rm", url, "must be a URL without a path, such as http://rm1.example.com:8088"
                )
        for timestamp in self.yarn_forgotten:
            if not _TIMESTAMP.fullmatch(timestamp):
                raise SettingError(
                    "yarn_forgotten", timestamp, "must be the first number of an id, such as 1408631738011"
                )
        if not self.yarn_settle_s >= 0:
            raise SettingError("yarn_settle_s", self.yarn_settle_s, "must be 0 or more seconds")

    @property
    def terms(self) -> Terms:
        """The operator's decision about ids that YARN does not know."""
        return Terms(frozenset(map(int, self.yarn_forgotten)), self.yarn_settle_s)


_EVERY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


def reached_at(configured: str, listens_on: str) -> str:
    """Return the host by which clients reach a daemon. May block on a name server's lookup of this machine's name."""
    if configured:
        return configured
    return socket.getfqdn() if listens_on in _EVERY_ADDRESS else listens_on
