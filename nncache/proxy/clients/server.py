"""Listens for clients, hands their requests on, and stops without breaking any off."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from aiohttp import http_parser, web

from nncache.net.shares import Shares, holder_of
from nncache.proxy.clients.arrivals import Arrivals
from nncache.proxy.clients.catching_up import CatchingUp
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.endings import Endings
from nncache.proxy.clients.error_replies import bug_reply, error_reply
from nncache.proxy.clients.hit_memory import repeatable_head
from nncache.proxy.clients.quick_connection import Held, KnownHeads, QuickConnection
from nncache.proxy.clients.response import RawResponse, peer_of, reset
from nncache.proxy.clients.server_certificate import certificate_of
from nncache.proxy.clients.tls_listener import TlsListener, TlsStats
from nncache.proxy.clients.vetting import vet
from nncache.proxy.errors import ClientGoneError, ProxyError, StartError
from nncache.proxy.limits import MAX_TOLD, LimitSettings
from nncache.proxy.plain_calls import PlainPath, QuickCall
from nncache.proxy.settings import ProxySettings
from nncache.proxy.traffic import Traffic

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Answers one vetted request; a ProxyError that it raises becomes the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStats:
    """Connections and requests of clients since the start."""

    connections_open: int
    connections_accepted: int
    connections_refused: int
    requests_in_progress: int  # but for those that the fast path answers at once
    bugs: int


class Server:
    """The clients' side of the proxy."""

    def __init__(
        self,
        handler: Handler,
        fast_path: KnownHeads,
        limits: LimitSettings,
        plain_calls: PlainPath | None = None,
        traffic: Traffic | None = None,
    ) -> None:
        self._traffic = traffic or Traffic(time.monotonic)
        self._handler = handler
        self._fast_path = fast_path
        self._plain_calls = plain_calls
        self._limits = limits
        self._http = web.Server(self._handle)
        self._quick: set[QuickConnection] = set()  # the open ones
        self._endings = Endings()
        self._arrivals = Arrivals()
        self._listener: asyncio.Server | None = None
        self._catching_up: CatchingUp | None = None
        self.tls: TlsListener | None = None  # a second port
        self._is_draining = False
        self._all_left = asyncio.Event()  # no connection is open
        self._all_left.set()
        self._connections = Shares(limits.max_connections)
        self._accepted = 0
        self._refused = 0
        self._turned_away = 0  # of those, still open
        self._requests = 0
        self._in_progress = 0
        self._bugs = 0

    async def start(self, host: str, port: int) -> None:
        """Listen.

        Raises:
            StartError: aiohttp came without its C parser, or the address can't be listened on.
        """
        _insist_on_c_parser()
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                self.connection, host, port, backlog=self._limits.backlog, reuse_address=True
            )
        except OSError as exc:
            raise StartError(f"listen: {host}:{port}: {exc.strerror or exc}") from exc
        self._catching_up = CatchingUp(self.connection, [each.fileno() for each in self._listener.sockets])

    async def listen(self, settings: ProxySettings, clock: Callable[[], float]) -> None:
        """Listen on all ports for clients that the settings name.

        Raises:
            StartError: as `start`; or the certificate can't be used.
        """
        certificate = certificate_of(settings)
        await self.start(settings.listen_at.host, settings.listen_at.port)
        if certificate is not None and settings.tls_listen_at is not None:
            tls = TlsListener(self.connection, certificate, self._limits, clock)
            try:
                tls.listen(settings.tls_listen_at.host, settings.tls_listen_at.port)
            except StartError:
                await self.stop()
                raise
            self.tls = tls

    @property
    def background(self) -> tuple[tuple[str, Callable[[], Awaitable[NoReturn]]], ...]:
        """Return what has to be done while it listens, each with its name."""
        plain = ("accepting what waits", self.catch_up)
        return (plain,) if self.tls is None else (plain, ("accepting over TLS", self.tls.run))

    @property
    def port(self) -> int:
        """The port that is listened on, also when the system chose it."""
        assert self._listener is not None
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    async def catch_up(self) -> NoReturn:
        """Accept what the event loop leaves waiting while it is busy, until cancelled."""
        assert self._catching_up is not None
        await self._catching_up.run()

    async def stop(self) -> None:
        """Listen no more, finish what is in progress within `drain_timeout_s`, then end all connections."""
        self._is_draining = True
        if not self._stop_listening():
            return
        for quick in tuple(self._quick):
            if quick.is_holding:
                continue  # it is answered as the proxy stops to hold any, and ends then
            if quick.is_busy:
                self.take_over(quick, b"")
            elif quick.transport is not None:
                quick.transport.close()
        for connection in self._http.connections:
            if isinstance(connection, ClientConnection) and connection.is_idle:
                connection.force_close()
        # Not yet aiohttp's own shutdown: it stops reading at once, which would break off requests whose
        # body is still on its way.
        try:
            async with asyncio.timeout(self._limits.drain_timeout_s):
                await self._all_left.wait()
        except TimeoutError:  # what is left has had its time; aiohttp would let what was written look whole
            for quick in tuple(self._quick):
                reset(quick.transport)
            for connection in self._http.connections:
                if isinstance(connection, ClientConnection) and not connection.is_idle:
                    reset(connection.transport)
        await self._http.shutdown(timeout=0.1)

    def _stop_listening(self) -> bool:
        """Accept no more; false if that was never begun."""
        if self._listener is None:
            return False
        self._listener.close()
        for other in (self.tls, self._catching_up):
            if other is not None:
                other.stop()
        return True

    @property
    def requests(self) -> int:
        """Requests that were taken apart; those that the fast path answered are not among them."""
        return self._requests + (0 if self._plain_calls is None else self._plain_calls.requests)

    def stats(self) -> ServerStats:
        """Return the figures so far."""
        plain = self._plain_calls
        return ServerStats(
            connections_open=self._connections.in_use,
            connections_accepted=self._accepted,
            connections_refused=self._refused,
            requests_in_progress=self._in_progress + (0 if plain is None else plain.under_way),
            bugs=self._bugs + (0 if plain is None else plain.errors),
        )

    def tls_stats(self) -> TlsStats:
        """Return the figures of the port for clients over TLS; zeros where there is none."""
        return TlsStats() if self.tls is None else self.tls.stats()

    def connection(self) -> QuickConnection:
        """Return what serves another connection."""
        return QuickConnection(self, self._fast_path, self._limits.idle_timeout_s)

    def connected(self, connection: QuickConnection, transport: asyncio.Transport) -> None:
        """Count one more connection, and have it served or refused."""
        peer = peer_of(transport)
        holder = holder_of(peer)
        if self._connections.take(holder):
            self._accepted += 1
            self._all_left.clear()
            self._quick.add(connection)
            connection.serve(transport, holder, peer)
        else:
            self._refused += 1
            self._turned_away += 1
            self._ordinary(transport, holder, is_admitted=False)

    def forward(self, connection: QuickConnection, head: bytes) -> QuickCall | None:
        """Pass a call on, if it is a plain one and that can be done at once."""
        if self._plain_calls is None:
            return None
        return self._plain_calls.begin(head, connection.peer, connection.holder, connection)

    def concerns(self, head: bytes) -> bool:
        """Whether such a request needs nothing of aiohttp."""
        return self._plain_calls is not None and self._plain_calls.concerns(head)

    def may_enter(self, *, is_there: bool) -> bool:
        """Whether aiohttp may be given an unknown request in this turn of the loop."""
        return self._arrivals.may_enter(is_there=is_there)

    def wait(self, connection: QuickConnection) -> None:
        """Have the connection go on in its turn."""
        self._arrivals.add(connection)

    def take_over(self, connection: QuickConnection, data: bytes) -> ClientConnection:
        """Serve a connection in full from these bytes on, and first the call that is under way."""
        self._quick.discard(connection)
        connection.release()
        assert connection.transport is not None
        ordinary = self._ordinary(connection.transport, connection.holder, is_admitted=True)
        if connection.is_paused:
            ordinary.pause_writing()
        data = connection.take_held() or data
        if (call := connection.take_call()) is not None:
            ordinary.go_on(call.head, call.hand_over())
            if data:
                ordinary.data_received(data)
        else:
            ordinary.receive(data)
        return ordinary

    def end_soon(self, transport: asyncio.Transport) -> None:
        """Close a transport that its client has closed, when it is its turn."""
        self._endings.add(transport)

    def ended(self, connection: QuickConnection) -> None:
        """Count one connection less."""
        self._quick.discard(connection)
        self.leave(connection.holder, admitted=True)

    def _ordinary(self, transport: asyncio.Transport, holder: str, *, is_admitted: bool) -> ClientConnection:
        made = ClientConnection(
            self._http,
            asyncio.get_running_loop(),
            admission=self,
            fast_path=self._fast_path,
            limits=self._limits,
            holder=holder,
            is_admitted=is_admitted,
        )
        transport.set_protocol(made)
        made.connection_made(transport)
        return made

    @property
    def is_draining(self) -> bool:
        """Whether no connection goes on after its reply."""
        return self._is_draining

    def give_back(
        self, transport: asyncio.Transport, holder: str, data: bytes = b"", *, held: Held | None = None
    ) -> None:
        """Serve a connection on, of which the last requests were all known, or whose request is held."""
        quick = self.connection()
        transport.set_protocol(quick)
        quick.serve(transport, holder, peer_of(transport))
        self._quick.add(quick)
        if held is not None:
            quick.hold(held)
        if data:
            quick.data_received(data)

    def refused(self, error: ProxyError, peer: str) -> None:
        """Count what is refused without being a request."""
        self._traffic.refused(error, peer)

    def may_be_told(self) -> bool:
        """Whether a connection too many can stay until it has been told so.

        Each costs a file that `reserve_files` has not reserved for it; without a bound they would take
        those of the connections to the NameNode.
        """
        return self._turned_away <= MAX_TOLD

    def leave(self, holder: str, *, admitted: bool) -> None:
        """Count one connection less."""
        if not admitted:
            self._turned_away -= 1
            return
        self._connections.give_back(holder)
        if self._connections.in_use == 0:
            self._all_left.set()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._requests += 1
        self._in_progress += 1
        connection = request.protocol
        begun = connection.take_begun() if isinstance(connection, ClientConnection) else None
        if begun is not None:
            begun.attach(request)
        try:
            response = await self._answer(request)
        finally:
            self._in_progress -= 1
            if begun is not None:
                begun.abandon()
        if isinstance(response, RawResponse):
            response.limits = self._limits
        if self._is_draining:
            response.force_close()  # also one whose head has gone out already
        return response

    def _vet(self, request: web.BaseRequest) -> None:
        """Refuse a malformed request.

        Raises:
            ClientError: what is wrong with it.
        """
        try:
            vet(request, self._limits)
        except ProxyError as error:
            self._traffic.refused(
                error,
                request.remote or "",
                method=request.method,
                target=request.raw_path,
                request_id=request.headers.get("X-Request-Id", ""),
            )
            raise

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        reply: web.StreamResponse
        try:
            self._vet(request)
            if self._plain_calls is not None and (head := repeatable_head(request)) is not None:
                self._plain_calls.learn(head, request.raw_headers)
            return await self._handler(request)
        except ProxyError as exc:
            reply = error_reply(exc)
        except ConnectionError as exc:  # the client's; writing the reply will meet it again, quietly
            reply = error_reply(ClientGoneError(str(exc)))
        except Exception as exc:  # noqa: BLE001 - the last line of defence: logged, counted, answered
            self._bugs += 1
            reply = bug_reply(exc)
        except asyncio.CancelledError:
            _cut_what_has_begun(request)
            raise
        _cut_what_has_begun(request)
        return reply


def _cut_what_has_begun(request: web.BaseRequest) -> None:
    """End a reply that is given up: once begun it can't be replaced, nor must it look whole."""
    if request.writer.output_size > 0:
        reset(request.transport)


def _insist_on_c_parser() -> None:
    """Refuse the pure-Python parser: it split one published smuggling payload into two requests.

    Raises:
        StartError: aiohttp has no other one here.
    """
    if http_parser.HttpRequestParser is http_parser.HttpRequestParserPy:
        raise StartError(
            "aiohttp has only its pure-Python parser here; install a build with its C extensions "
            "and unset AIOHTTP_NO_EXTENSIONS"
        )
