"""`nncache cluster --light` as a process, for tests that need a cluster but not a real one."""

from pathlib import Path
from typing import Self

from nncache.testbed import Cluster, ZooKeeperProcess
from nncache.testbed.cluster import ClusterNameNode
from nncache.testbed.daemon import LightClusterProgram
from nncache.testbed.readiness import WebAccess
from nncache.testbed.spec import own_user


class LightServer(Cluster):
    """The NameNode and addresses of a light cluster, without Java and without files."""

    def __init__(self, zookeeper: ZooKeeperProcess | None = None) -> None:
        """Prepare the cluster; a `with` block starts it. The caller stops the ZooKeeper."""
        self.superuser = own_user()
        self.kdc = None
        self._zookeeper = zookeeper
        self.directory = Path("/nonexistent")  # of edit logs, which it does not have
        self._light = LightClusterProgram()
        self.namenodes = (
            ClusterNameNode(
                id="nn1",
                http=self._light.http,
                https="",
                rpc=self._light.rpc,
                process=self._light.process,
                access=WebAccess(),
            ),
        )

    def stop(self) -> None:
        """Stop the cluster. May be called repeatedly."""
        self._light.close()

    def __enter__(self) -> Self:
        self._light.start()
        return self
