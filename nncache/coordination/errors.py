"""What can go wrong between this process and ZooKeeper.

Named after org.apache.zookeeper.KeeperException (ZooKeeper 3.8).
"""


class CoordinationError(Exception):
    """Root of this room's errors. Caught only where a stream's or a publisher's run is supervised."""


class ConnectionLostError(CoordinationError):
    """There is no connection, or it was lost under the call: whether a write was carried out is not known."""


class UnknownCallError(ConnectionLostError):
    """The server's release does not have this call (KeeperException.Unimplemented); it closes the connection."""


class ZnodeError(CoordinationError):
    """The tree is not as the call supposed it; nothing was changed. `path` names the znode."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path


class NoNodeError(ZnodeError):
    """The znode, or for a creation its parent, is not there."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "there is no such znode")


class NodeExistsError(ZnodeError):
    """The znode to be created is there already."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the znode is there already")


class BadVersionError(ZnodeError):
    """Another client has written the znode in between."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the znode was written by another client in between")


class NotEmptyError(ZnodeError):
    """The znode to be deleted has children."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "the znode has children")


class NotAllowedError(ZnodeError):
    """ZooKeeper's ACL refuses it to this client; only an administrator can help."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path,
            "ZooKeeper's ACL refuses it to this client: see zookeeper_sasl here, and at the publisher zookeeper_acl "
            "and, for a subscriber, the filter's list",
        )
