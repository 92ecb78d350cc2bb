"""Serve a daemon's pages for operators and their tools, on a port of their own. (nncache/admin/server.py)

They show paths and users' names, and are meant for loopback or a management network: nothing here asks who you are.
"""

import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Final, Protocol, Self

import msgspec
from aiohttp import web

from hadoop.endpoint import Endpoint

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
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
    """

    link: str
    meaning: str
    show: Callable[[Mapping[str, str]], Answer]


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
        self, endpoint: Endpoint, pages: Sequence[Page], state: Callable[[], str], *, title: str = "nncache"
    ) -> None:
        self._endpoint = endpoint
        self._pages = pages
        self._state = state
        self._title = title
        app = web.Application()
        app.add_routes([web.get("/", self._index)])
        app.add_routes([web.get(page.link.partition("?")[0], _handler(page)) for page in pages])
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
            f'<li><a href="{html.escape(page.link)}">{html.escape(page.link)}</a>: {html.escape(page.meaning)}</li>'
            for page in self._pages
        )
        title, state = html.escape(self._title), html.escape(self._state())
        text = f"<!doctype html><title>{title}</title><h1>{title}</h1><p>{state}</p><ul>{rows}</ul>"
        return web.Response(text=text, content_type="text/html")


def _handler(page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        answer = page.show(request.query)
        headers = {"Content-Type": answer.content_type}
        return web.Response(body=answer.body, status=answer.status, headers=headers)

    return handle
