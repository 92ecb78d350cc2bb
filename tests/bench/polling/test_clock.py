"""How far a clock is off is known within an error that is told."""

import itertools
import socket
import threading

import pytest

from nncache.bench.polling.clock import SAMPLES, ClockError, ClockOffset, endpoint, measure
from nncache.bench.polling.conductor import Conductor


def test_the_shortest_round_trip_is_believed() -> None:
    """Its offset is taken to be that of its middle, and wrong by half of it at most."""
    trips = [(200.0 + number, 1.0) for number in range(SAMPLES)]
    trips[7] = (300.0, 0.125)
    times = itertools.chain.from_iterable((sent_s, sent_s + took_s) for sent_s, took_s in trips)
    with Conductor("127.0.0.1", clock=lambda: 100.0) as conductor:
        found = measure(conductor.address, clock=lambda: next(times))
    assert found == ClockOffset(offset_s=200.0625, error_s=0.0625)


def test_a_clock_that_drifts_widens_the_error() -> None:
    """Times between two measurements are off by at most the drift and the second one's own error."""
    assert ClockOffset(1.0, 0.25).then(ClockOffset(1.5, 0.25)) == ClockOffset(1.0, 0.75)
    assert ClockOffset(1.0, 0.25).then(ClockOffset(1.0, 0.125)) == ClockOffset(1.0, 0.25)


def test_who_is_not_there_is_named() -> None:
    """With host and port."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ClockError, match=address):
            measure(address)


@pytest.mark.parametrize("says", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_who_tells_no_time_is_named(says: bytes) -> None:
    """Something else serves there, or hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(says)

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ClockError, match=address):
            measure(address)
        thread.join()


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("namenode:9870", ("namenode", 9870)),
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:8080", ("::1", 8080)),
    ],
)
def test_an_address_has_host_and_port(address: str, found: tuple[str, int]) -> None:
    """As `socket.create_connection` takes them."""
    assert endpoint(address) == found
