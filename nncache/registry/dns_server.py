"""Serves DNS over UDP and TCP, within bounds.

Sources: RFC 1035 section 4.2 for both transports, RFC 7766 for several messages on one connection.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, cast

from cachetools import LRUCache

from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress
from nncache.net.listening import where
from nncache.net.shares import Shares, holder_of
from nncache.net.token_bucket import TokenBucket

_log = logging.getLogger(__name__)

CONNECTIONS: Final = 256
"""Limit of concurrent TCP connections; further ones are closed."""

IDLE_S: Final = 10.0
"""Timeout of a connection that sends no complete message, or does not read its answers."""

BURST_S: Final = 5.0
"""The burst of an address, as seconds of its rate."""

ADDRESSES: Final = 65_536
"""Limit of addresses with a rate; the least recently seen ones are evicted."""

COUNTED_BYTES: Final = 512
"""Bytes of an answer that count as one message; a fraction counts in full."""

HELD_BYTES: Final = 256 * 1024
"""Unread answers of a connection beyond which its messages wait."""

PORTS_TRIED: Final = 20
"""Attempts if the system chooses the port: a port that is free for TCP may be in use for UDP."""

_LENGTH_BYTES: Final = 2


@dataclass(slots=True)
class ServerFigures:
    """Failures of messages and connections since start."""

    over_rate: int = 0  # messages dropped by the rate limit
    failed: int = 0  # messages that caused an internal error
    connections_refused: int = 0


class _Rates:
    """The rate limit of each address."""

    def __init__(self, per_s: float, clock: Callable[[], float]) -> None:
        self._per_s = per_s
        self._clock = clock
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(ADDRESSES)

    def may(self, holder: str) -> bool:
        """Charge an address for a message; return False if it has used up its rate."""
        bucket = self._buckets.get(holder)
        now = self._clock()
        if bucket is None:
            bucket = self._buckets[holder] = TokenBucket(self._per_s, max(1.0, self._per_s * BURST_S), now)
        if bucket.left(now) < 1:
            return False
        bucket.charge(1, now)
        return True

    def charge(self, holder: str, size: int) -> None:
        """Charge an address for the size of an answer as well."""
        bucket = self._buckets.get(holder)
        if bucket is not None:
            bucket.charge((size - 1) // COUNTED_BYTES, self._clock())


class DnsServer:
    """A DNS server that listens while it is entered as an async context.

    `answer` takes a message and whether it arrived over TCP; it returns the answer, or None for no answer.
    """

    def __init__(
        self,
        endpoint: ListenAddress,
        answer: Callable[[bytes, bool], bytes | None],
        per_s: float,
        clock: Callable[[], float],
    ) -> None:
        self.figures = ServerFigures()
        self.idle_s = IDLE_S
        self.shares = Shares(CONNECTIONS)
        self._endpoint = endpoint
        self._reply = answer
        # TCP alone proves an address: a forged UDP source cannot use up that address's rate for TCP.
        self._rates = {is_tcp: _Rates(per_s, clock) for is_tcp in (False, True)}
        self._tcp: asyncio.Server | None = None
        self._udp: asyncio.DatagramTransport | None = None
        self.open: set[DnsConnection] = set()
        self._address: ListenAddress | None = None

    @property
    def address(self) -> ListenAddress:
        """The address that it listens on, once it does."""
        assert self._address is not None, "not listening yet"
        return self._address

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            StartError: the address is in use, or is not an address of this machine.
        """
        for left in reversed(range(PORTS_TRIED)):
            try:
                await self._listen()
            except OSError as error:
                self._close()
                if self._endpoint.port or not left:
                    raise StartError(f"dns_listen: {self._endpoint}: {error.strerror or error}") from error
            else:
                break
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def answer(self, wire: bytes, holder: str, *, is_tcp: bool) -> bytes | None:
        """Return the answer to a message from this address; None if it gets none.

        An exception that a message causes in a library affects this message alone.
        """
        rates = self._rates[is_tcp]
        if not rates.may(holder):
            self.figures.over_rate += 1
            return None
        try:
            reply = self._reply(wire, is_tcp)
        except Exception:  # noqa: BLE001 - bytes from outside reach a library; see above
            self.figures.failed += 1
            if self.figures.failed == 1:
                _log.exception("a message of DNS was not answered; please report its bytes: %s", wire.hex())
            return None
        if reply is not None:
            rates.charge(holder, len(reply))
        return reply

    def opened(self, connection: "DnsConnection") -> bool:
        """Register a connection; return False if there are too many."""
        if not self.shares.take(connection.holder):
            self.figures.connections_refused += 1
            return False
        self.open.add(connection)
        return True

    def closed(self, connection: "DnsConnection") -> None:
        """Unregister a connection."""
        self.open.discard(connection)
        self.shares.give_back(connection.holder)

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(self._endpoint.host, self._endpoint.port, type=socket.SOCK_STREAM)
        family, *_, address = found[0]  # a name's first address, for both transports
        host, port = str(address[0]), int(address[1])
        self._tcp = await loop.create_server(lambda: DnsConnection(self), **where(host, port))
        host, port = self._tcp.sockets[0].getsockname()[:2]
        datagrams = socket.socket(family, socket.SOCK_DGRAM)  # bound here: uvloop hides why a bind fails
        if family == socket.AF_INET6:
            datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, host != "::")
        try:
            datagrams.bind((host, port))
        except OSError:
            datagrams.close()
            raise
        self._udp, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), sock=datagrams)
        self._address = ListenAddress(host, port)

    def _close(self) -> None:
        if self._tcp is not None:
            self._tcp.close()
        if self._udp is not None:
            self._udp.close()
        for connection in tuple(self.open):
            connection.abort()
        self._tcp = self._udp = None


class _Datagrams(asyncio.DatagramProtocol):
    """Messages over UDP, one per datagram."""

    def __init__(self, server: DnsServer) -> None:
        self._server = server
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport for the answers."""
        self._transport = cast(asyncio.DatagramTransport, transport)  # uvloop's is no subclass

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Answer a message."""
        answer = self._server.answer(data, holder_of(addr[0]), is_tcp=False)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)

    def error_received(self, exc: Exception) -> None:
        """Ignore network errors about an answer: its receiver is unreachable."""


class DnsConnection(asyncio.Protocol):
    """Messages over one connection, each after its length; answered in order."""

    def __init__(self, server: DnsServer) -> None:
        self.holder = ""
        self._server = server
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self.is_paused = False  # until the peer has read enough answers
        self._is_counted = False
        self._idle: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Serve the connection, or abort it if there are too many."""
        channel = self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        peer = channel.get_extra_info("peername")
        self.holder = holder_of(peer[0]) if peer else ""
        self._is_counted = self._server.opened(self)
        if not self._is_counted:
            channel.abort()
            return
        channel.set_write_buffer_limits(high=HELD_BYTES)
        self._wait()

    def connection_lost(self, _: Exception | None) -> None:
        """Release the connection's place."""
        if self._idle is not None:
            self._idle.cancel()
        if self._is_counted:
            self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        """Receive bytes, and answer the complete messages."""
        self._received += data
        self._answer()

    def pause_writing(self) -> None:
        """Stop answering until the peer has read enough."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Continue with the messages that have arrived."""
        self.is_paused = False
        self._answer()

    @property
    def held_bytes(self) -> int:
        """The answers' bytes that the peer has not read."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    def _answer(self) -> None:
        """Answer the complete messages, until the peer has to read first."""
        transport = self._transport
        assert transport is not None, "data come on a connection"
        while not self.is_paused and not transport.is_closing():
            end = _LENGTH_BYTES + int.from_bytes(self._received[:_LENGTH_BYTES], "big")
            if len(self._received) < max(end, _LENGTH_BYTES + 1):
                break
            message = bytes(self._received[_LENGTH_BYTES:end])
            del self._received[:end]
            answer = self._server.answer(message, self.holder, is_tcp=True)
            if answer is None:
                transport.close()  # over its rate, or not DNS
                return
            self._wait()
            transport.write(len(answer).to_bytes(_LENGTH_BYTES, "big") + answer)
        if self.is_paused:
            transport.pause_reading()
        elif not transport.is_closing():
            transport.resume_reading()

    def _wait(self) -> None:
        """Restart the idle timeout for the next message."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(self._server.idle_s, self.abort)
