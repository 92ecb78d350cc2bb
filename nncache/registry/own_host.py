"""By which host clients reach a daemon of this machine."""

import socket
from typing import Final

_EVERY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on


def reached_at(configured: str, listens_on: str) -> str:
    """Return the host by which clients reach a daemon; may block, where a name server knows this machine's name."""
    if configured:
        return configured
    return socket.getfqdn() if listens_on in _EVERY_ADDRESS else listens_on
