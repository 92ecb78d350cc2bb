"""The pages for operators and their tools, on a port of their own. (proxy/admin.py)

They show paths and users' names, and are meant for loopback or a management network: nothing here asks who you are.
"""

import html
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Final, Self

import msgspec
from aiohttp import web

from hadoop.endpoint import Endpoint
from hadoop.paths import InvalidPathError, canonical

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_STOP_S: Final = 2.0  # for pages that are being sent when the proxy stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the proxy can serve, and whether it does so from memory.

    A closed gate does not make it unready: calls are forwarded then.

    Attributes:
        is_listening: clients can connect.
        active: `host:port` of the active NameNode's HTTP server, when known.
        gate: `open`, or why it is closed.
    """

    is_listening: bool
    active: str | None
    is_gate_open: bool
    gate: str

    @property
    def is_ready(self) -> bool:
        """Whether clients should be sent here."""
        return self.is_listening and self.active is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSources:
    """Where the pages get what they show. None of these may block.

    Attributes:
        readiness: the state of the proxy now.
        metrics: all metrics in the Prometheus text format.
        explain: what is known of a canonical path; a dataclass or mapping that JSON can hold.
    """

    readiness: Callable[[], Readiness]
    metrics: Callable[[], bytes]
    explain: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class _Page:
    path: str
    meaning: str


_PAGES: Final = (
    _Page("/health", "the process lives"),
    _Page("/ready", "it can serve: it listens, and an active NameNode is known"),
    _Page("/metrics", "figures for Prometheus"),
    _Page("/explain?path=/", "what the cache knows of a path, and why it is or is not answered from memory"),
)


class AdminServer:
    """Serves the pages while it is entered as an async context."""

    def __init__(self, endpoint: Endpoint, sources: AdminSources) -> None:
        self._endpoint = endpoint
        self._sources = sources
        app = web.Application()
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/health", self._health),
                web.get("/ready", self._ready),
                web.get("/metrics", self._metrics),
                web.get("/explain", self._explain),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_STOP_S)
        self._address: Endpoint | None = None

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
            await web.TCPSite(self._runner, self._endpoint.host, self._endpoint.port).start()
        except OSError:
            await self._runner.cleanup()
            raise
        host, port = self._runner.addresses[0][:2]
        self._address = Endpoint(host, port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _index(self, _: web.Request) -> web.Response:  # aiohttp wants a coroutine, here and below
        rows = "".join(
            f'<li><a href="{html.escape(page.path)}">{html.escape(page.path)}</a>: {html.escape(page.meaning)}</li>'
            for page in _PAGES
        )
        ready = self._sources.readiness()
        state = f"active NameNode: {ready.active or 'none known'}; gate: {ready.gate}"
        text = (
            f"<!doctype html><title>nncache</title><h1>nncache</h1><p>{html.escape(state)}</p><ul>{rows}</ul>"
        )
        return web.Response(text=text, content_type="text/html")

    async def _health(self, _: web.Request) -> web.Response:
        return _json({"alive": True})

    async def _ready(self, _: web.Request) -> web.Response:
        ready = self._sources.readiness()
        return _json({"ready": ready.is_ready, **asdict(ready)}, status=200 if ready.is_ready else 503)

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._sources.metrics(), headers={"Content-Type": METRICS_TYPE})

    async def _explain(self, request: web.Request) -> web.Response:
        try:
            path = canonical(request.query.get("path", ""))
        except InvalidPathError as error:
            return _json({"error": f"{error}; ask /explain?path=/an/absolute/path"}, status=400)
        return _json(self._sources.explain(path))


def _json(value: object, *, status: int = 200) -> web.Response:
    body = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    return web.Response(body=body, status=status, content_type="application/json")
