"""Settings of the NameNodes: their addresses, the user who calls them, and timeouts."""

import getpass
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.users import is_user_name
from nncache.net.addresses import split_address
from nncache.net.setting_error import SettingError

MIN_PROBE_PAUSE_S = 0.05
"""Minimum interval between probes of one NameNode, however often it is suspected."""

_NAMESERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_ABOUT_NAMESERVICE = {"help": "Name of the nameservice, as in the cluster's dfs.nameservices."}
_ABOUT_HTTP = {
    "help": "HTTP (WebHDFS) address, host:port, of each NameNode, all of an HA group; with namenode_tls, the HTTPS "
    "address."
}
_OWN_USER = "$HADOOP_USER_NAME, else the operating system's user"


def _own_user() -> str:
    """Return the user that Hadoop's own clients would use (UserGroupInformation.HadoopLoginModule)."""
    if name := os.environ.get("HADOOP_USER_NAME"):
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        return ""


def _environments_directory() -> str:
    return os.environ.get("HADOOP_CONF_DIR", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HadoopConfSettings:
    """The location of the cluster's own configuration."""

    hadoop_conf_dir: str = field(
        default_factory=_environments_directory,
        metadata={
            "help": "Directory of the cluster's core-site.xml and hdfs-site.xml. The nameservice and its NameNodes are "
            "read from them, unless namenode_http or namenode_rpc is given. With several nameservices, nameservice "
            "selects one; without it, fs.defaultFS does. The service registry's properties (hadoop.registry.*) in "
            "core-site.xml and yarn-site.xml apply where their keys are not given. A directory without these files is "
            "an error where they are needed. Empty: none.",
            "default": "$HADOOP_CONF_DIR",
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeSettings:
    """The NameNodes of one nameservice. The lists name the same NameNodes in the same order."""

    nameservice: str = field(default="default", metadata=_ABOUT_NAMESERVICE)
    namenode_http: tuple[str, ...] = field(default=("127.0.0.1:9870",), metadata=_ABOUT_HTTP)
    namenode_rpc: tuple[str, ...] = field(
        default=("127.0.0.1:8020",),
        metadata={"help": "RPC address, host:port, of each NameNode, in the order of namenode_http."},
    )
    user: str = field(
        default_factory=_own_user,
        metadata={
            "help": "HDFS user of the service itself; only an HDFS superuser can read the edits.",
            "default": _OWN_USER,
        },
    )
    namenode_probe_interval_s: float = field(
        default=1.0, metadata={"help": "Seconds between two probes of each NameNode's HA state."}
    )
    namenode_probe_timeout_s: float = field(
        default=1.0,
        metadata={
            "help": "Seconds after which a NameNode that does not answer a probe counts as unreachable."
        },
    )
    rpc_timeout_s: float = field(
        default=5.0,
        metadata={"help": "Timeout in seconds of a Hadoop RPC call, including the time to connect."},
    )

    def __post_init__(self) -> None:
        """Check the values. Raises SettingError: the first invalid value."""
        _check_nameservice(self.nameservice)
        _check_addresses("namenode_http", self.namenode_http)
        _check_addresses("namenode_rpc", self.namenode_rpc)
        if len(self.namenode_rpc) != len(self.namenode_http):
            allowed = f"must name as many NameNodes as namenode_http, {len(self.namenode_http)}"
            raise SettingError("namenode_rpc", ",".join(self.namenode_rpc), allowed)
        _check_user(self.user)
        for key in ("namenode_probe_interval_s", "namenode_probe_timeout_s", "rpc_timeout_s"):
            if not getattr(self, key) > 0:
                raise SettingError(key, getattr(self, key), "must be more than 0")

    @property
    def namenodes(self) -> tuple[NameNode, ...]:
        """The NameNodes, in the order of the settings."""
        return tuple(map(NameNode, self.namenode_http, self.namenode_rpc))


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeTlsSettings:
    """Whether the NameNodes' web servers are called over HTTPS, and the trusted certificate authorities.

    Raises SettingError: the keys contradict each other.
    """

    namenode_tls: bool = field(
        default=False,
        metadata={
            "help": "Whether namenode_http lists HTTPS addresses (dfs.namenode.https-address, port 9871 by default). "
            "If so, calls are forwarded over TLS 1.2 or 1.3, and the certificate must match the host in namenode_http. "
            "Read from hadoop_conf_dir: true if dfs.http.policy is HTTPS_ONLY."
        },
    )
    namenode_ca: str = field(
        default="",
        metadata={
            "help": "PEM file with the CA certificates trusted for NameNodes, and for DataNodes to which they redirect "
            "this service. The file is read again when it changes, without a restart or a signal. Empty: those of the "
            "operating system."
        },
    )

    def __post_init__(self) -> None:
        if self.namenode_ca and not self.namenode_tls:
            raise SettingError("namenode_ca", self.namenode_ca, "is used only with namenode_tls = true")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHdfsSettings:
    """The NameNodes of one nameservice for a command that calls them over WebHDFS only, as one user.

    Raises SettingError: the first invalid value.
    """

    namenode_http: tuple[str, ...] = field(default=("127.0.0.1:9870",), metadata=_ABOUT_HTTP)
    user: str = field(
        default_factory=_own_user, metadata={"help": "HDFS user to act as.", "default": _OWN_USER}
    )

    def __post_init__(self) -> None:
        _check_addresses("namenode_http", self.namenode_http)
        _check_user(self.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSettings:
    """The user for a command whose NameNodes are in other settings. Raises SettingError: it is not a user name."""

    user: str = field(
        default_factory=_own_user, metadata={"help": "HDFS user to act as.", "default": _OWN_USER}
    )

    def __post_init__(self) -> None:
        _check_user(self.user)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameserviceSettings:
    """The nameservice for a command that calls none of its NameNodes. Raises SettingError: the name is invalid."""

    nameservice: str = field(default="default", metadata=_ABOUT_NAMESERVICE)

    def __post_init__(self) -> None:
        _check_nameservice(self.nameservice)


def _check_nameservice(nameservice: str) -> None:
    if not _NAMESERVICE.fullmatch(nameservice):
        raise SettingError("nameservice", nameservice, "must be letters, digits and ._- only")


def _check_user(user: str) -> None:
    if not user and not _own_user():
        nameless = f"--user or $HADOOP_USER_NAME must name one: uid {os.getuid()} has no name on this host"
        raise SettingError("user", "none", nameless)
    if not is_user_name(user):
        raise SettingError("user", user, "must be a user name that HDFS knows, such as hdfs")


def _check_addresses(key: str, addresses: Sequence[str]) -> None:
    if not addresses:
        raise SettingError(key, "", "must name at least one NameNode")
    for index, address in enumerate(addresses):
        try:
            split_address(address)
        except ValueError as exc:
            raise SettingError(key, address, str(exc)) from exc
        if address in addresses[:index]:
            raise SettingError(key, address, "must name each NameNode once")
