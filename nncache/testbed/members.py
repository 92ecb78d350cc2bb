"""The servers of a cluster: where each listens, and its process."""

from dataclasses import dataclass

from nncache.testbed import readiness
from nncache.testbed.process import ServerProcess
from nncache.testbed.web_access import WebAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNode:
    """One NameNode: its id, addresses ("host:port"), process, and how its web port believes a caller.

    `http` is empty where it serves HTTPS alone, `https` where it serves no HTTPS.
    """

    id: str
    http: str
    https: str
    rpc: str
    process: ServerProcess
    access: WebAccess

    @property
    def web(self) -> str:
        """The address to which `access` leads: the plain one, where there is one."""
        return self.http or self.https

    def state(self) -> str | None:
        """Return "active", "standby" or another HA state, as it says itself; None when it is silent."""
        return readiness.namenode_state(self.web, self.access)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataNode:
    """The DataNode: its HTTP and HTTPS addresses, of which one may be empty, and its process."""

    http: str
    https: str
    process: ServerProcess


@dataclass(frozen=True, slots=True)
class JournalNode:
    """The JournalNode of an HA pair."""

    rpc: str
    process: ServerProcess
