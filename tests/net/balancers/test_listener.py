"""Connections that begin with a PROXY protocol header, on real sockets."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.net.balancers.balancers import Balancers, BalancerStats
from nncache.net.balancers.listener import Listener
from nncache.net.balancers.settings import BalancerSettings
from nncache.net.listening import listening_socket
from tests.net.balancers.test_proxy_protocol import BEHIND, RIGHT
from tests.patience import HANG_S
from tests.proxy.wire import until

BALANCER = "127.0.0.7"
OTHER = "127.0.0.8"


class Served:
    """The served connections: the client's address, and the bytes after the header."""

    def __init__(self, *, timeout_s: float = HANG_S) -> None:
        settings = BalancerSettings(real_ip_from=(BALANCER,), real_ip_header="proxy_protocol")
        self.balancers = Balancers(settings)
        self.warnings: list[str] = []
        self.connections: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
        listening = listening_socket("127.0.0.1", 0)
        self.listener = Listener(
            listening, self.balancers, self._serve, self.warnings.append, timeout_s=timeout_s
        )

    async def _serve(self, accepted: socket.socket, client: str) -> None:
        loop = asyncio.get_running_loop()
        data = b""
        while not data.endswith(b"\r\n\r\n") and (more := await loop.sock_recv(accepted, 10)):
            data += more
        self.connections.put_nowait((client, data))
        accepted.close()

    async def connect(self, local: str = BALANCER) -> socket.socket:
        """Connect from this address."""
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.bind((local, 0))
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.listener.port))
        return sock


@asynccontextmanager
async def served(*, timeout_s: float = HANG_S) -> AsyncIterator[Served]:
    """Run a listener."""
    found = Served(timeout_s=timeout_s)
    async with asyncio.timeout(3 * HANG_S), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(found.listener.run())
        try:
            yield found
        finally:
            found.listener.stop()
            running.cancel()


async def ended(sock: socket.socket) -> bytes:
    """Return the next byte, or b"" once the peer has closed."""
    with sock:
        try:
            return await asyncio.get_running_loop().sock_recv(sock, 1)
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("is_slow", [False, True], ids=["in one piece", "byte by byte"])
async def test_exactly_the_header_is_taken(*, is_slow: bool) -> None:
    """The client is the address in the header, or the balancer itself; the bytes after it are the client's."""
    loop = asyncio.get_running_loop()
    async with served() as found:
        for header, client in RIGHT[::3] if is_slow else RIGHT:
            with await found.connect() as sock:
                data = header + BEHIND
                for part in [data[n : n + 1] for n in range(len(data))] if is_slow else [data]:
                    await loop.sock_sendall(sock, part)
                    await asyncio.sleep(0)
                assert await found.connections.get() == (client or BALANCER, BEHIND)
        assert found.balancers.headers_refused == 0
        assert found.warnings == []


async def test_what_is_no_balancer_is_not_believed() -> None:
    """A header from another client is part of its request, and is refused there."""
    async with served() as found:
        header = b"PROXY TCP4 192.0.2.7 10.0.0.9 51234 9871\r\n"
        for data in (header + BEHIND, BEHIND):
            with await found.connect(OTHER) as sock:
                await asyncio.get_running_loop().sock_sendall(sock, data)
                assert await found.connections.get() == (OTHER, data)
        assert found.balancers.stats() == BalancerStats(headers=0, headers_refused=0)


@pytest.mark.parametrize("data", [BEHIND, b"PROXY TCP4 192.0.2.7", b"PROXY TCP9 "])
async def test_a_balancer_without_a_header_is_not_served(data: bytes) -> None:
    """Otherwise all its clients would share one address. The connection is counted, and the log says what to do."""
    async with served() as found:
        sock = await found.connect()
        await asyncio.get_running_loop().sock_sendall(sock, data)
        sock.shutdown(socket.SHUT_WR)
        assert await ended(sock) == b""
        assert found.balancers.stats() == BalancerStats(headers=0, headers_refused=1)
        assert f"closed a connection of {BALANCER}" in found.warnings[0]
        assert "send-proxy-v2" in found.warnings[0]


async def test_a_header_that_does_not_come_is_not_waited_for() -> None:
    """A header that is incomplete times out as well."""
    async with served(timeout_s=0.05) as found:
        for part in (b"", b"PROXY "):
            sock = await found.connect()
            await asyncio.get_running_loop().sock_sendall(sock, part)
            assert await ended(sock) == b""
        assert found.balancers.headers_refused == 2
        assert "none within 0.05 s" in found.warnings[0]


@pytest.mark.parametrize("resets", [False, True], ids=["closes", "resets"])
async def test_a_check_that_only_connects_is_no_fault(*, resets: bool) -> None:
    """It is neither counted nor logged, also if it ends with a reset."""
    async with served() as found:
        sock = await found.connect()
        await until(lambda: found.listener.pending == 1)
        if resets:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        else:
            sock.shutdown(socket.SHUT_WR)
            assert await ended(sock) == b""
        await until(lambda: found.listener.pending == 0)
        await asyncio.sleep(0)
        assert found.balancers.stats() == BalancerStats(headers=0, headers_refused=0)
        assert found.warnings == []


async def test_so_many_are_waited_for_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections beyond the limit are closed; those that wait, and later ones, are served."""
    monkeypatch.setattr("nncache.net.balancers.listener.MAX_PENDING", 2)
    async with served() as found:
        kept = [await found.connect() for _ in range(2)]
        assert await ended(await found.connect()) == b""
        assert "2 others are waited for" in found.warnings[0]
        for sock in kept:
            await asyncio.get_running_loop().sock_sendall(sock, RIGHT[0][0] + BEHIND)
            assert await found.connections.get() == (RIGHT[0][1], BEHIND)
            sock.close()


async def test_who_was_accepted_is_served_after_the_stop() -> None:
    """No other connection is accepted."""
    async with served() as found:
        with await found.connect() as sock:
            await asyncio.get_running_loop().sock_sendall(sock, b"PROXY")
            port = found.listener.port
            await until(lambda: found.listener.pending == 1)
            found.listener.stop()
            await asyncio.get_running_loop().sock_sendall(sock, RIGHT[0][0][5:] + BEHIND)
            assert await found.connections.get() == (RIGHT[0][1], BEHIND)
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)
