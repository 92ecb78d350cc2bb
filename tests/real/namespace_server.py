"""A namespace in ZooKeeper as processes, for tests that need a cluster: nncache's own NameNodes and DataNodes."""

import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from nncache.testbed import Cluster
from nncache.testbed.cluster import ClusterNameNode
from nncache.testbed.daemon import OwnDataNode, OwnNameNode
from nncache.testbed.readiness import WebAccess
from nncache.testbed.spec import own_user


class NamespaceServer(Cluster):
    """The NameNodes of the namespace; the caller stops the ZooKeepers.

    Attributes:
        root: the namespace's root znode.
        servers: the client ports of ZooKeeper.
    """

    def __init__(self, servers: str, *, namenodes: int = 1, datanodes: int = 1) -> None:
        """Prepare the processes; a `with` block starts them."""
        self.superuser = own_user()
        self.kdc = None
        self._zookeeper = None
        self.directory = Path("/nonexistent")  # of edit logs, which it does not have
        self.servers = servers
        self.root = f"/served-{uuid.uuid4().hex[:12]}"
        self._close = ExitStack()
        at = ("--zookeeper", servers, "--zookeeper-root", self.root)
        self._namenodes = [OwnNameNode(*at) for _ in range(namenodes)]
        self._datanodes = [OwnDataNode(*at) for _ in range(datanodes)]
        for program in (*self._namenodes, *self._datanodes):
            self._close.callback(program.close)
        self.namenodes = tuple(
            ClusterNameNode(
                id=f"nn{number}",
                http=each.http,
                https="",
                rpc=each.rpc,
                process=each.process,
                access=WebAccess(),
            )
            for number, each in enumerate(self._namenodes, 1)
        )

    def stop(self) -> None:
        """Stop all processes. May be called repeatedly."""
        self._close.close()

    def __enter__(self) -> Self:
        try:
            for program in (*reversed(self._namenodes), *self._datanodes):  # so that the first is not active
                program.start()
        except BaseException:
            self.stop()
            raise
        return self
