"""The relay and each of its faults, in front of an echo server."""

import contextlib
import gc
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from nncache.testbed.relay import Relay
from tests.patience import HANG_S

PATIENCE_S = 10.0
A_MOMENT_S = 0.15  # long enough for a byte to cross loopback, had it been forwarded


class Echo(socketserver.BaseRequestHandler):
    """Sends back all bytes; sends `bye` when the client has closed its side."""

    def handle(self) -> None:
        """Serve one connection."""
        while data := self.request.recv(65_536):
            self.request.sendall(data)
        self.request.sendall(b"bye")


class EchoServer(socketserver.ThreadingTCPServer):
    """Threads that don't outlive the test."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: these tests cause resets."""


@pytest.fixture
def server() -> Iterator[str]:
    """The echo server's address."""
    with EchoServer(("127.0.0.1", 0), Echo) as echo:
        threading.Thread(target=echo.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{echo.server_address[1]}"
        echo.shutdown()


@pytest.fixture
def relay(server: str) -> Iterator[Relay]:
    """A relay in front of the echo server."""
    with Relay(server) as running:
        yield running


def connect(relay: Relay) -> socket.socket:
    """Open a connection through the relay."""
    host, _, port = relay.address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def ask(connection: socket.socket, data: bytes) -> bytes:
    """Send bytes and read as many back."""
    connection.sendall(data)
    return read(connection, len(data))


def read(connection: socket.socket, length: int) -> bytes:
    """Read `length` bytes, or up to the end of the stream."""
    answer = b""
    while len(answer) < length and (part := connection.recv(length - len(answer))):
        answer += part
    return answer


def is_silent(connection: socket.socket) -> bool:
    """Return whether nothing arrives for a moment, not even the end of the stream."""
    connection.settimeout(A_MOMENT_S)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(PATIENCE_S)
    return False


def test_a_cut_resets_what_is_open_and_refuses_what_is_new(relay: Relay) -> None:
    """This simulates the death of the server's process."""
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"
        relay.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(relay)


def test_a_black_hole_accepts_and_swallows(relay: Relay) -> None:
    """Old and new connections stay open and get no answer."""
    with connect(relay) as old:
        assert ask(old, b"x") == b"x"
        relay.black_hole()
        with connect(relay) as new:
            for connection in (old, new):
                connection.sendall(b"lost")
                assert is_silent(connection)


def test_who_lost_bytes_is_reset_by_the_restoring(relay: Relay) -> None:
    """A stream with a gap must not continue; a stream without one may."""
    with connect(relay) as loser, connect(relay) as other:
        assert ask(loser, b"x") + ask(other, b"y") == b"xy"
        relay.black_hole()
        loser.sendall(b"lost")
        assert is_silent(loser)
        relay.restore()
        with pytest.raises(ConnectionResetError):
            loser.recv(1)
        assert ask(other, b"z") == b"z"


def test_what_is_held_arrives_late(relay: Relay) -> None:
    """This simulates a network outage that TCP survives."""
    with connect(relay) as connection:
        relay.hold()
        connection.sendall(b"late")
        assert is_silent(connection)
        relay.restore()
        assert read(connection, 4) == b"late"


def test_a_delay_counts_each_way(relay: Relay) -> None:
    """The answer takes twice the delay, and an answer after the delay's end takes none."""
    with connect(relay) as connection:
        relay.delay(0.1)
        began = time.monotonic()
        assert ask(connection, b"slow") == b"slow"
        assert time.monotonic() - began >= 0.2
        relay.delay(HANG_S)
        relay.restore()
        began = time.monotonic()
        assert ask(connection, b"fast") == b"fast"
        assert time.monotonic() - began < HANG_S


def test_nothing_overtakes_what_is_delayed(relay: Relay) -> None:
    """Bytes stay in order when the delay ends, and the end of the stream comes last."""
    with connect(relay) as connection:
        relay.delay(2 * A_MOMENT_S)
        connection.sendall(b"first,")
        assert is_silent(connection)
        connection.sendall(b"second,")
        relay.delay(0.0)
        connection.sendall(b"third")
        connection.shutdown(socket.SHUT_WR)
        assert read(connection, 100) == b"first,second,thirdbye"


def test_the_end_resets_what_is_open(server: str) -> None:
    """Held bytes are dropped; stop() may be called twice."""
    relay = Relay(server).start()
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"
        relay.hold()
        connection.sendall(b"y")
        relay.stop()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    relay.stop()


def test_who_connects_while_it_stops_is_let_go(server: str) -> None:
    """No accepted connection stays open: its collection would warn in another test."""
    for _ in range(10):
        with contextlib.ExitStack() as clients, Relay(server) as relay:
            host, _, port = relay.address.rpartition(":")
            for _ in range(3):
                client = clients.enter_context(socket.socket())
                client.settimeout(0)
                client.connect_ex((host, int(port)))
    gc.collect()
