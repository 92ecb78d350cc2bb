"""The servers of a cluster: where each listens, and its process."""

from dataclasses import dataclass

from nncache.testbed import readiness
from nncache.testbed.process import ServerProcess


@dataclass(frozen=True, slots=True)
class NameNode:
    """One NameNode: its id, addresses ("host:port") and process."""

    id: str
    http: str
    rpc: str
    process: ServerProcess

    def state(self) -> str | None:
        """Return "active", "standby" or another HA state, as it says itself; None when it is silent."""
        return readiness.namenode_state(self.http)


@dataclass(frozen=True, slots=True)
class DataNode:
    """The DataNode: its HTTP address and process."""

    http: str
    process: ServerProcess


@dataclass(frozen=True, slots=True)
class JournalNode:
    """The JournalNode of an HA pair."""

    rpc: str
    process: ServerProcess
