"""`nncache cluster --light` as a process, for tests that need a cluster, and not a real one."""

from pathlib import Path
from typing import Self

from nncache.testbed import Cluster, ZooKeeper, readiness
from nncache.testbed.cluster import NameNode
from nncache.testbed.daemon import Program
from nncache.testbed.ports import PortLease
from nncache.testbed.readiness import WebAccess
from nncache.testbed.spec import own_user


class LightServer(Cluster):
    """Has what tests ask of a cluster's NameNode and its addresses; nothing of it is Java, and nothing is on disk."""

    def __init__(self, zookeeper: ZooKeeper | None = None) -> None:
        """Lay it out; a `with` block starts it. The ZooKeeper beside it is its owner's to stop."""
        self.superuser = own_user()
        self.kdc = None
        self.zookeeper = zookeeper
        self.directory = Path("/nonexistent")  # of a log of edits: it has none
        self._ports = PortLease()
        http, rpc = (f"127.0.0.1:{self._ports.take()}" for _ in range(2))
        self._program = Program(
            *("cluster", "--light", "--port", http.rpartition(":")[2], "--rpc-port", rpc.rpartition(":")[2]),
            is_up=lambda: readiness.namenode_state(http) == "active",
        )
        self.namenodes = (
            NameNode(
                id="nn1", http=http, https="", rpc=rpc, process=self._program.process, access=WebAccess()
            ),
        )

    def stop(self) -> None:
        """Stop it. May be called again."""
        self._program.close()

    def __enter__(self) -> Self:
        self._ports.__enter__()
        self._program.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._ports.__exit__(None, None, None)
