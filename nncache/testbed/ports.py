"""Leases of free TCP ports, so that concurrent clusters do not take the same port."""

import contextlib
import fcntl
import os
import secrets
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from nncache.testbed.errors import PortError

_LOWEST = 20_000
_DEFAULT_EPHEMERAL_LOW = 32_768  # Linux's default, when the kernel does not say


class PortLease:
    """Ports on 127.0.0.1 that this process leases until `release()` or its end.

    Each lease is an flock on a file of the port; the kernel releases it when the process dies. All ports are below
    the ephemeral range, so no outgoing connection takes one between two starts of a server. Lock files are never
    removed: locks on a removed file and on its successor do not exclude each other.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory or Path(tempfile.gettempdir()) / f"nncache-ports-{os.getuid()}"
        self._held: dict[int, int] = {}  # port -> descriptor of the locked file

    def take(self, wanted: int = 0) -> int:
        """Lease the wanted port, or any free one if it is 0. Raises PortError if that fails."""
        if wanted:
            if not self._try(wanted):
                raise PortError(f"port {wanted} is taken by another process")
            return wanted
        for port in _candidates():
            if self._try(port):
                return port
        raise PortError(f"no port from {_LOWEST} up is free")

    def release(self) -> None:
        """Release all ports."""
        while self._held:
            os.close(self._held.popitem()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _try(self, port: int) -> bool:
        if port in self._held:
            return False
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._directory / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with contextlib.ExitStack() as undo:
            undo.callback(os.close, descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            if not is_free(port):
                return False
            undo.pop_all()
        self._held[port] = descriptor
        return True


def is_free(port: int) -> bool:
    """Return whether a server could listen on 127.0.0.1:port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java's server sockets do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _candidates() -> Iterator[int]:
    """Yield each port from `_LOWEST` up to the ephemeral range once, starting at a random one."""
    try:
        low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        low = _DEFAULT_EPHEMERAL_LOW
    span = max(low, _LOWEST + 1_000) - _LOWEST
    first = secrets.randbelow(span)
    for step in range(span):
        yield _LOWEST + (first + step) % span
