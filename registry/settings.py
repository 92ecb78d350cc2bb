"""Settings: where the registry is, and who may write it. (registry/settings.py)"""

import re
from dataclasses import dataclass, field
from typing import Final

from nncache.hadoop.settings import SettingError
from nncache.registry.access import AccessPolicy, parse_account

_ROOT: Final = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """One registry.

    Raises:
        SettingError: a value is outside what its key allows.
    """

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
        if self.registry_secure:
            for account in self.registry_system_accounts:
                try:
                    parse_account(account, self.registry_realm)
                except ValueError as exc:
                    raise SettingError("registry_system_accounts", account, str(exc)) from exc

    @property
    def access(self) -> AccessPolicy:
        """How entries are protected."""
        if not self.registry_secure:
            return AccessPolicy()
        accounts = (parse_account(account, self.registry_realm) for account in self.registry_system_accounts)
        return AccessPolicy(tuple(accounts), self.registry_realm)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationSettings:
    """Whether and how a daemon takes part in the registry."""

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
            "listens on, or this machine's name where that is every address."
        },
    )
