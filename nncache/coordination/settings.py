"""Settings of the connection to ZooKeeper."""

import re
from dataclasses import dataclass, field
from typing import Literal

from nncache.net.addresses import split_address
from nncache.net.setting_error import SettingError

_ROOT = re.compile(r"(/[A-Za-z0-9][A-Za-z0-9._-]*)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSettings:
    """One ZooKeeper ensemble, and the root znode in it.

    Raises SettingError if a value is outside what its key allows.
    """

    zookeeper: tuple[str, ...] = field(
        default=(), metadata={"help": "Addresses of the ZooKeeper servers, host:port each."}
    )
    zookeeper_root: str = field(
        default="/HDFSInotifyRoot",
        metadata={"help": "Root znode of the nameservices; publishers and readers must use the same."},
    )
    zookeeper_session_timeout_s: float = field(
        default=6.0,
        metadata={
            "help": "ZooKeeper session timeout in seconds. The server may grant another value (at least two of its "
            "ticks)."
        },
    )

    zookeeper_tls: bool = field(
        default=False,
        metadata={
            "help": "Whether zookeeper lists secure ports (secureClientPort): TLS 1.2 or 1.3. A certificate must match "
            "the host in zookeeper."
        },
    )
    zookeeper_ca: str = field(
        default="",
        metadata={
            "help": "PEM file with the CA certificates trusted for the ZooKeeper servers, as in their ssl.trustStore. "
            "A replaced file is read at the next connection. Empty: those of the operating system."
        },
    )
    zookeeper_certificate: str = field(
        default="",
        metadata={
            "help": "PEM file with the client certificate for ZooKeeper, with its chain, if the servers' "
            "ssl.clientAuth asks for one; in ACLs it is x509:SUBJECT. A replaced file is read at the next connection."
        },
    )
    zookeeper_key: str = field(
        default="",
        metadata={"help": "PEM file with the key of zookeeper_certificate, without a password, mode 0400."},
    )

    zookeeper_sasl: Literal["none", "kerberos", "digest"] = field(
        default="none",
        metadata={
            "help": "Login at ZooKeeper. kerberos: as principal, to servers whose principal is zookeeper/HOST with the "
            "HOST in zookeeper. digest: with zookeeper_sasl_user and zookeeper_password_file. none: no login."
        },
    )
    zookeeper_sasl_user: str = field(
        default="nncache",
        metadata={"help": "User name for zookeeper_sasl digest; user_NAME in the servers' JAAS file."},
    )
    zookeeper_password_file: str = field(
        default="", metadata={"help": "File with the password of zookeeper_sasl_user, mode 0400."}
    )

    @property
    def has_identity(self) -> bool:
        """Whether this client authenticates to ZooKeeper, by SASL or by a certificate."""
        return self.zookeeper_sasl != "none" or bool(self.zookeeper_certificate)

    def __post_init__(self) -> None:
        for address in self.zookeeper:
            try:
                split_address(address)
            except ValueError as exc:
                where, slash, below = address.partition("/")
                allowed = f"must be host:port, {where}; /{below} belongs in zookeeper_root"
                is_chroot = slash and "://" not in address
                raise SettingError("zookeeper", address, allowed if is_chroot else str(exc)) from exc
        for key in ("zookeeper_ca", "zookeeper_certificate", "zookeeper_key"):
            if getattr(self, key) and not self.zookeeper_tls:
                raise SettingError(key, getattr(self, key), "needs zookeeper_tls = true")
        if bool(self.zookeeper_certificate) != bool(self.zookeeper_key):
            raise SettingError(
                "zookeeper_key" if self.zookeeper_certificate else "zookeeper_certificate",
                "none",
                "must be given too: a certificate needs its key",
            )
        if self.zookeeper_sasl == "digest" and not self.zookeeper_password_file:
            raise SettingError(
                "zookeeper_password_file",
                "none",
                "must name the file with the password of zookeeper_sasl_user",
            )
        if not _ROOT.fullmatch(self.zookeeper_root):
            raise SettingError(
                "zookeeper_root", self.zookeeper_root, "must be an absolute path such as /HDFSInotifyRoot"
            )
        if not 0 < self.zookeeper_session_timeout_s <= 3600:  # noqa: PLR2004 - an hour
            raise SettingError(
                "zookeeper_session_timeout_s",
                self.zookeeper_session_timeout_s,
                "must be more than 0 seconds, at most 3600",
            )
