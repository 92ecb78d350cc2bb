"""Accepts connections; those of load balancers may begin with a PROXY protocol header.

The header alone is read from the socket, before a transport gets it: the bytes after it may be TLS.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NoReturn

from nncache.net.balancers.balancers import Balancers
from nncache.net.balancers.proxy_protocol import MAX_HEADER_BYTES, ProxyHeaderError, read_proxy_header
from nncache.net.shares import without_mapping

MAX_PENDING: Final = 1_024
"""Maximum of connections of balancers whose header has not arrived yet."""

_AT_ONCE: Final = 64  # connections accepted in one turn of the event loop
_ACCEPT_AGAIN_S: Final = 0.1  # after accepting has failed, as it does when no file descriptor is left

Serve = Callable[[socket.socket, str], Awaitable[None]]
"""Serves a connection of the client at this address. It owns the socket, and does not raise."""


class Listener:
    """Accepts connections: those of trusted balancers begin with a header, all others do not.

    Attributes:
        sockets: the listening sockets.
        pending: number of connections whose header has not arrived yet.

    Invariants:
        L1  Bytes from an address that is not a balancer's are not read.
        L2  At most MAX_PENDING connections wait for a header, none longer than `timeout_s`.
    """

    def __init__(
        self,
        listening: socket.socket,
        balancers: Balancers | None,
        serve: Serve,
        warn: Callable[[str], None],
        *,
        timeout_s: float,
    ) -> None:
        """Accept from this socket, which the listener owns from now on.

        Args:
            listening: a listening socket.
            balancers: the balancers that send a header; None: there are none.
            serve: is called with each connection and the client's address.
            warn: is called with each log message.
            timeout_s: time limit from a connect to the end of its header.
        """
        listening.settimeout(0.0)
        self.sockets: tuple[socket.socket, ...] = (listening,)
        self._balancers = balancers
        self._serve = serve
        self._warn = warn
        self._timeout_s = timeout_s
        self.pending = 0
        self._again: asyncio.TimerHandle | None = None  # runs after accepting has failed

    @property
    def port(self) -> int:
        """The listening port, also if the system has chosen it."""
        port: int = self.sockets[0].getsockname()[1]
        return port

    async def run(self) -> NoReturn:
        """Accept until `stop`; serve accepted connections until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._accept_again(tasks)
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._accept_no_more()
        raise AssertionError("it ends by being cancelled")

    def stop(self) -> None:
        """Stop accepting. Accepted connections are still served."""
        self._accept_no_more()
        for listening in self.sockets:
            listening.close()
        self.sockets = ()

    close = stop

    def _accept_again(self, tasks: asyncio.TaskGroup) -> None:
        for listening in self.sockets:
            asyncio.get_running_loop().add_reader(listening.fileno(), self._accept, listening, tasks)

    def _accept_no_more(self) -> None:
        if self._again is not None:
            self._again.cancel()
        for listening in self.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())

    def _accept(self, listening: socket.socket, tasks: asyncio.TaskGroup) -> None:
        try:
            for accepted, address in _accepted(listening):
                tasks.create_task(self._begin(accepted, without_mapping(address)))
        except OSError as error:
            self._warn(f"cannot accept a connection: {error}")
            self._accept_no_more()
            again = asyncio.get_running_loop().call_later
            self._again = again(_ACCEPT_AGAIN_S, self._accept_again, tasks)

    async def _begin(self, accepted: socket.socket, address: str) -> None:
        client = address
        if self._balancers is not None and self._balancers.trusts(address):
            try:
                client = await self._client_behind(accepted) or address
                self._balancers.headers += 1
            except (EOFError, ConnectionError):
                accepted.close()
                return
            except (OSError, ProxyHeaderError) as error:  # TimeoutError is an OSError
                accepted.close()
                self._balancers.headers_refused += 1
                self._refused(address, error)
                return
            except asyncio.CancelledError:
                accepted.close()
                raise
        await self._serve(accepted, client)

    def _refused(self, address: str, error: Exception) -> None:
        late = f"none within {self._timeout_s:g} s"
        what = late if isinstance(error, TimeoutError) else str(error)
        self._warn(
            f"closed a connection of {address}, of real_ip_from, without a header of the PROXY protocol: {what}; "
            "have the balancer send one (HAProxy: send-proxy-v2)"
        )

    async def _client_behind(self, accepted: socket.socket) -> str:
        """Read the header; return the client's address, "" if that is the connection's own.

        Raises:
            EOFError: the balancer has closed the connection without a byte, as health checks do.
            ConnectionError: it has reset the connection, as others do.
            ProxyHeaderError: the bytes are not a header.
            TimeoutError: the header did not arrive in time.
            OSError: the connection is lost.
        """
        if self.pending >= MAX_PENDING:
            raise ProxyHeaderError(f"{MAX_PENDING} others are waited for")
        self.pending += 1
        try:
            async with asyncio.timeout(self._timeout_s):
                return await _take_header(accepted)
        finally:
            self.pending -= 1


async def _take_header(accepted: socket.socket) -> str:
    taken = b""
    while True:
        await _readable(accepted)
        seen = accepted.recv(MAX_HEADER_BYTES, socket.MSG_PEEK)
        if not seen:
            if taken:
                raise ProxyHeaderError("it ends within it")
            raise EOFError
        header = read_proxy_header(taken + seen)
        # All received bytes belong to an incomplete header.
        length = len(seen) if header is None else header.length - len(taken)
        taken += accepted.recv(length)
        if header is not None:
            return header.client


def _accepted(listening: socket.socket) -> Iterator[tuple[socket.socket, str]]:
    """Yield the waiting connections, and their addresses."""
    for _ in range(_AT_ONCE):
        try:
            accepted, address = listening.accept()
        except BlockingIOError:
            return
        accepted.settimeout(0.0)
        yield accepted, address[0]


async def _readable(sock: socket.socket) -> None:
    """Wait until a socket is readable."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def note() -> None:
        if not ready.done():
            ready.set_result(None)

    file = sock.fileno()
    loop.add_reader(file, note)
    try:
        await ready
    finally:
        loop.remove_reader(file)
