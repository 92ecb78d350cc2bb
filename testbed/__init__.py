"""A real cluster for development, tests, the demo and benchmarks."""

from testbed.cluster import Cluster
from testbed.errors import MissingToolError, PortError, ResolveError, StartError, TestbedError
from testbed.members import DataNode, JournalNode, NameNode
from testbed.relay import Relay
from testbed.shell import ShellResult
from testbed.spec import FULL_SPEED_JVM, GROUPS_OF_USERS, QUICK_START_JVM, ClusterSpec, Ports
from testbed.zookeeper import ZooKeeper, ZooKeeperServer

__all__ = [
    "FULL_SPEED_JVM",
    "GROUPS_OF_USERS",
    "QUICK_START_JVM",
    "Cluster",
    "ClusterSpec",
    "DataNode",
    "JournalNode",
    "MissingToolError",
    "NameNode",
    "PortError",
    "Ports",
    "Relay",
    "ResolveError",
    "ShellResult",
    "StartError",
    "TestbedError",
    "ZooKeeper",
    "ZooKeeperServer",
]
