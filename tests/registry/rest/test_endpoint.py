"""GET /v1/registry on the wire: the real server, with a dict as its source."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn

import pytest

from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.decide.waits import WaitEnd
from nncache.proxy.errors import RegistryUnavailableError, TooManyRequestsError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.registry.rest import endpoint as registry_endpoint
from nncache.registry.rest.endpoint import (
    BYTES_OF_ONE,
    MOST_BYTES,
    PER_BYTES,
    RegistryAnswer,
    RegistryEndpoint,
    UnreadReplies,
)
from nncache.registry.rest.fair_limiter import OF_ONE
from nncache.registry.rest.request import RegistryRequest
from nncache.registry.rest.waits import RegistryPage
from tests.patience import HANG_S
from tests.proxy.doubles import FakeClock, let_tasks_run
from tests.proxy.wire import RawClient, RawReply, ask, serving, until
from tests.registry.rest.test_waits import Pages


class FollowedPages(Pages):
    """A registry from a dict, which can be followed."""

    def __init__(self) -> None:
        super().__init__({"/a": b'{"a":1}'})
        self.special: RegistryPage | None = None
        self.followers: list[Callable[[str | None], None]] = []  # the present ones
        self.follows = 0
        self.gaps = 2
        self.cannot_be_followed = asyncio.Event()

    async def follow(self, invalidated: Callable[[str | None], None]) -> NoReturn:
        """Register a follower."""
        self.follows += 1
        self.followers.append(invalidated)
        try:
            await self.cannot_be_followed.wait()
            raise RegistryUnavailableError("an ACL refuses it")
        finally:
            self.followers.remove(invalidated)

    async def page(self, registry_request: RegistryRequest) -> RegistryPage:
        """Return the special page, or that of the path."""
        if self.special is not None:
            return self.special
        return await super().page(registry_request)


@dataclass
class Fixture:
    """A server with the endpoint."""

    pages: FollowedPages
    clock: FakeClock
    server: Server
    seen: list[Exchange]
    endpoint: RegistryEndpoint

    def answered(self, exchange: Exchange) -> None:
        """Record the exchange."""
        self.seen.append(exchange)

    async def ask(self, target: str, *fields: str, method: str = "GET") -> RawReply:
        """Send a request for a target below the resource."""
        return await ask(self.server.port, f"/v1/registry{target}", *fields, method=method)


@asynccontextmanager
async def fixture() -> AsyncIterator[Fixture]:
    """Start the server."""
    clock, pages, limits = FakeClock(), FollowedPages(), LimitSettings()
    traffic = Traffic(clock)

    async def others(request: Request) -> RawResponse:
        return RawResponse(404, "Not Found", (), body=b"others")

    endpoint = RegistryEndpoint(pages, traffic, limits, max_wait_s=60)
    async with (
        serving(endpoint.before(others), limits=limits, traffic=traffic) as server,
        asyncio.timeout(HANG_S),
        asyncio.TaskGroup() as tasks,
    ):
        made = Fixture(pages, clock, server, [], endpoint)
        traffic.observers = (made.answered,)
        running = tasks.create_task(endpoint.run())
        try:
            yield made
        finally:
            endpoint.stop()
            running.cancel()


async def test_a_page_has_a_tag_that_spares_it_the_next_time() -> None:
    """The tag is valid until the page changes; a cache must revalidate each time (RFC 9111, section 5.2.2.4)."""
    async with fixture() as s:
        first = await s.ask("/a", "X-Request-Id: r1")
        assert s.seen[0].request_id == "r1"
        assert (first.status, first.body, first["Content-Type"]) == (200, b'{"a":1}', "application/json")
        assert first["Cache-Control"] == "no-cache"
        same = await s.ask("/a", f"If-None-Match: {first['ETag']}")
        assert (same.status, same.body, same["ETag"]) == (304, b"", first["ETag"])
        assert "Date" in first
        assert "Date" in same
        s.pages.pages["/a"] = b'{"a":2}'
        other = await s.ask("/a", f"If-None-Match: {first['ETag']}")
        assert (other.status, other.body) == (200, b'{"a":2}')
        assert [(each.result, each.status) for each in s.seen] == [
            (Result.REGISTRY, 200), (Result.REGISTRY, 304), (Result.REGISTRY, 200),
        ]  # fmt: skip


async def test_head_is_get_without_a_body() -> None:
    """Other methods are not allowed."""
    async with fixture() as s:
        reply = await s.ask("/a", method="HEAD")
        assert (reply.status, reply["Content-Length"]) == (200, "7")
        refused = await s.ask("/a", "Content-Length: 0", method="PUT")
        assert (refused.status, refused["Allow"]) == (405, "GET, HEAD")
        assert s.seen[-1].result is Result.REFUSED


async def test_other_paths_go_on_as_before() -> None:
    """This includes paths that begin with the same characters."""
    async with fixture() as s:
        assert (await s.ask("x")).body == b"others"
        assert s.pages.read == []
        assert s.seen == []


async def test_errors_have_the_form_of_webhdfs() -> None:
    """This holds for errors of the client, of the registry, and for bugs."""
    async with fixture() as s:
        missing = await s.ask("/b")
        assert (missing.status, json.loads(missing.body)["RemoteException"]["exception"]) == (
            404,
            "PathNotFoundException",
        )
        wrong = await s.ask("?x")
        assert (wrong.status, "Allow" in wrong) == (400, False)
        s.pages.failure = RuntimeError("a bug")
        assert (await s.ask("/a")).status == 500
        assert [each.result for each in s.seen] == [Result.REFUSED, Result.REFUSED, Result.FAILED]


async def test_a_client_address_has_a_rate() -> None:
    """After a burst the reply is 429 with Retry-After; a request that reads a subtree counts as ten."""
    async with fixture() as s:
        replies = [await s.ask("/a?recursive") for _ in range(11)]
        assert [reply.status for reply in replies] == [200] * 10 + [429]
        assert replies[-1]["Retry-After"] == "1"
        assert len(s.pages.read) == 10
        s.clock.now += 0.25
        assert [(await s.ask("/a")).status for _ in range(6)] == [200] * 5 + [429]


async def test_a_large_record_is_charged_for() -> None:
    """The bytes that a request reads count as well."""
    async with fixture() as s:
        s.pages.special = RegistryPage(b"x", read_bytes=60 * PER_BYTES)
        assert [(await s.ask("/a")).status for _ in range(3)] == [200, 200, 429]


async def test_few_subtrees_are_read_at_the_same_time() -> None:
    """One per address, with few waiting, and few in total; single records are read concurrently."""
    async with fixture() as s:
        s.pages.is_open.clear()
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(s.ask("/a?recursive")) for _ in range(OF_ONE + 1)]
            refused, held = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert [task.result().status for task in refused] == [429]
            assert len(s.pages.read) == 1
            one = tasks.create_task(s.ask("/a"))
            while len(s.pages.read) < 2:
                await let_tasks_run(1)
            s.pages.is_open.set()
        assert [task.result().status for task in (*held, one)] == [200] * (OF_ONE + 1)
        assert (await s.ask("/a?recursive")).status == 200


async def until_held(s: Fixture, count: int = 1) -> None:
    """Wait until this number is held, and the registry is followed."""
    while s.endpoint.stats().waiters != count or not s.pages.followers:
        await let_tasks_run(1)


async def test_a_request_is_held_until_its_tag_would_differ() -> None:
    """From then on the registry is followed; the waiting time does not count as processing time."""
    async with fixture() as s, asyncio.TaskGroup() as tasks:
        first = await s.ask("/a")
        assert (s.pages.follows, first["Vary"]) == (0, "Accept")
        fields = ("Prefer: wait=50", f"If-None-Match: {first['ETag']}")
        held = tasks.create_task(s.ask("/a", *fields))
        await until_held(s)
        s.pages.pages["/a"] = b'{"a":2}'
        s.pages.followers[0]("/a")
        reply = await held
        assert (reply.status, reply.body) == (200, b'{"a":2}')
        assert reply["Preference-Applied"] == "wait=50"
        assert reply["ETag"] != first["ETag"]
        assert {end for end, count in s.endpoint.stats().waits.items() if count} == {WaitEnd.CHANGED}


async def test_the_end_of_the_time_is_a_304() -> None:
    """The reply says that it waited; max_wait_s is the upper bound."""
    async with fixture() as s:
        first = await s.ask("/a")
        reply = await s.ask("/a", "Prefer: wait=1", f"If-None-Match: {first['ETag']}")
        assert (reply.status, reply["Preference-Applied"]) == (304, "wait=1")
        other = await s.ask("/a", "Prefer: wait=999", 'If-None-Match: "x"')
        assert (other.status, other["Preference-Applied"]) == (200, "wait=60")


async def test_a_registry_that_cannot_be_followed_holds_none(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting requests are answered, and following is retried."""
    monkeypatch.setattr(registry_endpoint, "AGAIN_S", 0.01)
    async with fixture() as s, asyncio.TaskGroup() as tasks:
        etag = (await s.ask("/a"))["ETag"]
        held = tasks.create_task(s.ask("/a", "Prefer: wait=50", f"If-None-Match: {etag}"))
        await until_held(s)
        s.pages.cannot_be_followed.set()
        assert "Preference-Applied" not in (await held)
        assert "no requests about the registry are held for 0.01 s: an ACL refuses it" in caplog.text
        s.pages.cannot_be_followed.clear()
        while s.pages.follows < 2 or not s.pages.followers:
            await let_tasks_run(1)


async def test_the_registry_is_followed_while_requests_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """It continues for some minutes, then stops until the next request waits, which is held immediately."""
    monkeypatch.setattr(registry_endpoint, "UNUSED_S", 0.0)
    async with fixture() as s, asyncio.TaskGroup() as tasks:
        fields = ("Prefer: wait=50", f"If-None-Match: {(await s.ask('/a'))['ETag']}")
        for number in (1, 2):
            held = tasks.create_task(s.ask("/a", *fields))
            await until_held(s)
            assert s.pages.follows == number
            s.pages.special = RegistryPage(b"other")
            s.pages.followers[0]("/a")
            assert (await held).body == b"other"
            s.pages.special = None
            while s.pages.followers:
                await let_tasks_run(1)


async def test_a_page_of_another_kind_has_its_own_fields() -> None:
    """An error page has no tag."""
    async with fixture() as s:
        html = (b"Content-Type", b"text/html")
        s.pages.special = RegistryPage(b"<p>", html[1], 404, "Not Found", ((b"X-A", b"b"),))
        reply = await s.ask("/a")
        assert (reply.status, reply.body, reply["Content-Type"], reply["X-A"]) == (
            404,
            b"<p>",
            "text/html",
            "b",
        )
        assert "ETag" not in reply
        assert s.seen[-1].result is Result.REFUSED


async def test_each_answer_is_counted() -> None:
    """Answers are counted by kind; the figures of the source are included."""
    async with fixture() as s:
        etag = (await s.ask("/a"))["ETag"]
        await s.ask("/a", f"If-None-Match: {etag}")
        await s.ask("/b")
        await s.ask("?x")
        s.pages.failure = RegistryUnavailableError("away")
        await s.ask("/a")
        stats = s.endpoint.stats()
        assert stats.answers == dict.fromkeys(RegistryAnswer, 1)
        assert (stats.gaps, stats.waiters) == (2, 0)


async def test_replies_that_are_not_read_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stays in memory until its client has read it, which may take hours (min_body_rate_bytes_s)."""
    size = 32 * 2**20  # more than the hosts' own buffers take
    monkeypatch.setattr(registry_endpoint, "BYTES_OF_ONE", size)
    async with fixture() as s, RawClient.connected(s.server.port, receive_buffer=4_096) as slow:
        s.pages.special = RegistryPage(b"x" * size)
        slow.pause()
        slow.send(b"GET /v1/registry/a HTTP/1.1\r\nHost: nn\r\n\r\n")
        await until(lambda: len(s.seen) == 1)
        refused = await s.ask("/a")
        assert (refused.status, "Retry-After" in refused) == (429, True)
        slow.writer.transport.abort()
        await until(lambda: s.server.stats().connections_open == 0)
        assert (await s.ask("/a")).status == 200


def test_replies_that_are_not_read_leave_room_for_others() -> None:
    """Each address has a small share; the total has a bound, which only a single reply may exceed."""
    unread = UnreadReplies()
    unread.add("slow", MOST_BYTES + 1)
    for holder, error in (("slow", TooManyRequestsError), ("other", RegistryUnavailableError)):
        with pytest.raises(error, match="not"):
            unread.add(holder, 1)
    unread.drop("slow", MOST_BYTES + 1)
    for _ in range(2):
        unread.add("slow", BYTES_OF_ONE - 1)
    with pytest.raises(TooManyRequestsError):
        unread.add("slow", 0)
    unread.add("other", BYTES_OF_ONE)
    unread.drop("slow", BYTES_OF_ONE - 1)
    unread.add("slow", 1)
