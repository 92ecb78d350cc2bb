"""What nncache is measured beside says what the NameNode says."""

import shutil
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from nncache.bench.request_cost import floor as floors
from nncache.bench.request_cost.floor import floor
from nncache.bench.servers.haproxy import haproxy
from nncache.bench.servers.nginx import nginx
from nncache.bench.servers.progress import Progress
from nncache.bench.servers.running import Running
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker

TARGET = "/webhdfs/v1/?op=GETFILESTATUS&user.name=joe"
SBIN = "/usr/bin:/usr/sbin"


def ask(address: str) -> tuple[int, bytes]:
    """Ask on a connection of its own."""
    with Asker(address) as server:
        reply = server.ask("GET", TARGET)
    return reply.status, reply.body


@pytest.mark.parametrize(
    ("program", "server"),
    [
        ("", floor),
        ("haproxy", haproxy),
        ("nginx", partial(nginx, valid_s=60)),
        ("nginx", partial(nginx, valid_s=None)),
    ],
)
def test_it_answers_as_the_namenode_does(
    cluster: Cluster, program: str, server: Callable[[str], AbstractContextManager[Running]]
) -> None:
    """Also the second time, from its cache if it has one."""
    if program and shutil.which(program, path=SBIN) is None:
        pytest.skip(f"apt-get install {program}")
    right = ask(cluster.namenodes[0].http)
    with server(cluster.namenodes[0].http) as running:
        assert [ask(running.address) for _ in range(3)] == [right] * 3


def test_the_floor_counts(cluster: Cluster) -> None:
    """What it has answered, and its connections, of which the question is one."""
    with floor(cluster.namenodes[0].http) as running, Asker(running.address) as client:
        assert running.progress is not None
        for _ in range(3):
            client.ask("GET", TARGET)
        assert running.progress() == Progress(answered=4, connections=2)


@pytest.mark.parametrize(
    "framed",
    [
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"Content-Length: 2\r\n\r\n{}",
        b"\r\n{}",
    ],
    ids=["chunked (3.5.0)", "counted", "to the end of the connection (3.4.1)"],
)
def test_the_floor_counts_the_body_however_it_is_framed(framed: bytes) -> None:
    """Releases differ in it, and the floor's connections are kept."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(65_536)
                client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nA: b\r\n" + framed)

        server = threading.Thread(target=answer)
        server.start()
        reply = floors.ask(b"GET / HTTP/1.1\r\n\r\n", listener.getsockname())
        server.join()
    assert reply == b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\n{}"
