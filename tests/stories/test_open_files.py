"""OpenFileUncached: a file that is open for writing grows without events."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied
from tests.stories.conftest import GLOBS


@contextmanager
def open_for_writing(
    proxied_cluster: ProxiedCluster, path: str, where: CallTarget, user: str
) -> Iterator[socket.socket]:
    """Keep a file open: the second step of a CREATE with an incomplete body."""
    first = proxied_cluster.do(where, "PUT", "CREATE", path, user, noredirect="true", overwrite="true")
    location = json.loads(first.body)["Location"].removeprefix("http://")
    address, _, target = location.partition("/")
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        head = f"PUT /{target} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 2000\r\n\r\n"
        connection.sendall(head.encode() + b"x" * 1000)
        while proxied_cluster.truth(path, user).status == 404:
            pass  # until the DataNode has created it
        yield connection


def close(connection: socket.socket) -> None:
    """Send the rest of the body; wait for the reply that acknowledges the file."""
    connection.sendall(b"y" * 1000)
    received = b""
    while b" 201 " not in received:  # an unrequested "100 Continue" comes first
        part = connection.recv(4096)
        assert part, received
        received += part


def assert_never_a_hit(proxied_cluster: ProxiedCluster, path: str, user: str) -> None:
    """Ask several times; assert that no answer comes from memory."""
    for _ in range(20):
        reply = proxied_cluster.ask(path, user)
        assert reply.status == 200
        assert not reply.is_hit


def test_an_open_file_is_never_answered_from_memory(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """Opened directly at the NameNode, it is forwarded until its CLOSE and cached afterwards."""
    path = f"{hdfs_directory}/f"
    proxied_cluster.make_hit(path, "alice")
    with open_for_writing(proxied_cluster, path, CallTarget.NAMENODE, "alice") as connection:
        while proxied_cluster.ask(path, "alice").status == 404:
            pass  # Bounded: until the opening is known; make_hit below fails if it never is
        assert_never_a_hit(proxied_cluster, path, "alice")
        assert_never_a_hit(proxied_cluster, path, "bob")
        close(connection)
    assert b'"length":2000' in proxied_cluster.make_hit(path, "alice").body


def test_a_file_open_before_the_start_is_not_cached(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """There is no event of the opening: the proxy asks the NameNode whether the file is closed."""
    path = f"{hdfs_directory}/f"
    channel = Channel.DIRECT if proxied_cluster.service is None else Channel.ZOOKEEPER
    with (
        open_for_writing(proxied_cluster, path, CallTarget.NAMENODE, "alice") as connection,
        proxied(proxied_cluster.cluster, *GLOBS, channel=channel) as later,
    ):
        assert_never_a_hit(later, path, "alice")
        close(connection)
        later.make_hit(path, "alice")


def test_a_two_step_write_is_forwarded_until_its_close(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """OwnWrites: the second step bypasses the proxy, so nothing is cached until the CLOSE."""
    path = f"{hdfs_directory}/f"
    proxied_cluster.make_hit(path, "alice")
    with open_for_writing(proxied_cluster, path, CallTarget.PROXY, "alice") as connection:
        assert_never_a_hit(proxied_cluster, path, "alice")
        assert "two-step-write" in proxied_cluster.ask(path, "alice").header("Cache-Status")
        close(connection)
        assert proxied_cluster.disagreement(path, "alice") == []
    assert b'"length":2000' in proxied_cluster.make_hit(path, "alice").body
