"""A port in use ends the start with one line."""

import socket

import pytest

from nncache.errors import AddressInUseError
from nncache.listening import endpoint_of, listen
from proxy.settings import Endpoint


def test_port_0_is_the_systems_choice() -> None:
    """What was chosen can be asked, and takes connections at once."""
    with listen("listen", Endpoint("127.0.0.1", 0), 16) as opened:
        endpoint = endpoint_of(opened)
        assert endpoint.port > 0
        socket.create_connection((endpoint.host, endpoint.port), timeout=5).close()


def test_a_port_in_use_is_named_with_its_setting() -> None:
    """Key, address and what the system says."""
    with listen("listen", Endpoint("127.0.0.1", 0), 16) as opened:
        taken = endpoint_of(opened)
        with pytest.raises(AddressInUseError, match=f"^admin: {taken}: Address already in use$"):
            listen("admin", taken, 16)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
def test_an_address_that_is_not_this_hosts_is_named(host: str) -> None:
    """Unknown names, and addresses of others."""
    with pytest.raises(AddressInUseError, match=f"^listen: {host}:1: "):
        listen("listen", Endpoint(host, 1), 16)


def test_a_restart_does_not_wait_for_old_connections() -> None:
    """Connections of a predecessor in TIME_WAIT do not hold the port."""
    with listen("listen", Endpoint("127.0.0.1", 0), 16) as opened:
        endpoint = endpoint_of(opened)
        client = socket.create_connection((endpoint.host, endpoint.port), timeout=5)
        opened.settimeout(5)
        served, _ = opened.accept()
        served.close()  # the server closes first: its side stays in TIME_WAIT
        client.close()
    listen("listen", endpoint, 16).close()
