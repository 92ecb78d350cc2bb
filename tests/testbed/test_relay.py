"""The relay and each of its faults, before a server that sends back what it gets."""

import asyncio
import contextlib
import gc
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from nncache.testbed.errors import PortError
from nncache.testbed.relay import Relay
from tests.patience import HANG_S

PATIENCE_S = 10.0
A_MOMENT_S = 0.15  # long enough for a byte to cross loopback, had it been let through


class Echo(socketserver.BaseRequestHandler):
    """Sends back what it gets; says goodbye when the client has ended its side."""

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
        """Resets are what these tests are about."""


@pytest.fixture
def server() -> Iterator[str]:
    """The echo server's address."""
    with EchoServer(("127.0.0.1", 0), Echo) as echo:
        threading.Thread(target=echo.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{echo.server_address[1]}"
        echo.shutdown()


@pytest.fixture
def relay(server: str) -> Iterator[Relay]:
    """A relay before the echo server."""
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
    """Read so many bytes, or up to the end."""
    answer = b""
    while len(answer) < length and (part := connection.recv(length - len(answer))):
        answer += part
    return answer


def is_silent(connection: socket.socket) -> bool:
    """Tell whether nothing arrives for a moment, not even an end."""
    connection.settimeout(A_MOMENT_S)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(PATIENCE_S)
    return False


def test_new_connections_can_be_led_to_another_server(relay: Relay) -> None:
    """As when a name or an address is moved: present connections end."""
    with Relay(relay.address) as other, connect(other) as before:
        assert ask(before, b"one") == b"one"
        with socket.create_server(("127.0.0.1", 0)) as listening:
            other.lead_to(f"127.0.0.1:{listening.getsockname()[1]}")
            with pytest.raises(ConnectionResetError):
                before.recv(1)
            with connect(other):
                listening.settimeout(PATIENCE_S)
                listening.accept()[0].close()


def test_bytes_pass_both_ways(relay: Relay) -> None:
    """Unchanged, and more than fits into any buffer."""
    data = bytes(range(256)) * 8_192
    with connect(relay) as connection:
        writer = threading.Thread(target=connection.sendall, args=(data,))
        writer.start()
        assert read(connection, len(data)) == data
        writer.join()
    assert relay.connections == 1


def test_the_end_of_one_direction_passes_and_the_other_stays_open(relay: Relay) -> None:
    """A half-closed connection is still one."""
    with connect(relay) as connection:
        connection.sendall(b"x")
        connection.shutdown(socket.SHUT_WR)
        assert read(connection, 100) == b"xbye"


def test_a_cut_resets_what_is_open_and_refuses_what_is_new(relay: Relay) -> None:
    """As when the server's process has died."""
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"
        relay.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(relay)


def test_a_restored_one_listens_where_it_did(relay: Relay) -> None:
    """A client finds it without being told."""
    address = relay.address
    relay.cut()
    relay.restore()
    assert relay.address == address
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"


def test_a_black_hole_accepts_and_swallows(relay: Relay) -> None:
    """Old and new connections stay open; nobody answers."""
    with connect(relay) as old:
        assert ask(old, b"x") == b"x"
        relay.black_hole()
        with connect(relay) as new:
            for connection in (old, new):
                connection.sendall(b"lost")
                assert is_silent(connection)


def test_who_lost_bytes_is_reset_by_the_restoring(relay: Relay) -> None:
    """A stream with a gap must not go on; one without may."""
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
    """As after a network outage that TCP survives."""
    with connect(relay) as connection:
        relay.hold()
        connection.sendall(b"late")
        assert is_silent(connection)
        relay.restore()
        assert read(connection, 4) == b"late"


def test_a_delay_counts_each_way(relay: Relay) -> None:
    """The answer takes twice as long, and the one after the delay's end doesn't."""
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


def test_connections_can_be_reset_once(relay: Relay) -> None:
    """The next ones fare as before."""
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"
        relay.reset_connections()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"


def test_a_dead_server_is_a_reset() -> None:
    """The relay has accepted by then: refusing is no longer possible."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = f"127.0.0.1:{gone.getsockname()[1]}"
    with Relay(address) as relay, pytest.raises(ConnectionResetError), connect(relay) as connection:
        connection.recv(1)


def test_the_end_resets_what_is_open(server: str) -> None:
    """Also what is held; and it may be ended twice."""
    relay = Relay(server).start()
    with connect(relay) as connection:
        assert ask(connection, b"x") == b"x"
        relay.hold()
        connection.sendall(b"y")
        relay.stop()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    relay.stop()


def test_one_that_never_ran_can_be_stopped(server: str) -> None:
    """It holds a port and a loop from its making on."""
    Relay(server).stop()


def test_a_port_can_be_chosen_and_is_given_back(server: str) -> None:
    """Two relays can't have the same."""
    with Relay(server) as first:
        port = int(first.address.rpartition(":")[2])
        with pytest.raises(PortError):
            Relay(server, port=port)
    with Relay(server, port=port) as second:
        assert second.address == first.address


async def test_it_works_beside_a_running_event_loop(relay: Relay) -> None:
    """Its own thread carries the bytes, so a coroutine may call it outright."""
    host, _, port = relay.address.rpartition(":")
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        relay.cut()
        with pytest.raises(ConnectionResetError):
            await reader.readexactly(1)
    writer.close()


def test_who_connects_while_it_stops_is_let_go(server: str) -> None:
    """Nothing that it was just accepting stays open: collecting that would warn in another test."""
    for _ in range(10):
        with contextlib.ExitStack() as clients, Relay(server) as relay:
            host, _, port = relay.address.rpartition(":")
            for _ in range(3):
                client = clients.enter_context(socket.socket())
                client.settimeout(0)
                client.connect_ex((host, int(port)))
    gc.collect()
