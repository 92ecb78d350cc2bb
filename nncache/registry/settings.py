"""Settings of the registry, its changes, the registration of daemons and the reaper."""

import math
import re
import socket
from dataclasses import dataclass, field
from typing import Final

from nncache.net.setting_error import SettingError
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity, parse_account
from nncache.registry.addresses import host_of
from nncache.registry.yarn_states import UnknownIdTerms

_RM_URL: Final = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):[1-9][0-9]{0,4}")
_TIMESTAMP: Final = re.compile(r"[1-9][0-9]{0,18}")
_ROOT: Final = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """The registry's root and ACLs. Raises SettingError if a value is outside what its key allows."""

    registry_root: str = field(
        default="/registry",
        metadata={"help": "Root znode of the service registry; hadoop.registry.zk.root in Hadoop's clients."},
    )
    registry_secure: bool = field(
        default=False,
        metadata={
            "help": "Whether entries are created with the ACLs of a secure registry (hadoop.registry.secure): all may "
            "read them, registry_system_accounts and their creator may change them. Requires a login at ZooKeeper."
        },
    )
    registry_system_accounts: tuple[str, ...] = field(
        default=("sasl:yarn@", "sasl:mapred@", "sasl:hdfs@", "sasl:hadoop@"),
        metadata={
            "help": "ZooKeeper identities, scheme:id each, with all rights to all created entries "
            "(hadoop.registry.system.accounts); registry_realm is appended to one that ends in @."
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
            "help": "Maximum registry changes a second by this client, after a burst of ten seconds' worth; further "
            "ones wait. A larger value costs all other users of ZooKeeper."
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
            "help": "Whether to register in the service registry of zookeeper, below /services/nncache/components, for "
            "as long as the daemon serves. A proxy then also serves GET /v1/registry."
        },
    )
    registry_host: str = field(
        default="",
        metadata={
            "help": "Host name or address to register, by which clients reach this daemon, without a port: the ports "
            "on which it listens are registered. Empty: the host on which it listens, or this machine's name if it "
            "listens on every address."
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
            "help": "URLs of the web pages of the cluster's ResourceManagers, such as http://rm1.example.com:8088, one "
            "for each; the active one is asked."
        },
    )
    yarn_user: str = field(
        default="",
        metadata={
            "help": "User name sent to a ResourceManager with simple authentication. If yarn.acl.enable is set, this "
            "user must be able to view all applications. Empty: the ResourceManager's default user."
        },
    )
    yarn_ca: str = field(
        default="",
        metadata={
            "help": "PEM file with the CA certificates trusted for https. Empty: those of the operating system."
        },
    )
    yarn_forgotten: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Timestamps T of this cluster's ids, application_T_N. An application with such an id that the "
            "ResourceManager does not know counts as ended; the records of other unknown ones are kept."
        },
    )
    yarn_settle_s: float = field(
        default=600.0,
        metadata={
            "help": "Seconds for which a ResourceManager must have been active before a container or an application "
            "that it does not know counts as ended. After a failover, NodeManagers report containers again, for at "
            "most yarn.nm.liveness-monitor.expiry-interval-ms. With a smaller value, a running container may count as "
            "ended."
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
    def terms(self) -> UnknownIdTerms:
        """The operator's decision about ids that YARN does not know."""
        return UnknownIdTerms(frozenset(map(int, self.yarn_forgotten)), self.yarn_settle_s)


_EVERY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


def reached_at(configured: str, listens_on: str) -> str:
    """Return the host by which clients reach a daemon. May block on a name server's lookup of this machine's name."""
    if configured:
        return configured
    return socket.getfqdn() if listens_on in _EVERY_ADDRESS else listens_on
