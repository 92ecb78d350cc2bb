"""Bound the connections of an admin port: how many, whose, and for how long.

Probes of this host have places of their own, so that clients elsewhere cannot make /health fail here. A connection that
is refused is closed at once: the bound keeps the port from taking the files of the clients' port.
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
"""Open at once, one half of this host and one half of all others; `proxy.limits.reserve_files` keeps files for them."""

LIFETIME_S: Final = 15.0
"""Seconds after which a connection is closed, whatever it does: also one that asks again and again, or never reads."""


class Connections:
    """Makes the protocol of each connection, and counts.

    Invariants:
        C1  At most `max_connections` are open, on any event loop: counted is what was made, not what may be made.
        C2  None is open for longer than `lifetime_s`.
        C3  Clients of this host take no place of the others', and the others none of theirs.
    """

    def __init__(
        self, make: Callable[[], asyncio.Protocol], *, max_connections: int, lifetime_s: float
    ) -> None:
        self.lifetime_s = lifetime_s
        self.refused = 0  # since the start
        self.most = max_connections
        self._make = make  # of the protocol that is bounded here
        self._of_others = Shares(max_connections // 2)
        self._of_this_host = Shares(max_connections - max_connections // 2)

    @property
    def open(self) -> int:
        """How many there are."""
        return self._of_this_host.in_use + self._of_others.in_use

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a connection to come."""
        return _Connection(self)

    def admit(self, address: str) -> asyncio.Protocol | None:
        """Count a connection of this address; return what serves it, None if there is no place for it."""
        if self._places(address).take(holder_of(address)):
            return self._make()
        self.refused += 1
        return None

    def leave(self, address: str) -> None:
        """Count out a connection that was admitted."""
        self._places(address).give_back(holder_of(address))

    def _places(self, address: str) -> Shares:
        return self._of_this_host if is_loopback(address) else self._of_others


class _Connection(asyncio.Protocol):
    """One connection: passes on to what serves it what the event loop says, and ends it in time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._address = ""  # of the client, for as long as it is connected
        self._served_by: asyncio.Protocol | None = (
            None  # None before the connection, after it, and if refused
        )
        self._end: asyncio.TimerHandle | None = None  # of its lifetime

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve it, or close it at once."""
        channel = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        peer = channel.get_extra_info("peername")
        self._address = str(peer[0]) if peer else ""  # a client that is gone already has none
        self._served_by = self._connections.admit(self._address)
        if self._served_by is None:
            channel.abort()
            return
        self._end = asyncio.get_running_loop().call_later(self._connections.lifetime_s, channel.abort)
        self._served_by.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give its place back."""
        served_by, self._served_by = self._served_by, None
        if served_by is None:
            return
        assert self._end is not None
        self._end.cancel()
        self._connections.leave(self._address)
        served_by.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass on."""
        if self._served_by is not None:
            self._served_by.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass on."""
        return None if self._served_by is None else self._served_by.eof_received()

    def pause_writing(self) -> None:
        """Pass on."""
        if self._served_by is not None:
            self._served_by.pause_writing()

    def resume_writing(self) -> None:
        """Pass on."""
        if self._served_by is not None:
            self._served_by.resume_writing()


@asynccontextmanager
async def listening(
    connections: Connections, certificate: ServerCertificate, endpoint: ListenAddress
) -> AsyncIterator[ListenAddress]:
    """Listen, and return where; handshakes under way have as many places as connections.

    Raises:
        OSError: the address is taken, or not ours.
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
    try:
        listener.listen(endpoint.host, endpoint.port)
    except StartError as error:
        raise error.__cause__ or error from None  # the OSError has the reason alone
    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(listener.run())
        try:
            yield ListenAddress(endpoint.host, listener.port)
        finally:
            listener.stop()
            serving.cancel()
