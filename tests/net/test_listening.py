"""On which addresses a server listens, and which clients reach it."""

import socket

import pytest

from nncache.net.listening import listening_socket
from tests.patience import HANG_S


@pytest.mark.parametrize(
    ("host", "serves"), [("::", {"::1", "127.0.0.1"}), ("::1", {"::1"}), ("127.0.0.1", {"127.0.0.1"})]
)
def test_every_address_is_that_of_both_families(host: str, serves: set[str]) -> None:
    """Only `::` means every address; each other address means itself."""
    with listening_socket(host, 0) as listening:
        port = listening.getsockname()[1]
        for address in ("::1", "127.0.0.1"):
            try:
                socket.create_connection((address, port), timeout=HANG_S).close()
            except ConnectionRefusedError:
                assert address not in serves
            else:
                assert address in serves
