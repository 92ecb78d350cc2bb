"""A real cluster for development, tests, the demo and benchmarks.

Failures are `TestbedError`s (errors.py). A `MissingToolError` names the package to install. A `ServerStartError` ends
with the last log lines of the server that died or was not up in time; no process is left running then.
"""

from nncache.testbed.cluster import Cluster, ClusterNameNode
from nncache.testbed.errors import KdcError, MissingToolError, ServerStartError, TestbedError
from nncache.testbed.kdc import Kdc
from nncache.testbed.relay import Relay
from nncache.testbed.spec import ClusterSpec, Kerberos, Ports, ProxyUserSpec, Tls, ZooKeeperSecurity
from nncache.testbed.zookeeper import ZooKeeperProcess

__all__ = [
    "Cluster",
    "ClusterNameNode",
    "ClusterSpec",
    "Kdc",
    "KdcError",
    "Kerberos",
    "MissingToolError",
    "Ports",
    "ProxyUserSpec",
    "Relay",
    "ServerStartError",
    "TestbedError",
    "Tls",
    "ZooKeeperProcess",
    "ZooKeeperSecurity",
]
