"""`nncache cluster --light` as a process, for tests that need a cluster, and not a real one."""

from pathlib import Path
from typing import Self

from nncache.testbed import Cluster, ZooKeeper
from nncache.testbed.cluster import NameNode
from nncache.testbed.daemon import LightCluster
from nncache.testbed.readiness import WebAccess
from nncache.testbed.spec import own_user


class LightServer(Cluster):
    """Has what tests ask of a cluster's NameNode and its addresses; nothing of it is Java, and nothing is on disk."""

    def __init__(self, zookeeper: ZooKeeper | None = None) -> None:
        """Lay it out; a `with` block starts it. The ZooKeeper beside it is its owner's to stop."""
        self.superuser = own_user()
        self.kdc = None
        self._zookeeper = zookeeper
        self.directory = Path("/nonexistent")  # of a log of edits: it has none
        self._light = LightCluster()
        self.namenodes = (
            NameNode(
                id="nn1",
                http=self._light.http,
                https="",
                rpc=self._light.rpc,
                process=self._light.process,
                access=WebAccess(),
            ),
        )

    def stop(self) -> None:
        """Stop it. May be called again."""
        self._light.close()

    def __enter__(self) -> Self:
        self._light.start()
        return self
