"""Questions to servers that may not be there yet."""

import http.server
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest

from nncache.testbed import Cluster, readiness


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers every GET with what the test put there."""

    status: ClassVar[int] = 200
    body: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(self.status)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@pytest.fixture
def answering() -> Iterator[Callable[[int, bytes], str]]:
    """Start an HTTP server that gives this answer; returns its address."""
    started: list[http.server.ThreadingHTTPServer] = []

    def start(status: int, body: bytes) -> str:
        handler = type("Handler", (Answers,), {"status": status, "body": body})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        started.append(server)
        return f"127.0.0.1:{server.server_address[1]}"

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


def nobody() -> str:
    """Return an address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"{}"), (200, b"no json"), (200, b"{}"), (200, b'{"beans": []}')],
    ids=["an error", "no JSON", "another JSON", "no such bean"],
)
def test_an_answer_that_says_nothing_is_none(
    answering: Callable[[int, bytes], str], status: int, body: bytes
) -> None:
    """A server amid its start answers all kinds of things."""
    address = answering(status, body)
    assert readiness.jmx(address, "x") is None
    assert readiness.namenode_state(address) is None
    assert not readiness.is_writable(address)
    assert readiness.live_datanodes(address) == 0


def test_nobody_there_is_not_up() -> None:
    """A refused connection is an answer, not an error."""
    assert readiness.jmx(nobody(), "x") is None
    assert not readiness.accepts(nobody())
    assert not readiness.zookeeper_is_up(nobody())
    assert not readiness.namenode_is_up(nobody(), nobody())


def remote_exception(name: str) -> bytes:
    """Render an error as WebHDFS does."""
    return json.dumps({"RemoteException": {"exception": name, "message": "x"}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "up"),
    [
        (200, b"{}", True),
        (403, remote_exception("StandbyException"), True),
        (403, remote_exception("RetriableException"), False),
        (500, b"", False),
    ],
    ids=["a status", "standby", "still not started", "an error"],
)
def test_a_namenode_is_up_when_it_takes_calls(
    answering: Callable[[int, bytes], str], status: int, body: bytes, up: bool
) -> None:
    """A standby is up as well; one that says "try again" is not, and both ports are needed."""
    address = answering(status, body)
    assert readiness.namenode_is_up(address, address) == up
    assert not readiness.namenode_is_up(address, nobody())


@pytest.mark.parametrize(("safemode", "writable"), [("", True), ("Safe mode is ON.", False)])
def test_safe_mode_is_not_writable(
    answering: Callable[[int, bytes], str], safemode: str, writable: bool
) -> None:
    """`Safemode` is empty when it is off (NameNodeMXBean)."""
    body = json.dumps({"beans": [{"Safemode": safemode}]}).encode()
    assert readiness.is_writable(answering(200, body)) == writable


def test_real_servers_give_these_answers(cluster: Cluster) -> None:
    """The fakes above say what a real cluster says."""
    assert cluster.zookeeper is not None
    (namenode,) = cluster.namenodes
    assert readiness.namenode_is_up(namenode.http, namenode.rpc)
    assert readiness.namenode_state(namenode.http) == "active"
    assert readiness.is_writable(namenode.http)
    assert readiness.live_datanodes(namenode.http) == 1
    assert readiness.zookeeper_is_up(cluster.zookeeper.address)
    assert not readiness.zookeeper_is_up(namenode.http)
