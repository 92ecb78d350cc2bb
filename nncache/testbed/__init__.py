"""A real cluster for development, tests, the demo and benchmarks.

Failures are `TestbedError`s (errors.py). A `MissingToolError` names the package to install. A `StartError` ends with
the last log lines of the server that died or was not up in time; no process is left running then.
"""

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
