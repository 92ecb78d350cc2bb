"""The DNS sockets and their limits, with any responder behind them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress
from nncache.net.shares import Shares
from nncache.registry.dns_server import HELD_BYTES, DnsServer
from tests.patience import HANG_S, until_so
from tests.processes import free_address

LOOPBACK = ListenAddress("127.0.0.1", 0)


class Echo:
    """Replies with the query and its transport; `silence` gets no reply, and `fault` raises an error."""

    def __init__(self, times: int = 1) -> None:
        self._times = times

    def reply(self, wire: bytes, is_tcp: bool) -> bytes | None:
        """Return the reply."""
        if wire == b"fault":
            raise ValueError("one of a library")
        return None if wire == b"silence" else (b"tcp " if is_tcp else b"udp ") + wire * self._times


@asynccontextmanager
async def served(
    per_s: float = 1000.0, *, times: int = 1, connections: int = 8, idle_s: float = HANG_S
) -> AsyncIterator[DnsServer]:
    """Run a server whose clock does not move."""
    server = DnsServer(LOOPBACK, Echo(times).reply, per_s, lambda: 0.0)
    server.shares, server.idle_s = Shares(connections), idle_s
    async with asyncio.timeout(HANG_S), server:
        yield server


class Client(asyncio.DatagramProtocol):
    """Receives datagrams."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[bytes] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Keep the datagram."""
        self.received.put_nowait(data)


@asynccontextmanager
async def datagrams(server: DnsServer) -> AsyncIterator[tuple[Callable[[bytes], None], asyncio.Queue[bytes]]]:
    """Yield a function that sends, and the queue of received datagrams."""
    address = (server.address.host, server.address.port)
    loop = asyncio.get_running_loop()
    transport, client = await loop.create_datagram_endpoint(Client, remote_addr=address)
    try:
        yield transport.sendto, client.received
    finally:
        transport.close()


async def connected(server: DnsServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect over TCP."""
    return await asyncio.open_connection(server.address.host, server.address.port)


def framed(*messages: bytes) -> bytes:
    """Prefix each message with its length."""
    return b"".join(len(message).to_bytes(2, "big") + message for message in messages)


async def message(reader: asyncio.StreamReader) -> bytes:
    """Return the next message."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(2), "big"))


async def refused(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Check that a connection is closed without a reply."""
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()


async def test_both_transports_are_on_one_port() -> None:
    """This also holds if the system chose the port."""
    async with served() as server, datagrams(server) as (send, received):
        send(b"hello")
        assert await received.get() == b"udp hello"
        reader, writer = await connected(server)
        writer.write(framed(b"hello"))
        assert await message(reader) == b"tcp hello"
        writer.close()


async def test_every_address_is_that_of_both_families() -> None:
    """This holds for both transports: `[::]` serves IPv4 as well."""
    async with DnsServer(ListenAddress("::", 0), Echo().reply, 1000.0, lambda: 0.0) as server:
        loop, port = asyncio.get_running_loop(), server.address.port
        for host in ("127.0.0.1", "::1"):
            transport, client = await loop.create_datagram_endpoint(Client, remote_addr=(host, port))
            transport.sendto(b"hello")
            assert await client.received.get() == b"udp hello"
            transport.close()
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(framed(b"hello"))
            assert await message(reader) == b"tcp hello"
            writer.close()


async def test_a_message_may_come_in_pieces_and_many_at_once() -> None:
    """Replies are in the order of the queries (RFC 7766)."""
    async with served() as server:
        reader, writer = await connected(server)
        for byte in framed(b"one"):
            writer.write(bytes((byte,)))
            await writer.drain()
        writer.write(framed(b"two", b"three"))
        assert [await message(reader) for _ in range(3)] == [b"tcp one", b"tcp two", b"tcp three"]
        writer.close()


async def test_an_internal_error_costs_one_answer() -> None:
    """The message's bytes are logged once."""
    async with served() as server, datagrams(server) as (send, received):
        for text in (b"fault", b"fault", b"silence", b"hello"):
            send(text)
        assert await received.get() == b"udp hello"
        assert server.figures.failed == 2
        for text in (b"fault", b"silence", b""):
            reader, writer = await connected(server)
            writer.write(framed(text) + b"\0")
            writer.write_eof()
            assert await reader.read() in {b"", framed(b"tcp ")}
            writer.close()


async def test_an_address_over_its_rate_is_not_answered() -> None:
    """Over UDP its messages are dropped, and over TCP its connection is closed, with separate counters."""
    async with served(per_s=0.4) as server, datagrams(server) as (send, received):
        for number in range(4):
            send(b"%d" % number)
        await until_so(lambda: server.figures.over_rate == 2)
        assert [received.get_nowait(), received.get_nowait()] == [b"udp 0", b"udp 1"]
        reader, writer = await connected(server)
        writer.write(framed(b"one", b"two", b"three"))
        assert await reader.read() == framed(b"tcp one", b"tcp two")
        assert server.figures.over_rate == 3
        writer.close()


async def test_a_large_answer_counts_as_several() -> None:
    """The number depends on its size."""
    async with served(per_s=2, times=600) as server, datagrams(server) as (send, received):
        for _ in range(6):
            send(b"0123")  # 2,404 bytes of answer: five
        await until_so(lambda: server.figures.over_rate == 4)
        assert received.qsize() == 2


async def test_connections_are_bounded_and_idle_ones_end() -> None:
    """A complete message extends the time; a single byte does not."""
    async with served(connections=1, idle_s=0.2) as server:
        reader, writer = await connected(server)
        writer.write(b"\0")
        await until_so(lambda: len(server.open) == 1)
        await refused(*await connected(server))
        assert server.figures.connections_refused == 1
        await refused(reader, writer)
        await until_so(lambda: not server.open)
        server.shares.check()


async def test_a_client_that_does_not_read_is_not_answered_further() -> None:
    """Until it reads again the memory held for it is bounded, and no reply is lost."""
    size, number = 60_000, 400
    async with served(per_s=1e6, times=size // 4) as server:
        with socket.socket() as end:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            end.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(end, (server.address.host, server.address.port))
            await loop.sock_sendall(end, framed(*(b"%04d" % each for each in range(number))))
            await until_so(lambda: any(each.is_paused for each in server.open))
            (connection,) = server.open
            assert connection.held_bytes <= HELD_BYTES + size + 8
            reader, writer = await asyncio.open_connection(sock=end)
            for each in range(number):
                assert (await message(reader))[:8] == b"tcp %04d" % each
            writer.close()


async def test_an_address_in_use_is_an_error() -> None:
    """This holds for either transport, and no socket remains open."""
    address = free_address()
    host, _, port = address.partition(":")
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as taken:
            taken.bind((host, int(port)))
            if kind == socket.SOCK_STREAM:
                taken.listen()
            with pytest.raises(StartError, match=r"^dns_listen: .*in use"):
                async with DnsServer(ListenAddress(host, int(port)), Echo().reply, 1.0, lambda: 0.0):
                    pass
    async with DnsServer(ListenAddress(host, int(port)), Echo().reply, 1.0, lambda: 0.0) as server:
        assert server.address == ListenAddress(host, int(port))


async def test_the_end_closes_connections() -> None:
    """They are closed immediately."""
    async with served() as server:
        reader, writer = await connected(server)
        await until_so(lambda: len(server.open) == 1)
    await refused(reader, writer)
