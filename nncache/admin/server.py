"""Serve a daemon's pages for operators and their tools, on a separate port.

Texts that may name paths, users or addresses are for operators only (`nncache.admin.access`): whole pages, detailed
errors, the state on the index. Probes and Prometheus get health, metrics, and the status of readiness with one of a few
reasons, from any address.
"""

import asyncio
import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Final, Protocol, Self, TypeAlias

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from nncache.admin.access import Access, AccessDenied, AccessGranted
from nncache.admin.connections import LIFETIME_S, MAX_CONNECTIONS, ConnectionLimiter, listening
from nncache.admin.status_page import StatusPage
from nncache.errors import StartError
from nncache.net.endpoint import ListenAddress
from nncache.net.listening import where

PageCalled: TypeAlias = Callable[[str, str, str, int], None]
"""Records a call of an operators' page: address, holder of the token, target, status of the answer."""

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_OF_EVERY_PAGE: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_PASSED_ON: Final = ("Forwarded", "X-Forwarded-For", "X-Real-IP")
_STOP_S: Final = 2.0  # for responses in flight when the daemon stops


@dataclass(frozen=True, slots=True)
class PageContent:
    """The content of a page."""

    body: bytes
    content_type: str
    status: int = HTTPStatus.OK


@dataclass(frozen=True, slots=True)
class Page:
    """One page. Its callables must not block.

    Attributes:
        link: the link in the index; the page's path is the part before a `?`.
        meaning: its description in the index.
        show: returns the answer to these query parameters.
        is_for_operators: whether it shows paths or users.
        show_others: returns the answer of a public page to clients that are not operators; None: the same answer.
    """

    link: str
    meaning: str
    show: Callable[[Mapping[str, str]], PageContent]
    is_for_operators: bool = False
    show_others: Callable[[Mapping[str, str]], PageContent] | None = None


@dataclass(frozen=True, slots=True)
class Action:
    """An action that operators request by POST. It must not block.

    Attributes:
        path: the path of the request.
        act: returns the answer to these query parameters of this client: the holder of its token, and its address.
    """

    path: str
    act: Callable[[Mapping[str, str], str], PageContent]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminStats:
    """Connections and refused requests of the admin port, since start; and its certificate."""

    connections_open: int = 0
    connections_refused: int = 0
    pages_refused: int = 0
    certificate_ends_at: float = 0.0  # Unix time; 0: plain HTTP
    certificate_reloads_failed: int = 0


class Readiness(Protocol):
    """A dataclass of a daemon's readiness; /ready shows all its fields to operators."""

    @property
    def is_ready(self) -> bool:
        """Whether clients can rely on the daemon now."""

    @property
    def reason(self) -> str:
        """The fault, for all clients: one of a few fixed words; "" without one."""

    @property
    def state(self) -> str:
        """One line for operators."""


def _client_of(request: web.Request) -> str | None:
    """Return the address of the client; None if a program only forwards the request of another one."""
    return None if any(field in request.headers for field in _PASSED_ON) else request.remote


def as_json(value: object, *, status: int = HTTPStatus.OK) -> PageContent:
    """Return a value as indented JSON, for people and programs."""
    body = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    return PageContent(body, "application/json", status)


def status_page_of(status: Callable[[], object]) -> Page:
    """Return the page that has all that the page for people shows."""
    return Page(
        "/status",
        "all that the page above shows, as JSON (docs/status.md)",
        lambda _: as_json(status()),
        is_for_operators=True,
    )


def daemon_pages(
    readiness: Callable[[], Readiness], meaning_of_ready: str, metrics: Callable[[], bytes]
) -> tuple[Page, ...]:
    """Return the pages that every daemon has."""
    return (
        Page("/health", "the process lives", lambda _: as_json({"alive": True})),
        ready_page(readiness, meaning_of_ready),
        Page("/metrics", "figures for Prometheus", lambda _: PageContent(metrics(), METRICS_TYPE)),
    )


def ready_page(readiness: Callable[[], Readiness], meaning: str, link: str = "/ready") -> Page:
    """Return the page of the readiness: operators see all fields, others the status and the reason."""

    def ready(_: Mapping[str, str]) -> PageContent:
        now = readiness()
        return answer(now, asdict(now))  # type: ignore[call-overload] # any dataclass

    def ready_for_others(_: Mapping[str, str]) -> PageContent:
        return answer(readiness(), {})

    def answer(now: Readiness, fields: Mapping[str, object]) -> PageContent:
        status = HTTPStatus.OK if now.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return as_json({"ready": now.is_ready, "reason": now.reason, **fields}, status=status)

    return Page(link, meaning, ready, show_others=ready_for_others)


class AdminServer:
    """Serves an index and the pages, as an async context manager; `state` is the heading of the operators' index."""

    def __init__(
        self,
        endpoint: ListenAddress,
        pages: Sequence[Page | Action],
        state: Callable[[], str],
        *,
        title: str = "nncache",
        access: Access | None = None,
        status_page: StatusPage | None = None,
        max_connections: int = MAX_CONNECTIONS,
        lifetime_s: float = LIFETIME_S,
    ) -> None:
        self._endpoint = endpoint
        self._pages = tuple(page for page in pages if isinstance(page, Page))
        self._state = state
        self._title = title
        self._status_page = status_page  # for operators, instead of the index
        self._access = access or Access(endpoint.host)
        self.page_called: PageCalled = lambda *_: None  # set by the owner of an audit log
        self._connections = ConnectionLimiter(
            self._served, max_connections=max_connections, lifetime_s=lifetime_s
        )
        app = web.Application(middlewares=[_close_after])
        app.add_routes([web.get("/", self._index)])
        app.add_routes([web.get(page.link.partition("?")[0], self._handler(page)) for page in self._pages])
        actions = [page for page in pages if isinstance(page, Action)]
        app.add_routes([web.post(action.path, self._performer(action)) for action in actions])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_STOP_S)
        app.on_response_prepare.append(_without_versions)
        self._listener: asyncio.Server | None = None
        self._tls = AsyncExitStack()  # ends the TLS listener, if there is one
        self._address: ListenAddress | None = None
        self._pages_refused = 0

    @property
    def address(self) -> ListenAddress:
        """The address on which the server listens; port 0 is replaced by the port that the system chose."""
        assert self._address is not None, "not listening yet"
        return self._address

    @property
    def url(self) -> str:
        """The URL of the index."""
        return f"{self._access.scheme}://{self.address}/"

    async def __aenter__(self) -> Self:
        """Listen.

        Raises:
            StartError: the address is in use, or not of this host.
        """
        await self._runner.setup()
        certificate = self._access.certificate
        try:
            if certificate is None:
                self._address = await self._listen()
            else:
                self._address = await self._tls.enter_async_context(
                    listening(self._connections, certificate, self._endpoint)
                )
        except OSError as error:
            await self._runner.cleanup()
            raise StartError(f"admin: {self._endpoint}: {error.strerror or error}") from error
        return self

    async def _listen(self) -> ListenAddress:
        self._listener = await asyncio.get_running_loop().create_server(
            self._connections, **where(self._endpoint.host, self._endpoint.port)
        )
        host, port = self._listener.sockets[0].getsockname()[:2]
        return ListenAddress(host, port)

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.close()
        await self._tls.aclose()
        await self._runner.cleanup()

    def stats(self) -> AdminStats:
        """Return the statistics since start."""
        certificate = self._access.certificate
        return AdminStats(
            certificate_ends_at=0.0 if certificate is None else certificate.ends_at,
            certificate_reloads_failed=0 if certificate is None else certificate.failed_reloads,
            connections_open=self._connections.open,
            connections_refused=self._connections.refused,
            pages_refused=self._pages_refused,
        )

    def _served(self) -> asyncio.Protocol:
        assert self._runner.server is not None, "not listening yet"
        return _Handler(
            self._runner.server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type] # as for AppRunner: none
        )

    async def _index(self, request: web.Request) -> web.Response:  # aiohttp wants a coroutine, here and below
        rows = "".join(
            f'<li><a href="{html.escape(page.link[1:])}">{html.escape(page.link)}</a>: {html.escape(page.meaning)}</li>'
            for page in self._pages
        )
        title = html.escape(self._title)
        is_operator = isinstance(self._judged(request), AccessGranted)
        state = f"<p>{html.escape(self._state())}</p>" if is_operator else ""
        if is_operator and self._status_page is not None:
            body, headers = self._status_page.render(state, f"<ul>{rows}</ul>")
            return web.Response(body=body, content_type="text/html", charset="utf-8", headers=headers)
        text = f"<!doctype html><title>{title}</title><h1>{title}</h1>{state}<ul>{rows}</ul>"
        return web.Response(text=text, content_type="text/html")

    def _handler(self, page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            judged = self._judged(request)
            if isinstance(judged, AccessDenied):
                if page.is_for_operators:
                    return self._refusal(request, judged)
                return _response((page.show_others or page.show)(request.query))
            answer = page.show(request.query)
            if page.is_for_operators:
                self._called(request, judged.holder, answer.status)
            return _response(answer)

        return handle

    def _performer(self, action: Action) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            fields = request.headers
            judged = self._access.judge_change(
                _client_of(request), fields.get("Host"), fields.get("Authorization"), fields.get("Origin")
            )
            if isinstance(judged, AccessDenied):
                return self._refusal(request, judged)
            peer = request.remote or "an unknown address"
            answer = action.act(request.query, f"{judged.holder} at {peer}" if judged.holder else peer)
            self._called(request, judged.holder, answer.status)
            return _response(answer)

        return handle

    def _judged(self, request: web.Request) -> AccessGranted | AccessDenied:
        """Return whether this client may see operators' pages."""
        fields = request.headers
        return self._access.judge(_client_of(request), fields.get("Host"), fields.get("Authorization"))

    def _called(self, request: web.Request, holder: str, status: int) -> None:
        self.page_called(request.remote or "", holder, request.raw_path, status)

    def _refusal(self, request: web.Request, refused: AccessDenied) -> web.Response:
        self._pages_refused += 1
        self._called(request, "", refused.status)
        response = _response(as_json({"error": refused.why}, status=refused.status))
        if refused.status == HTTPStatus.UNAUTHORIZED:
            for scheme in ("Bearer", 'Basic realm="nncache", charset="UTF-8"'):
                response.headers.add("WWW-Authenticate", scheme)
        return response


def _response(answer: PageContent) -> web.Response:
    headers = {"Content-Type": answer.content_type}
    return web.Response(body=answer.body, status=answer.status, headers=headers)


class _Handler(web.RequestHandler):
    """aiohttp's handler, without the names of libraries in replies to invalid requests."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the reply to an invalid request."""
        response = super().handle_error(request, status, exc, message)
        response.headers["Server"] = "nncache"
        return response


async def _without_versions(_: web.Request, response: web.StreamResponse) -> None:
    """Set the `Server` field to nncache: versions of libraries are useful only to scanners."""
    response.headers["Server"] = "nncache"


@web.middleware
async def _close_after(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Close each connection after one request, so that its answer frees the connection's place."""
    try:
        response = await handler(request)
    except web.HTTPException as error:  # no such page
        error.force_close()
        raise
    response.headers.update(_OF_EVERY_PAGE)
    response.force_close()
    return response
