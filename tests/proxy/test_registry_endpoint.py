"""GET /v1/registry on the wire: the real server, a source made of a dict."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.errors import EntryNotFoundError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.registry_endpoint import RegistryEndpoint, RegistryPage
from nncache.proxy.registry_turns import OF_ONE
from nncache.proxy.registry_wish import RegistryWish
from nncache.proxy.traffic import Exchange, Result, Traffic
from tests.proxy.doubles import FakeClock, turns
from tests.proxy.front_scene import WireReply, ask
from tests.proxy.kept_hits import fast_path_alone


class Pages:
    """What is registered, by path."""

    def __init__(self) -> None:
        self.pages = {"/a": b'{"a":1}'}
        self.is_open = asyncio.Event()  # until then nothing is answered
        self.is_open.set()
        self.failure: Exception | None = None
        self.asked = 0

    async def page(self, wish: RegistryWish) -> RegistryPage:
        """Return one."""
        self.asked += 1
        await self.is_open.wait()
        if self.failure is not None:
            raise self.failure
        if wish.path not in self.pages:
            raise EntryNotFoundError(f"{wish.path}: there is no such entry")
        return RegistryPage(self.pages[wish.path])


@dataclass
class Scene:
    """A server with the endpoint."""

    pages: Pages
    clock: FakeClock
    server: Server
    seen: list[Exchange]

    def answered(self, exchange: Exchange) -> None:
        """Observe."""
        self.seen.append(exchange)

    async def ask(self, target: str, *fields: str, method: str = "GET") -> WireReply:
        """Ask for something below the resource."""
        return await ask(self.server.port, f"/v1/registry{target}", *fields, method=method)


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """Start one."""
    clock, pages, limits = FakeClock(), Pages(), LimitSettings()
    traffic = Traffic(clock)

    async def others(request: web.BaseRequest) -> web.StreamResponse:
        return RawResponse(404, "Not Found", (), body=b"others")

    handle = RegistryEndpoint(pages, traffic, limits).before(others)
    server = Server(handle, fast_path_alone(clock), limits, traffic=traffic)
    await server.start("127.0.0.1", 0)
    made = Scene(pages, clock, server, [])
    traffic.observers = (made,)
    try:
        yield made
    finally:
        await server.stop()


async def test_a_page_has_a_tag_that_spares_it_the_next_time() -> None:
    """Until it is another; a cache in between asks each time (RFC 9111, section 5.2.2.4)."""
    async with scene() as s:
        first = await s.ask("/a")
        assert (first.status, first.body, first["Content-Type"]) == (200, b'{"a":1}', "application/json")
        assert first["Cache-Control"] == "no-cache"
        same = await s.ask("/a", f"If-None-Match: {first['ETag']}")
        assert (same.status, same.body, same["ETag"]) == (304, b"", first["ETag"])
        s.pages.pages["/a"] = b'{"a":2}'
        other = await s.ask("/a", f"If-None-Match: {first['ETag']}")
        assert (other.status, other.body) == (200, b'{"a":2}')
        assert [(each.result, each.status) for each in s.seen] == [
            (Result.REGISTRY, 200), (Result.REGISTRY, 304), (Result.REGISTRY, 200),
        ]  # fmt: skip


async def test_head_is_get_without_a_body() -> None:
    """And nothing else is allowed."""
    async with scene() as s:
        reply = await s.ask("/a", method="HEAD")
        assert (reply.status, reply["Content-Length"]) == (200, "7")
        refused = await s.ask("/a", "Content-Length: 0", method="PUT")
        assert (refused.status, refused["Allow"]) == (405, "GET, HEAD")
        assert s.seen[-1].result is Result.REFUSED


async def test_other_paths_go_on_as_before() -> None:
    """Whatever they begin with."""
    async with scene() as s:
        assert (await s.ask("x")).body == b"others"
        assert s.pages.asked == 0
        assert s.seen == []


async def test_errors_have_the_form_of_webhdfs() -> None:
    """Of the client's making or not; a bug is one."""
    async with scene() as s:
        missing = await s.ask("/b")
        assert (missing.status, json.loads(missing.body)["RemoteException"]["exception"]) == (
            404,
            "PathNotFoundException",
        )
        assert (await s.ask("?x")).status == 400
        s.pages.failure = RuntimeError("a bug")
        assert (await s.ask("/a")).status == 500
        assert [each.result for each in s.seen] == [Result.REFUSED, Result.REFUSED, Result.FAILED]


async def test_a_client_address_has_a_rate() -> None:
    """Beyond a burst it is said when to come back; what reads a subtree costs ten."""
    async with scene() as s:
        replies = [await s.ask("/a?recursive") for _ in range(11)]
        assert [reply.status for reply in replies] == [200] * 10 + [429]
        assert replies[-1]["Retry-After"] == "1"
        assert s.pages.asked == 10
        s.clock.now += 0.25
        assert [(await s.ask("/a")).status for _ in range(6)] == [200] * 5 + [429]


async def test_few_subtrees_are_read_at_the_same_time() -> None:
    """Of one address fewer than of all together; single records are read beside them."""
    async with scene() as s:
        s.pages.is_open.clear()
        async with asyncio.TaskGroup() as tasks:
            held = [tasks.create_task(s.ask("/a?recursive")) for _ in range(OF_ONE)]
            while s.pages.asked < OF_ONE:
                await turns(1)
            assert (await s.ask("/a?recursive")).status == 429
            one = tasks.create_task(s.ask("/a"))
            while s.pages.asked < OF_ONE + 1:
                await turns(1)
            s.pages.is_open.set()
        assert [task.result().status for task in (*held, one)] == [200] * (OF_ONE + 1)
        assert (await s.ask("/a?recursive")).status == 200
