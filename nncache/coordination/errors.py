"""Errors between this process and ZooKeeper.

The names are those of org.apache.zookeeper.KeeperException (ZooKeeper 3.8).
"""

from typing import ClassVar


class CoordinationError(Exception):
    """Root of this room's errors. Caught only where the run of a stream or a publisher is supervised."""


class ConnectionLostError(CoordinationError):
    """There is no connection, or it was lost during the call: whether a write was carried out is unknown."""


class OutcomeUnknownError(CoordinationError):
    """The outcome of a transaction could not be determined in time (coordination/linearizable.py)."""


class TooLargeError(CoordinationError):
    """The transaction is too large for ZooKeeper; nothing was sent."""


class UnknownCallError(ConnectionLostError):
    """The server's release does not implement this call (KeeperException.Unimplemented); it closes the connection."""


class ZnodeError(CoordinationError):
    """The tree does not match the call's assumptions; nothing was changed. `path` names the znode."""

    what: ClassVar[str] = "ZooKeeper refuses the call"
    """The default message of a class."""

    def __init__(self, path: str, what: str | None = None) -> None:
        super().__init__(f"{path}: {self.what if what is None else what}")
        self.path = path


class NoNodeError(ZnodeError):
    """The znode, or the parent of a new znode, does not exist."""

    what = "there is no such znode"


class NodeExistsError(ZnodeError):
    """The znode to be created exists already."""

    what = "the znode is there already"


class BadVersionError(ZnodeError):
    """Another client has written the znode in between."""

    what = "the znode was written by another client in between"


class NotEmptyError(ZnodeError):
    """The znode to be deleted has children."""

    what = "the znode has children"


class NotAllowedError(ZnodeError):
    """ZooKeeper's ACL refuses the operation to this client; only an administrator can change that."""

    what = (
        "ZooKeeper's ACL refuses it to this client: see zookeeper_sasl here, and at the publisher zookeeper_acl "
        "and, for a subscriber, the filter's list"
    )
