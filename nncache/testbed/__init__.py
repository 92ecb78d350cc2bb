"""A real cluster for development, tests, the demo and benchmarks.

What goes wrong is a `TestbedError` (errors.py): a `MissingToolError` names the package to install, a `StartError` ends
with the last lines of the log of the server that ended or was not up in time, and then nothing is left running.
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
