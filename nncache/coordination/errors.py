"""What can go wrong between this process and ZooKeeper.

Named after org.apache.zookeeper.KeeperException (ZooKeeper 3.8).
"""

from typing import ClassVar


class CoordinationError(Exception):
    """Root of this room's errors. Caught only where a stream's or a publisher's run is supervised."""


class ConnectionLostError(CoordinationError):
    """There is no connection, or it was lost under the call: whether a write was carried out is not known."""


class OutcomeUnknownError(CoordinationError):
    """Whether a transaction was carried out could not be found out in time (coordination/linearizable.py)."""


class TooLargeError(CoordinationError):
    """ZooKeeper does not take so large a transaction; nothing was sent."""


class UnknownCallError(ConnectionLostError):
    """The server's release does not have this call (KeeperException.Unimplemented); it closes the connection."""


class ZnodeError(CoordinationError):
    """The tree is not as the call supposed it; nothing was changed. `path` names the znode."""

    what: ClassVar[str] = "ZooKeeper refuses the call"
    """What a kind says that always says the same."""

    def __init__(self, path: str, what: str | None = None) -> None:
        super().__init__(f"{path}: {self.what if what is None else what}")
        self.path = path


class NoNodeError(ZnodeError):
    """The znode, or for a creation its parent, is not there."""

    what = "there is no such znode"


class NodeExistsError(ZnodeError):
    """The znode to be created is there already."""

    what = "the znode is there already"


class BadVersionError(ZnodeError):
    """Another client has written the znode in between."""

    what = "the znode was written by another client in between"


class NotEmptyError(ZnodeError):
    """The znode to be deleted has children."""

    what = "the znode has children"


class NotAllowedError(ZnodeError):
    """ZooKeeper's ACL refuses it to this client; only an administrator can help."""

    what = (
        "ZooKeeper's ACL refuses it to this client: see zookeeper_sasl here, and at the publisher zookeeper_acl "
        "and, for a subscriber, the filter's list"
    )
