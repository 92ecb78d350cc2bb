"""Connections that the event loop leaves in the backlog are accepted, a few at each check."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import cast

import pytest

from nncache.net.catching_up import AT_A_LOOK, EVERY_S, CatchingUp
from tests.patience import HANG_S
from tests.proxy.wire import until


class Echo(asyncio.Protocol):
    """Echoes the bytes that it receives."""

    made: list["Echo"]

    def __init__(self) -> None:
        self.made.append(self)
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Send the bytes back."""
        assert self.transport is not None
        self.transport.write(data)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """Return a listening socket on which only the code under test accepts."""
    with socket.create_server(("127.0.0.1", 0), backlog=4 * AT_A_LOOK) as made:
        yield made


@contextlib.asynccontextmanager
async def accepting(listening: socket.socket) -> AsyncIterator[list[Echo]]:
    """Run the checks; yield the accepted connections."""
    Echo.made = []
    catching_up = CatchingUp(Echo, [listening.fileno()])
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(catching_up.run())
        try:
            yield Echo.made
        finally:
            catching_up.stop()
            running.cancel()
            for each in Echo.made:
                if each.transport is not None:
                    each.transport.abort()


def connect(listening: socket.socket) -> socket.socket:
    """Connect; the kernel completes the handshake."""
    return socket.create_connection(listening.getsockname(), timeout=HANG_S)


async def test_who_waits_is_accepted_and_served(listening: socket.socket) -> None:
    """The connection is like one that the loop accepted, with TCP_NODELAY as well."""
    async with accepting(listening) as made:
        with connect(listening) as client:
            client.sendall(b"hello")
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(HANG_S):
                assert await loop.sock_recv(client, 10) == b"hello"
            assert made[0].transport is not None
            end = made[0].transport.get_extra_info("socket")
            assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_look_accepts_a_few(listening: socket.socket) -> None:
    """Other callbacks of the loop run between two checks."""
    with contextlib.ExitStack() as close:
        for _ in range(2 * AT_A_LOOK + 1):
            close.enter_context(connect(listening))
        async with accepting(listening) as made:
            seen = {0}
            async with asyncio.timeout(HANG_S):
                while len(made) < 2 * AT_A_LOOK + 1:
                    await asyncio.sleep(0)
                    seen.add(len(made))
            assert sorted(seen) == [0, AT_A_LOOK, 2 * AT_A_LOOK, 2 * AT_A_LOOK + 1]


async def test_one_that_cannot_be_served_is_closed_and_harms_no_other(
    listening: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any error of the system has this effect."""
    loop = asyncio.get_running_loop()
    serve = loop.connect_accepted_socket
    refused = list[socket.socket]()

    async def refuse_the_first(make: Callable[[], Echo], sock: socket.socket) -> object:
        if not refused:
            refused.append(sock)
            raise OSError(errno.EINVAL, "no")
        return await serve(make, sock)

    monkeypatch.setattr(loop, "connect_accepted_socket", refuse_the_first)
    async with accepting(listening) as made:
        with connect(listening), connect(listening):
            await until(lambda: any(each.transport is not None for each in made))
    assert refused[0].fileno() < 0


async def test_once_stopped_it_accepts_no_more(listening: socket.socket) -> None:
    """It has also closed its copy of the socket, which belongs to its owner."""
    catching_up = CatchingUp(Echo, [listening.fileno()])
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(catching_up.run())
        catching_up.stop()
        with connect(listening):
            await asyncio.sleep(2 * EVERY_S)
            listening.settimeout(HANG_S)
            accepted, _ = listening.accept()
            accepted.close()
        running.cancel()
    where = listening.getsockname()
    listening.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(where, timeout=HANG_S)
