"""Sockets that listen, opened before anything else is started. (nncache/listening.py)"""

import socket

from nncache.errors import AddressInUseError
from proxy.settings import Endpoint


def listen(key: str, endpoint: Endpoint, backlog: int) -> socket.socket:
    """Return a socket that listens there; connections wait in it until somebody accepts them.

    Raises:
        AddressInUseError: the address is taken, or not this host's; one line that names the setting.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise AddressInUseError(f"{key}: {endpoint}: {error.strerror or error}") from error
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A restart must not wait for the last connections of its predecessor to time out.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(backlog)
    except OSError as error:
        opened.close()
        raise AddressInUseError(f"{key}: {endpoint}: {error.strerror or error}") from error
    opened.settimeout(0)  # for an event loop
    return opened


def endpoint_of(listening: socket.socket) -> Endpoint:
    """Return where it listens: with port 0 in the settings, the port that the system chose."""
    host, port = listening.getsockname()[:2]
    return Endpoint(host, port)
