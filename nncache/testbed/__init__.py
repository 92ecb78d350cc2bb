"""A real cluster for development, tests, the demo and benchmarks."""

from nncache.testbed.cluster import Cluster, NameNode
from nncache.testbed.errors import KerberosError, MissingToolError, StartError, TestbedError
from nncache.testbed.kdc import Kdc
from nncache.testbed.relay import Relay
from nncache.testbed.spec import ClusterSpec, Kerberos, Ports, ProxyUser, Tls, ZooKeeperSecurity
from nncache.testbed.zookeeper import ZooKeeper

__all__ = [
    "Cluster",
    "ClusterSpec",
    "Kdc",
    "Kerberos",
    "KerberosError",
    "MissingToolError",
    "NameNode",
    "Ports",
    "ProxyUser",
    "Relay",
    "StartError",
    "TestbedError",
    "Tls",
    "ZooKeeper",
    "ZooKeeperSecurity",
]
