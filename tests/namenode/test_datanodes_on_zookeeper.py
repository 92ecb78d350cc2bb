"""NameNodes and DataNodes as processes on a real ZooKeeper: kills under load lose nothing."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests

from nncache.testbed.daemon import Program
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.namenode.asking import call
from tests.namenode.test_many import NNCACHE, started
from tests.namenode.test_several_datanodes import flip
from tests.patience import until

DATA = bytes(range(256)) * 16_384  # four blocks of 1 MB
DEAD_S = 3


@dataclass
class Node:
    """A DataNode's process."""

    program: Program
    http: str
    directory: Path

    def files(self, below: str = "finalized") -> list[Path]:
        """Return the files of its replicas."""
        return sorted((self.directory / "blocks" / below).glob("*[0-9]"))


@dataclass
class Processes:
    """Two NameNodes and some DataNodes."""

    at: tuple[str, ...]
    https: list[str]
    programs: list[Program]
    superuser: str
    datanodes: list[Node]

    def start(self, directory: Path) -> Node:
        """Start a DataNode, or restart one on its directory."""
        program, printed = started("datanode", *self.at, "--directory", str(directory))
        self.programs.append(program)
        self.datanodes.append(Node(program, printed["datanode_http"], directory))
        return self.datanodes[-1]

    def kill(self, node: Node) -> None:
        """Kill a DataNode (SIGKILL)."""
        node.program.process.kill()
        self.datanodes.remove(node)

    def replicas(self) -> dict[str, int]:
        """Return how many running DataNodes have each block finalized on disk."""
        found: dict[str, int] = {}
        for node in self.datanodes:
            for file in node.files():
                found[file.name] = found.get(file.name, 0) + 1
        return found

    def audit(self) -> str:
        """Return the last line of fsck's output."""
        done = subprocess.run([NNCACHE, "fsck", *self.at], text=True, capture_output=True, check=False)
        return done.stdout.splitlines()[-1]


@contextlib.contextmanager
def processes(server: ZooKeeperServer, directory: Path, datanodes: int) -> Iterator[Processes]:
    """Start two NameNodes and some DataNodes; an absent DataNode is dead after DEAD_S."""
    at = ("--zookeeper", server.address, "--zookeeper-root", f"/{directory.name}")
    namenodes = [started("namenode", *at, "--datanode-dead-s", str(DEAD_S)) for _ in range(2)]
    cluster = Processes(
        at,
        [printed["namenode_http"] for _, printed in namenodes],
        [program for program, _ in namenodes],
        namenodes[0][1]["superuser"],
        [],
    )
    try:
        for number in range(datanodes):
            cluster.start(directory / f"dn{number}")
        yield cluster
    finally:
        for program in cluster.programs:
            program.close()


def upload(cluster: Processes, path: str, killed: list[Node]) -> None:
    """Upload a file with three replicas; kill a DataNode of its pipeline when half of it is sent."""
    query = f"op=CREATE&replication=3&blocksize=1048576&overwrite=true&user.name={cluster.superuser}"
    first = requests.put(
        f"http://{cluster.https[0]}/webhdfs/v1{path}?{query}", allow_redirects=False, timeout=60
    )
    location = first.headers["Location"]

    def body() -> Iterator[bytes]:
        half = len(DATA) // 2 + 300_000
        yield DATA[:half]
        behind = [node for node in cluster.datanodes if node.http not in location]
        until(lambda: any(node.files("rbw") for node in behind))
        victim = next(node for node in behind if node.files("rbw"))
        cluster.kill(victim)
        killed.append(victim)
        yield DATA[half:]

    assert requests.put(location, data=body(), timeout=60).status_code == 201


@pytest.mark.long
def test_killed_datanodes_cost_no_upload_and_no_block(
    zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    """A pipeline member, the leading NameNode and a DataNode with replicas are killed; in the end fsck is clean."""
    killed: list[Node] = []
    with processes(zookeeper_server, tmp_path, 4) as cluster:
        until(lambda: call(cluster.https[0], "PUT", "/d", "MKDIRS", cluster.superuser).status == 200)

        def opened() -> bytes:
            return call(cluster.https[1], "GET", "/f", "OPEN", cluster.superuser).body

        upload(cluster, "/f", killed)
        assert opened() == DATA
        cluster.programs[0].process.kill()
        until(lambda: sorted(cluster.replicas().values()) == [3] * 4, lambda: str(cluster.replicas()))
        assert opened() == DATA
        flip(cluster.datanodes[0].files()[0])
        for _ in range(6):
            assert opened() == DATA
        cluster.start(killed[0].directory)
        cluster.kill(cluster.datanodes[1])
        until(lambda: sorted(cluster.replicas().values()) == [3] * 4, lambda: str(cluster.replicas()))
        assert opened() == DATA
        until(lambda: cluster.audit().endswith(": 0 findings, 0 left"), cluster.audit)
