"""A ZooKeeper that a test may break."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from nncache.testbed import Cluster, StartError, ZooKeeperServer
from nncache.testbed.ports import is_free
from tests.cluster import HADOOP
from tests.testbed.leftovers import eventually, nothing_is_left


@pytest.fixture(scope="module")
def server() -> Iterator[ZooKeeperServer]:
    """One for this module."""
    with ZooKeeperServer(hadoop_version=HADOOP) as started:
        yield started


@pytest.fixture
def client(server: ZooKeeperServer) -> Iterator[KazooClient]:
    """A session."""
    client = KazooClient(server.address, timeout=5.0)
    client.start()
    yield client
    client.stop()
    client.close()


def test_writes_are_counted_exactly(server: ZooKeeperServer, client: KazooClient) -> None:
    """One for each transaction, whatever it holds; a read is none."""
    before = server.writes()
    client.create("/counted", b"")
    client.get("/counted")
    multi = client.transaction()
    for number in range(10):
        multi.create(f"/counted/{number}")
    multi.commit()
    assert server.writes() - before == 2


def test_sessions_and_watches_are_counted(server: ZooKeeperServer, client: KazooClient) -> None:
    """A watch that has fired is none any more."""
    assert server.sessions() == 1
    before = server.watches()
    client.create("/watched", b"")
    client.get("/watched", watch=lambda _event: None)
    assert server.watches() - before == 1
    client.set("/watched", b"x")
    assert server.watches() == before


def test_what_was_acknowledged_survives_a_kill_and_not_a_wipe(server: ZooKeeperServer) -> None:
    """On the same port, which nobody else is given meanwhile."""
    address = server.address
    client = KazooClient(address)
    client.start()
    client.create("/kept", b"x")
    client.stop()
    client.close()
    for end in (server.kill, server.stop):
        end()
        with pytest.raises(OSError):  # noqa: PT011 - any error of a connection
            server.writes()
        server.start_again()
        assert server.writes() > 0
    client = KazooClient(address)
    client.start()
    assert client.exists("/kept")
    client.stop()
    server.wipe()
    assert not server.data.exists()
    server.start_again()
    client.start()
    assert not client.exists("/kept")
    client.stop()
    client.close()
    assert server.address == address


async def test_it_can_be_used_from_a_coroutine(server: ZooKeeperServer) -> None:
    """Its methods block, and belong into a thread there."""
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start_again)
    assert await asyncio.to_thread(server.writes) >= 0


def test_it_goes_without_a_trace() -> None:
    """Neither a process nor a directory nor a taken port stays."""
    with ZooKeeperServer(hadoop_version=HADOOP) as server:
        directory = server.data.parents[1]
        assert Path(directory).exists()
    assert nothing_is_left(str(directory))
    assert eventually(lambda: is_free(int(server.address.rpartition(":")[2])))


def test_a_start_that_fails_leaves_nothing() -> None:
    """And says why."""
    server = ZooKeeperServer(hadoop_version=HADOOP)
    server.data.parent.joinpath("zookeeper").write_text("no directory", encoding="ascii")
    with pytest.raises(StartError, match="zookeeper ended"), server:
        pass
    assert nothing_is_left(str(server.data.parents[1]))


def test_a_cluster_has_one_of_the_same_kind(cluster: Cluster) -> None:
    """With the same questions."""
    assert cluster.zookeeper is not None
    assert cluster.zookeeper.writes() >= 0
    assert cluster.zookeeper.sessions() >= 0
    assert cluster.zookeeper.watches() >= 0
