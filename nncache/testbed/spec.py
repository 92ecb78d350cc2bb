"""The specification of a cluster."""

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nncache.testbed.errors import MissingToolError
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION

# Unprivileged users. alice and bob share the group `users`; carol shares no group with them. They need no account on
# this machine. Neither does dr.who, WebHDFS's anonymous caller, who is in no group.
GROUPS_OF_USERS: Mapping[str, tuple[str, ...]] = {
    "alice": ("alice", "users"),
    "bob": ("bob", "users"),
    "carol": ("carol",),
    "dr.who": (),
}


def group_mapping(groups_of_users: Mapping[str, tuple[str, ...]]) -> str:
    """Return users and groups in the format of hadoop.user.group.static.mapping.overrides."""
    return ";".join(f"{user}={','.join(groups)}" for user, groups in groups_of_users.items())


# C1 compiler only: a NameNode starts 0.5 s faster, but answers more slowly once it is warm.
QUICK_START_JVM = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# For measuring a NameNode's speed: the options of a small production NameNode.
FULL_SPEED_JVM = ("-Xms1g", "-Xmx1g")

# For processes with little load: DataNode, JournalNode, ZooKeeper, shells.
SMALL_JVM = ("-Xms32m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Listening ports on 127.0.0.1; 0 leases a free one. In an HA pair the first NameNode has them."""

    namenode_http: int = 0
    namenode_rpc: int = 0
    zookeeper: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyUserSpec:
    """A user who may impersonate others, with the values of `hadoop.proxyuser.NAME.*`; empty `users` allow none."""

    name: str
    hosts: str = "*"
    users: str = ""


REALM = "TEST.LOCAL"  # the realm of all principals
HOST_NAME = "localhost"  # the host name in servers' principals and certificates


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """A cluster that requires Kerberos on each port, with its own KDC; all its addresses are on `localhost`."""

    protection: str = "authentication"  # hadoop.rpc.protection
    proxy_users: tuple[ProxyUserSpec, ...] = ()
    cookie_validity_s: int | None = None  # of hadoop.auth cookies; None: Hadoop's ten hours
    # False omits hadoop.http.authentication.type, as a careless administrator would: WebHDFS then accepts any
    # user.name, while RPC requires Kerberos.
    with_http_authentication: bool = True
    one_http_secret: bool = True  # shared by an HA pair; else a NameNode refuses the other's cookies


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """HTTPS on web ports, with certificates of the test bed's own authority; all addresses are on `localhost`."""

    http_policy: Literal["HTTP_AND_HTTPS", "HTTPS_ONLY"] = "HTTP_AND_HTTPS"  # dfs.http.policy

    @property
    def https_only(self) -> bool:
        """Whether plain HTTP is off."""
        return self.http_policy == "HTTPS_ONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSecurity:
    """How a ZooKeeper authenticates its clients."""

    kerberos: bool = False  # SASL with GSSAPI; needs a KDC with the principal zookeeper/localhost
    digest_users: Mapping[str, str] = field(default_factory=dict)  # name -> password, by DIGEST-MD5
    sasl_required: bool = False  # False: a client without SASL is accepted as `world`
    tls: bool = False  # on a second port, in addition to the plain one
    client_certificates: Literal["need", "want", "none"] = "need"  # ssl.clientAuth

    def __post_init__(self) -> None:
        if self.kerberos and self.digest_users:
            raise ValueError(  # SecurityUtils.createSaslServer goes by the server's own login
                "kerberos and digest_users: a ZooKeeper offers one of the two SASL mechanisms, not both"
            )
        if self.sasl_required and not (self.kerberos or self.digest_users):
            raise ValueError("sasl_required: needs kerberos or digest_users, or no client could come in")


def own_user() -> str:
    """Return the name of this process's user, who also runs the servers. Raises MissingToolError without a name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as exc:
        uid = os.getuid()
        raise MissingToolError(
            f"user id {uid} has no name, and Hadoop's servers need one: run as a user that has one, or add an entry "
            f"such as hdfs:x:{uid}:0::/tmp:/bin/sh to /etc/passwd"
        ) from exc


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """One cluster: a NameNode or an HA pair, and optionally a DataNode and a ZooKeeper."""

    hadoop_version: str = DEFAULT_HADOOP_VERSION
    with_datanode: bool = True
    with_zookeeper: bool = False
    zookeeper_version: str | None = None  # None: the version in Hadoop's artifact
    ha: bool = False  # a pair of NameNodes that share their edits through JournalNodes
    journalnodes: int = 1  # of an HA pair; an odd number
    nameservice: str = "ns1"  # used by HA clients only
    ports: Ports = Ports()
    kerberos: Kerberos | None = None
    tls: Tls | None = None
    zookeeper_security: ZooKeeperSecurity = ZooKeeperSecurity()
    directory: Path | None = None  # created if missing, and kept; None: a temporary one, removed at the end
    # Configuration keys that override the test bed's own, for servers and shells.
    overrides: Mapping[str, str] = field(default_factory=dict)
    superuser: str = field(default_factory=own_user)  # the servers' HADOOP_USER_NAME
    proxy_servers: tuple[str, ...] = ()  # their X-Forwarded-For is trusted; see Cluster.believe_proxies
    audit_log: bool = False  # the NameNode writes logs/hdfs-audit.log
    namenode_jvm: tuple[str, ...] = QUICK_START_JVM

    def __post_init__(self) -> None:
        if self.zookeeper_security.kerberos and self.kerberos is None:
            raise ValueError("zookeeper_security.kerberos: needs a cluster with Kerberos, whose KDC it uses")

    @property
    def host(self) -> str:
        """The host of all addresses: a name if principals or certificates need one, else an IP address."""
        return HOST_NAME if self.kerberos or self.tls or self.zookeeper_security.tls else "127.0.0.1"
