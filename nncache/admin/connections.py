"""Limit the connections of an admin port: their number, for each client, and their duration.

Probes on this host have a limit of their own, so that clients elsewhere cannot make /health fail here. A refused
connection is closed immediately: the limit keeps this port from using up the file descriptors of the clients' port.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, cast

from nncache.admin.access import is_loopback
from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress
from nncache.net.shares import Shares, holder_of
from nncache.proxy.limits import LimitSettings
from nncache.tls_server.certificate import ServerCertificate
from nncache.tls_server.listener import TlsListener

MAX_CONNECTIONS: Final = 32
"""Concurrent connections, half of them from this host; `proxy.limits.reserve_files` reserves files for them."""

LIFETIME_S: Final = 15.0
"""Seconds after which a connection is closed, even one that repeats requests or never reads."""


class ConnectionLimiter:
    """Makes the protocol of each connection, and counts the connections.

    Invariants:
        C1  At most `max_connections` are open, on any event loop: connections that were made are counted, not those
            that may be made.
        C2  No connection is open for longer than `lifetime_s`.
        C3  Clients on this host and other clients do not use each other's share.
    """

    def __init__(
        self, make: Callable[[], asyncio.Protocol], *, max_connections: int, lifetime_s: float
    ) -> None:
        self.lifetime_s = lifetime_s
        self.refused = 0  # since start
        self.most = max_connections
        self._make = make  # makes the protocol that serves a connection
        self._of_others = Shares(max_connections // 2)
        self._of_this_host = Shares(max_connections - max_connections // 2)

    @property
    def open(self) -> int:
        """Number of open connections."""
        return self._of_this_host.in_use + self._of_others.in_use

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return _Connection(self)

    def admit(self, address: str) -> asyncio.Protocol | None:
        """Count a connection from this address. Return the protocol that serves it; None if it is refused."""
        if self._places(address).take(holder_of(address)):
            return self._make()
        self.refused += 1
        return None

    def leave(self, address: str) -> None:
        """Stop counting an admitted connection."""
        self._places(address).give_back(holder_of(address))

    def _places(self, address: str) -> Shares:
        return self._of_this_host if is_loopback(address) else self._of_others


class _Connection(asyncio.Protocol):
    """One connection: forwards the event loop's calls to the serving protocol, and ends it after its lifetime."""

    def __init__(self, connections: ConnectionLimiter) -> None:
        self._connections = connections
        self._address = ""  # of the client, while it is connected
        self._served_by: asyncio.Protocol | None = None  # None before, after, and if refused
        self._end: asyncio.TimerHandle | None = None  # of its lifetime

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve the connection, or close it immediately."""
        channel = cast(asyncio.Transport, transport)  # uvloop's transport is not a subclass
        peer = channel.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""  # a client that has already disconnected has none
        self._served_by = self._connections.admit(self._address)
        if self._served_by is None:
            channel.abort()
            return
        self._end = asyncio.get_running_loop().call_later(self._connections.lifetime_s, channel.abort)
        self._served_by.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection, and forward the call."""
        served_by, self._served_by = self._served_by, None
        if served_by is None:
            return
        assert self._end is not None
        self._end.cancel()
        self._connections.leave(self._address)
        served_by.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Forward the call to the serving protocol."""
        if self._served_by is not None:
            self._served_by.data_received(data)

    def eof_received(self) -> bool | None:
        """Forward the call to the serving protocol."""
        return None if self._served_by is None else self._served_by.eof_received()

    def pause_writing(self) -> None:
        """Forward the call to the serving protocol."""
        if self._served_by is not None:
            self._served_by.pause_writing()

    def resume_writing(self) -> None:
        """Forward the call to the serving protocol."""
        if self._served_by is not None:
            self._served_by.resume_writing()


@asynccontextmanager
async def listening(
    connections: ConnectionLimiter, certificate: ServerCertificate, endpoint: ListenAddress
) -> AsyncIterator[ListenAddress]:
    """Listen over TLS while the block runs; yield the address. Handshakes in flight have the same limit.

    Raises:
        OSError: the address is in use, or not of this host.
    """
    limits = LimitSettings()
    listener = TlsListener(
        lambda _: connections(),
        certificate,
        asyncio.get_running_loop().time,
        places=connections.most,
        backlog=limits.backlog,
        handshake_timeout_s=limits.head_timeout_s,
        key="admin",
    )
    listener.shutdown_timeout_s = limits.head_timeout_s  # aiohttp does not end a client that does not read
    try:
        listener.listen(endpoint.host, endpoint.port)
    except StartError as error:
        raise error.__cause__ or error from None  # the OSError has only the reason
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(listener.run())
        try:
            yield ListenAddress(endpoint.host, listener.port)
        finally:
            listener.stop()
            serving.cancel()
