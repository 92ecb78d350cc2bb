"""How far a clock is off is known within an error that is named."""

import itertools
import socket
import threading

import pytest

from nncache.bench.polling.clock import (
    SAMPLES,
    ClockError,
    ClockOffset,
    boottime,
    endpoint,
    measure,
    serving_time,
)


@pytest.mark.parametrize("shift_s", [0.0, 3.25, -1000.5])
def test_a_clock_that_is_off_is_found_out(shift_s: float) -> None:
    """Within the error that is named; the offset is ours minus the driver's. Nothing is left behind."""
    with serving_time("127.0.0.1") as address:
        found = measure(address, clock=lambda: boottime() + shift_s)
        again = measure(address, clock=lambda: boottime() + shift_s)
    assert abs(found.offset_s - shift_s) <= found.error_s
    assert abs(again.offset_s - shift_s) <= again.error_s
    assert "clock" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ClockError, match=address):
        measure(address)


def test_the_shortest_round_trip_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its offset is taken to be that of its middle, and wrong by half of it at most."""
    trips = [(200.0 + number, 1.0) for number in range(SAMPLES)]
    trips[7] = (300.0, 0.125)
    times = itertools.chain.from_iterable((sent_s, sent_s + took_s) for sent_s, took_s in trips)
    monkeypatch.setattr("nncache.bench.polling.clock.boottime", lambda: 100.0)
    with serving_time("127.0.0.1") as address:
        found = measure(address, clock=lambda: next(times))
    assert found == ClockOffset(offset_s=200.0625, error_s=0.0625)


def test_a_clock_that_drifts_widens_the_error() -> None:
    """Times between two measurements are off by at most the drift and the second one's own error."""
    assert ClockOffset(1.0, 0.25).then(ClockOffset(1.5, 0.25)) == ClockOffset(1.0, 0.75)
    assert ClockOffset(1.0, 0.25).then(ClockOffset(1.0, 0.125)) == ClockOffset(1.0, 0.25)


@pytest.mark.parametrize("says", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b""])
def test_what_is_no_clock_is_named(says: bytes) -> None:
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


def test_an_address_has_host_and_port() -> None:
    """As `socket.create_connection` takes them."""
    assert endpoint("namenode:9870") == ("namenode", 9870)
    assert endpoint("[::1]:8080") == ("::1", 8080)
