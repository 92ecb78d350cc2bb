"""A real cluster for development, tests, the demo and benchmarks."""

from testbed.cluster import Cluster, DataNode, JournalNode, NameNode, ShellResult, ZooKeeper
from testbed.errors import MissingToolError, PortError, ResolveError, StartError, TestbedError
from testbed.spec import GROUPS_OF_USERS, ClusterSpec, Ports

__all__ = [
    "GROUPS_OF_USERS",
    "Cluster",
    "ClusterSpec",
    "DataNode",
    "JournalNode",
    "MissingToolError",
    "NameNode",
    "PortError",
    "Ports",
    "ResolveError",
    "ShellResult",
    "StartError",
    "TestbedError",
    "ZooKeeper",
]
