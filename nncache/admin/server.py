"""Serve a daemon's pages for operators and their tools, on a port of their own. (nncache/admin/server.py)

Pages that show paths or users are for operators (`nncache.admin.access`); health, readiness and metrics are for probes
and Prometheus as well, from anywhere, and show neither.
"""

import asyncio
import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Final, Protocol, Self

import msgspec
from aiohttp import web

from hadoop.endpoint import Endpoint
from nncache.admin.access import Access

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
MAX_CONNECTIONS: Final = 32
"""Open at once; those beyond it are closed. They come out of the files that `proxy.limits.reserve_files` reserves."""

IDLE_S: Final = 15.0
"""Seconds without a whole request after which a connection is closed, also before the first and within a head."""

_STOP_S: Final = 2.0  # for pages that are being sent when the daemon stops


@dataclass(frozen=True, slots=True)
class Answer:
    """What a page says."""

    body: bytes
    content_type: str
    status: int = HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class Page:
    """One page. It must not block.

    Attributes:
        link: where the index leads to; the page itself is at the part before a `?`.
        meaning: for the index.
        show: returns the answer to these query parameters.
        is_for_operators: it shows paths or users.
    """

    link: str
    meaning: str
    show: Callable[[Mapping[str, str]], Answer]
    is_for_operators: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminStats:
    """Connections of the admin port, and requests refused, since the start."""

    connections_open: int = 0
    connections_refused: int = 0
    pages_refused: int = 0


class Readiness(Protocol):
    """A dataclass that says whether a daemon does its work; /ready shows all its fields."""

    @property
    def is_ready(self) -> bool:
        """Whether it can be relied on now."""


def as_json(value: object, *, status: int = HTTPStatus.OK) -> Answer:
    """Return an answer for people and programs alike."""
    body = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    return Answer(body, "application/json", status)


def daemon_pages(
    readiness: Callable[[], Readiness], meaning_of_ready: str, metrics: Callable[[], bytes]
) -> tuple[Page, ...]:
    """Return the pages that every daemon has."""

    def ready(_: Mapping[str, str]) -> Answer:
        now = readiness()
        status = HTTPStatus.OK if now.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return as_json({"ready": now.is_ready, **asdict(now)}, status=status)  # type: ignore[call-overload] # any dataclass

    return (
        Page("/health", "the process lives", lambda _: as_json({"alive": True})),
        Page("/ready", meaning_of_ready, ready),
        Page("/metrics", "figures for Prometheus", lambda _: Answer(metrics(), METRICS_TYPE)),
    )


class AdminServer:
    """Serves an index and the pages while it is entered as an async context; `state` is a line for the index."""

    def __init__(
        self,
        endpoint: Endpoint,
        pages: Sequence[Page],
        state: Callable[[], str],
        *,
        title: str = "nncache",
        access: Access | None = None,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:
        self._endpoint = endpoint
        self._pages = pages
        self._state = state
        self._title = title
        self._access = access or Access(endpoint.host)
        self._max_connections = max_connections
        app = web.Application()
        app.add_routes([web.get("/", self._index)])
        app.add_routes([web.get(page.link.partition("?")[0], self._handler(page)) for page in pages])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_STOP_S, keepalive_timeout=IDLE_S)
        self._listener: asyncio.Server | None = None
        self._address: Endpoint | None = None
        self._connections_refused = 0
        self._pages_refused = 0

    @property
    def address(self) -> Endpoint:
        """Where it listens, once it does: port 0 has become the one that the system chose."""
        assert self._address is not None, "not listening yet"
        return self._address

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            OSError: the address is taken, or not ours.
        """
        await self._runner.setup()
        try:
            self._listener = await asyncio.get_running_loop().create_server(
                self._connection, self._endpoint.host, self._endpoint.port, reuse_address=True
            )
        except OSError:
            await self._runner.cleanup()
            raise
        host, port = self._listener.sockets[0].getsockname()[:2]
        self._address = Endpoint(host, port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._runner.cleanup()

    def stats(self) -> AdminStats:
        """Return the figures so far."""
        return AdminStats(
            connections_open=len(self._server.connections),
            connections_refused=self._connections_refused,
            pages_refused=self._pages_refused,
        )

    @property
    def _server(self) -> web.Server:
        assert self._runner.server is not None, "not listening yet"
        return self._runner.server

    def _connection(self) -> asyncio.BaseProtocol:
        if len(self._server.connections) < self._max_connections:
            return self._server()
        self._connections_refused += 1
        return _Refused()

    async def _index(self, _: web.Request) -> web.Response:  # aiohttp wants a coroutine, here and below
        rows = "".join(
            f'<li><a href="{html.escape(page.link)}">{html.escape(page.link)}</a>: {html.escape(page.meaning)}</li>'
            for page in self._pages
        )
        title, state = html.escape(self._title), html.escape(self._state())
        text = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{state}</p><ul>{rows}</ul>"
        return web.Response(text=text, content_type="text/html")

    def _handler(self, page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            refusal = self._refusal(page, request)
            if refusal is not None:
                return refusal
            answer = page.show(request.query)
            headers = {"Content-Type": answer.content_type}
            return web.Response(body=answer.body, status=answer.status, headers=headers)

        return handle

    def _refusal(self, page: Page, request: web.Request) -> web.Response | None:
        if not page.is_for_operators:
            return None
        fields = request.headers
        refused = self._access.refusal(request.remote, fields.get("Host"), fields.get("Authorization"))
        if refused is None:
            return None
        self._pages_refused += 1
        status, why = refused
        answer = as_json({"error": why}, status=status)
        headers = {"Content-Type": answer.content_type}
        if status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return web.Response(body=answer.body, status=status, headers=headers)


class _Refused(asyncio.Protocol):
    """A connection too many: closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close."""
        assert isinstance(transport, asyncio.Transport)
        transport.abort()
