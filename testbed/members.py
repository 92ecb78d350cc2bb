"""The servers of a cluster: where each listens, and its process."""

from dataclasses import dataclass

from nncache.testbed import readiness
from nncache.testbed.process import ServerProcess
from nncache.testbed.web_access import WebAccess


@dataclass(frozen=True, slots=True)
class NameNode:
    """One NameNode: its id, addresses ("host:port"), process, and how its web port believes a caller."""

    id: str
    http: str
    rpc: str
    process: ServerProcess
    access: WebAccess

    def state(self) -> str | None:
        """Return "active", "standby" or another HA state, as it says itself; None when it is silent."""
        return readiness.namenode_state(self.http, self.access)


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
