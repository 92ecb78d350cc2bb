"""Listen on one address, or on all addresses of a host."""

import socket
from typing import Any, Final

_ALL: Final = "::"


def listening_socket(host: str, port: int, *, backlog: int = 100) -> socket.socket:
    """Return a socket that listens on the address; on `::` it serves IPv4 as well.

    Raises OSError: the address is in use, or not an address of this host.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    is_dual = host == _ALL and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, backlog=backlog, dualstack_ipv6=is_dual)


def where(host: str, port: int, *, backlog: int = 100) -> dict[str, Any]:
    """Return the arguments of an event loop's `create_server`, for which `::` alone would mean IPv6 only.

    Raises OSError: as above for `::`; for other addresses the event loop raises it.
    """
    if host == _ALL:
        return {"sock": listening_socket(host, port, backlog=backlog), "backlog": backlog}
    return {"host": host, "port": port, "backlog": backlog, "reuse_address": True}
