"""What kind of cluster is wanted."""

import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nncache.testbed.errors import MissingToolError
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION

# Users without any privilege: alice and bob share the group `users`, carol is in no group of theirs. They
# need no account on this machine, and neither does WebHDFS's anonymous caller, dr.who, who is in no group
# at all.
GROUPS_OF_USERS: Mapping[str, tuple[str, ...]] = {
    "alice": ("alice", "users"),
    "bob": ("bob", "users"),
    "carol": ("carol",),
    "dr.who": (),
}


def group_mapping(groups_of_users: Mapping[str, tuple[str, ...]]) -> str:
    """Return them as hadoop.user.group.static.mapping.overrides has them."""
    return ";".join(f"{user}={','.join(groups)}" for user, groups in groups_of_users.items())


# The quick compiler alone: a NameNode starts 0.5 s earlier and answers more slowly once it is warm.
QUICK_START_JVM = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# To measure a NameNode's speed: as an administrator would run a small one.
FULL_SPEED_JVM = ("-Xms1g", "-Xmx1g")

# For what has little to do: DataNode, JournalNode, ZooKeeper, shells.
SMALL_JVM = ("-Xms32m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Ports on 127.0.0.1 to listen on; 0 takes a free one. With an HA pair these are the first NameNode's."""

    namenode_http: int = 0
    namenode_rpc: int = 0
    zookeeper: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyUser:
    """A user who may act for others (`hadoop.proxyuser.NAME.*`), as Hadoop writes it; no users: for none."""

    name: str
    hosts: str = "*"
    users: str = ""


REALM = "TEST.LOCAL"  # of all principals
HOST_NAME = "localhost"  # what the principals of servers carry, and certificates


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """A cluster that asks for Kerberos on each port, with a KDC of its own; all its addresses are on `localhost`."""

    protection: str = "authentication"  # of RPC, as hadoop.rpc.protection has it
    proxy_users: tuple[ProxyUser, ...] = ()
    cookie_validity_s: int | None = None  # of hadoop.auth cookies; None: Hadoop's ten hours
    # False leaves out hadoop.http.authentication.type, by mistake of an administrator: WebHDFS then believes any
    # user.name, while RPC asks for Kerberos.
    with_http_authentication: bool = True
    one_http_secret: bool = True  # of an HA pair; False: a NameNode refuses the other's cookies


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Web ports that serve HTTPS by certificates of the test bed's own authority; all addresses are on `localhost`."""

    http_policy: Literal["HTTP_AND_HTTPS", "HTTPS_ONLY"] = "HTTP_AND_HTTPS"  # dfs.http.policy

    @property
    def https_only(self) -> bool:
        """Tell whether plain HTTP is off."""
        return self.http_policy == "HTTPS_ONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperSecurity:
    """How a ZooKeeper knows its clients."""

    kerberos: bool = False  # SASL with GSSAPI; needs a KDC with zookeeper/localhost
    digest_users: Mapping[str, str] = field(default_factory=dict)  # name -> password, by DIGEST-MD5
    sasl_required: bool = False  # False: a client without SASL is let in as `world`
    tls: bool = False  # on a second port, beside the plain one
    client_certificates: Literal["need", "want", "none"] = "need"  # ssl.clientAuth

    def __post_init__(self) -> None:
        if self.kerberos and self.digest_users:
            raise ValueError(  # SecurityUtils.createSaslServer looks at the server's own login
                "kerberos and digest_users: a ZooKeeper offers one of the two SASL mechanisms, not both"
            )
        if self.sasl_required and not (self.kerberos or self.digest_users):
            raise ValueError("sasl_required: needs kerberos or digest_users, or no client could come in")


def own_user() -> str:
    """Return the name of the user of this process, which is the user of the servers."""
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
    """One cluster: a NameNode or an HA pair of them, a DataNode, and a ZooKeeper when asked for."""

    hadoop_version: str = DEFAULT_HADOOP_VERSION
    with_datanode: bool = True
    with_zookeeper: bool = False
    zookeeper_version: str | None = None  # None: the one within Hadoop's artefact
    ha: bool = False  # a pair of NameNodes that share their edits through JournalNodes
    journalnodes: int = 1  # of an HA pair; an odd number
    nameservice: str = "ns1"  # used by HA clients only
    ports: Ports = Ports()
    kerberos: Kerberos | None = None
    tls: Tls | None = None
    zookeeper_security: ZooKeeperSecurity = ZooKeeperSecurity()
    directory: Path | None = None  # made when missing, and kept; None: a temporary one, removed at the end
    # Configuration keys over the test bed's own, for servers and shells alike.
    overrides: Mapping[str, str] = field(default_factory=dict)
    superuser: str = field(default_factory=own_user)  # whom the servers say they run as
    proxy_servers: tuple[str, ...] = ()  # whose X-Forwarded-For is believed; see Cluster.believe_proxies
    audit_log: bool = False  # the NameNode writes logs/hdfs-audit.log
    namenode_jvm: tuple[str, ...] = QUICK_START_JVM

    def __post_init__(self) -> None:
        if self.zookeeper_security.kerberos and self.kerberos is None:
            raise ValueError("zookeeper_security.kerberos: needs a cluster with Kerberos, whose KDC it uses")

    @property
    def host(self) -> str:
        """The host of all addresses: principals and certificates carry its name, others need no name to be resolved."""
        return HOST_NAME if self.kerberos or self.tls or self.zookeeper_security.tls else "127.0.0.1"
