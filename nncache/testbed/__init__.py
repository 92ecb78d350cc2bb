"""A real cluster for development, tests, the demo and benchmarks."""

from nncache.testbed.cluster import Cluster, DataNode, JournalNode, NameNode
from nncache.testbed.errors import (
    KerberosError,
    MissingToolError,
    PortError,
    ResolveError,
    StartError,
    TestbedError,
)
from nncache.testbed.kdc import Kdc
from nncache.testbed.relay import Relay
from nncache.testbed.spec import (
    FULL_SPEED_JVM,
    GROUPS_OF_USERS,
    QUICK_START_JVM,
    ClusterSpec,
    Kerberos,
    Ports,
    ProxyUser,
    Tls,
    ZooKeeperSecurity,
)
from nncache.testbed.workplace import ShellResult
from nncache.testbed.zookeeper import ZooKeeper

__all__ = [
    "FULL_SPEED_JVM",
    "GROUPS_OF_USERS",
    "QUICK_START_JVM",
    "Cluster",
    "ClusterSpec",
    "DataNode",
    "JournalNode",
    "Kdc",
    "Kerberos",
    "KerberosError",
    "MissingToolError",
    "NameNode",
    "PortError",
    "Ports",
    "ProxyUser",
    "Relay",
    "ResolveError",
    "ShellResult",
    "StartError",
    "TestbedError",
    "Tls",
    "ZooKeeper",
    "ZooKeeperSecurity",
]
