"""Listen for clients, pass their requests to the handler, and stop gracefully."""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NoReturn, Protocol

from nncache.errors import StartError
from nncache.net.balancers.balancers import Balancers
from nncache.net.balancers.listener import Listener
from nncache.net.catching_up import CatchingUp
from nncache.net.common_timeout import CommonTimeout
from nncache.net.listening import listening_socket, where
from nncache.net.log_throttle import ThrottledLog
from nncache.net.shares import Shares, holder_of
from nncache.proxy.clients.connection import ClientConnection, KnownHeads
from nncache.proxy.clients.paced_work import Arrivals, PacedWork
from nncache.proxy.clients.request import CallInFlight, Handler, Request
from nncache.proxy.clients.response import RawResponse, error_reply, internal_error_reply, peer_of, reset
from nncache.proxy.errors import ClientGoneError, ProxyError
from nncache.proxy.limits import MAX_AWAITING_REFUSAL, LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.proxy.traffic import Traffic
from nncache.tls_server.certificate import ServerCertificate
from nncache.tls_server.listener import TlsListener, TlsStats

_log = logging.getLogger(__name__)

ENDINGS_PER_ITERATION: Final = 32
"""Number of connections closed in one iteration, which takes about a millisecond. Closing a connection takes more time
than accepting it, and libuv reports all ends together: if many clients left, all others would wait."""

_CUT_S = 0.1  # time for requests in progress to end after their connections were cut


class Direct(Protocol):
    """Answers a request, or sends its call, without a task (`nncache.proxy.decide.direct_calls`)."""

    @property
    def requests(self) -> int:
        """Number of requests that ended without a task, since start."""

    @property
    def under_way(self) -> int:
        """Number of calls in flight."""

    @property
    def errors(self) -> int:
        """Number of internal errors since start, each logged (FailToNameNode)."""

    def begin(self, request: Request) -> CallInFlight | RawResponse | None:
        """Answer a GET without a body, or send its call; None: the handler answers it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStats:
    """Connections and requests of clients since start."""

    connections_open: int
    connections_accepted: int
    connections_refused: int
    requests_in_progress: int  # without those that the fast path answers
    bugs: int


class Server:
    """The client side of the proxy.

    Attributes:
        traffic: counts requests that are refused before they reach the handler.
        idle: has each connection checked when it may have exceeded `idle_timeout_s`.
    """

    def __init__(
        self,
        handler: Handler,
        fast_path: KnownHeads,
        limits: LimitSettings,
        direct: Direct | None = None,
        traffic: Traffic | None = None,
        balancers: Balancers | None = None,
    ) -> None:
        self._balancers = balancers  # None: no load balancer is trusted
        self.traffic = traffic or Traffic(time.monotonic)
        self._handler = handler
        self._fast_path = fast_path
        self._direct = direct
        self._limits = limits
        self.idle = CommonTimeout(limits.idle_timeout_s, ClientConnection.check_idle)
        self._open: set[ClientConnection] = set()
        self._endings = PacedWork(_close, ENDINGS_PER_ITERATION)
        self._arrivals = Arrivals()
        self._listener: asyncio.Server | Listener | None = None
        self._catching_up: CatchingUp | Listener | None = None
        self.tls: TlsListener | None = None  # the port for TLS
        self._is_draining = False
        self._all_left = asyncio.Event()  # no connection is open, and the server stops
        self._connections = Shares(limits.max_connections)
        self._accepted = 0
        self._refused = 0
        self._awaiting_refusal = 0  # refused connections that are still open
        self._requests = 0
        self._in_progress = 0
        self._bugs = 0

    @cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The running event loop; Python makes a system call to find it."""
        return asyncio.get_running_loop()

    async def start(self, host: str, port: int) -> None:
        """Start listening on an address.

        Raises:
            StartError: the address cannot be bound.
        """
        loop, backlog = self.loop, self._limits.backlog
        try:
            if self._balancers is not None and self._balancers.send_header:
                listening = listening_socket(host, port, backlog=backlog)
                warn, timeout_s = ThrottledLog(_log, loop.time).warn, self._limits.head_timeout_s
                listener = Listener(listening, self._balancers, self._serve, warn, timeout_s=timeout_s)
                self._listener = self._catching_up = listener
                return
            server = await loop.create_server(self.connection, **where(host, port, backlog=backlog))
        except OSError as exc:
            raise StartError(f"listen: {host}:{port}: {exc.strerror or exc}") from exc
        self._listener = server
        self._catching_up = CatchingUp(self.connection, [each.fileno() for each in server.sockets])

    async def _serve(self, accepted: socket.socket, client: str) -> None:
        try:
            await self.loop.connect_accepted_socket(lambda: self.connection(client), accepted)
        except OSError:  # the client has disconnected
            accepted.close()

    async def listen(self, settings: ProxySettings, clock: Callable[[], float]) -> None:
        """Start listening on all ports for clients that the settings name.

        Raises:
            StartError: as `start`; or the certificate cannot be used.
        """
        files = settings.certificate
        certificate = None if files is None else ServerCertificate(files)
        await self.start(settings.listen_at.host, settings.listen_at.port)
        if certificate is not None and settings.tls_listen_at is not None:
            balancers = self._balancers if isinstance(self._listener, Listener) else None
            tls = TlsListener(
                self.connection,
                certificate,
                clock,
                places=self._limits.max_connections,
                backlog=self._limits.backlog,
                handshake_timeout_s=self._limits.head_timeout_s,
                balancers=balancers,
            )
            try:
                tls.listen(settings.tls_listen_at.host, settings.tls_listen_at.port)
            except StartError:
                await self.stop()
                raise
            self.tls = tls

    @property
    def background(self) -> tuple[tuple[str, Callable[[], Awaitable[NoReturn]]], ...]:
        """The background jobs to run while the server listens, each with its name."""
        plain = ("accepting what waits", self.catch_up)
        return (plain,) if self.tls is None else (plain, ("accepting over TLS", self.tls.run))

    @property
    def port(self) -> int:
        """The port that the server listens on, even if the system chose it."""
        assert self._listener is not None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def catch_up(self) -> NoReturn:
        """Accept connections that a busy event loop leaves in the backlog, until cancelled."""
        assert self._catching_up is not None
        await self._catching_up.run()

    async def stop(self) -> None:
        """Stop listening, let requests in progress finish within `drain_timeout_s`, then end all connections."""
        self._is_draining = True
        if not self._stop_listening():
            return
        for connection in tuple(self._open):
            connection.drain_soon()  # held requests are answered when `Waits` stops
        try:
            async with asyncio.timeout(self._limits.drain_timeout_s):
                if self._connections.in_use:
                    await self._all_left.wait()
        except TimeoutError:
            await self._cut_all()
        self.idle.close()

    async def _cut_all(self) -> None:
        """Reset the remaining connections, so that no cut reply looks whole."""
        connections = tuple(self._open)
        tasks = [connection.task for connection in connections if connection.task is not None]
        for connection in connections:
            connection.cut()
        if tasks:
            await asyncio.wait(tasks, timeout=_CUT_S)

    def _stop_listening(self) -> bool:
        """Stop accepting connections; False: the server never listened."""
        if self._listener is None:
            return False
        self._listener.close()
        for other in (self.tls, self._catching_up):
            if other is not None:
                other.stop()
        return True

    @property
    def requests(self) -> int:
        """Number of requests that were parsed, without those that the fast path answered."""
        return self._requests + (0 if self._direct is None else self._direct.requests)

    def stats(self) -> ServerStats:
        """Return the figures since start."""
        direct = self._direct
        return ServerStats(
            connections_open=self._connections.in_use,
            connections_accepted=self._accepted,
            connections_refused=self._refused,
            requests_in_progress=self._in_progress + (0 if direct is None else direct.under_way),
            bugs=self._bugs + (0 if direct is None else direct.errors),
        )

    def tls_stats(self) -> TlsStats:
        """Return the figures of the port for TLS; zeros if there is none."""
        return TlsStats() if self.tls is None else self.tls.stats()

    def connection(self, client: str = "") -> ClientConnection:
        """Return the protocol of a new connection; `client`: the client's address, "": the peer's address."""
        return ClientConnection(self, self._fast_path, self._limits, client)

    def connected(self, connection: ClientConnection, transport: asyncio.Transport) -> None:
        """Count a new connection, and serve or refuse it."""
        peer = connection.peer or peer_of(transport)
        if self._balancers is not None and self._balancers.speak_in_requests_of(peer):
            connection.balancers = self._balancers
        holder = holder_of(peer)
        self._open.add(connection)
        if self._connections.take(holder):
            self._accepted += 1
            connection.serve(transport, holder, peer)
            return
        self._refused += 1
        self._awaiting_refusal += 1
        # Each takes a file that `reserve_files` has not reserved for it; without a limit they would take
        # those of the connections to the NameNode.
        connection.reject(transport, holder, peer, may_stay=self._awaiting_refusal <= MAX_AWAITING_REFUSAL)

    def lost(self, connection: ClientConnection, *, is_admitted: bool) -> None:
        """Stop counting a connection that was lost."""
        self._open.discard(connection)
        if not is_admitted:
            self._awaiting_refusal -= 1
            return
        self._connections.give_back(connection.holder)
        if self._is_draining and not self._connections.in_use:
            self._all_left.set()

    def begin(self, request: Request) -> CallInFlight | RawResponse | None:
        """Answer a GET without a body, or send its call; None: the handler answers it."""
        if self._direct is None:
            return None
        try:
            return self._direct.begin(request)
        except Exception:  # noqa: BLE001 - FailToNameNode: the handler answers it
            self._bugs += 1
            _log.exception("internal error while a request was begun; it goes on with a task")
            return None

    def may_enter(self) -> bool:
        """Count an unknown request that may start in this iteration of the loop; False: it must wait."""
        return self._arrivals.may_enter()

    def wait(self, connection: ClientConnection) -> None:
        """Queue the connection until its turn."""
        self._arrivals.add(connection)

    def end_soon(self, transport: asyncio.Transport) -> None:
        """Queue a transport that its client has closed, to be closed in its turn."""
        self._endings.add(transport)

    @property
    def is_draining(self) -> bool:
        """Whether every connection closes after its reply, since the proxy stops."""
        return self._is_draining

    async def respond(self, request: Request) -> RawResponse | None:
        """Answer a request; None: the connection holds the request."""
        self._requests += 1
        self._in_progress += 1
        try:
            response = await self._answer(request)
        finally:
            self._in_progress -= 1
        if response is not None:
            response.limits = self._limits
            if self._is_draining:
                response.force_close()  # even if its head was sent already
        return response

    async def _answer(self, request: Request) -> RawResponse | None:
        try:
            return await self._handler(request)
        except ProxyError as exc:
            reply = error_reply(exc)
        except ConnectionError as exc:  # the client's; sending the reply fails again, without a log line
            reply = error_reply(ClientGoneError(str(exc)))
        except Exception:  # noqa: BLE001 - the last line of defence: logged, counted, answered
            self._bugs += 1
            _log.exception("internal error while a request was answered")
            reply = internal_error_reply()
        if request.has_reply_begun:  # the reply cannot be replaced, and must not look whole
            reset(request.transport)
        return reply


def _close(transport: asyncio.Transport, _: int) -> int:
    transport.close()
    return 1
