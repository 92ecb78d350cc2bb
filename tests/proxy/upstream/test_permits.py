"""Permits are granted in turn to the holders that wait."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from nncache.proxy.upstream import pool
from nncache.proxy.upstream.pool import Permits
from tests.patience import HANG_S
from tests.proxy.doubles import let_tasks_run
from tests.proxy.wire import (
    CREATE,
    GET,
    OK,
    Heard,
    Proxy,
    RawClient,
    RawNameNode,
    limits_of_tests,
    proxy_to,
    until,
)


class Fixture:
    """Permits, and the holders that were granted one, in order."""

    def __init__(self, limit: int, tasks: asyncio.TaskGroup) -> None:
        self.permits = Permits(limit)
        self.served: list[str] = []
        self.tasks = tasks

    def come(self, holder: str) -> asyncio.Task[None]:
        """Start a task that waits for a permit."""

        async def wait() -> None:
            await self.permits.wait(holder)
            self.served.append(holder)

        return self.tasks.create_task(wait())


async def test_those_who_wait_are_served_holder_by_holder() -> None:
    """Earlier calls of a holder do not matter."""
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        s = Fixture(1, tasks)
        assert s.permits.take("a")
        for holder in ("a", "a", "a", "b", "c", "b"):
            s.come(holder)
        await let_tasks_run()
        assert (s.permits.waiting, s.permits.fewest_held()) == (6, 0)
        for holder in ("a", "a", "b", "c", "a", "b"):
            s.permits.give_back(holder)
            await let_tasks_run()
        assert s.served == ["a", "b", "c", "a", "b", "a"]
        s.permits.give_back("a")
        assert (s.permits.in_use, s.permits.waiting, s.permits.fewest_held()) == (0, 0, None)


async def test_who_has_their_share_waits_while_others_do_not() -> None:
    """The last eighth is reserved for other holders."""
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        s = Fixture(8, tasks)
        assert [s.permits.take("greedy") for _ in range(8)] == [True] * 7 + [False]
        s.come("greedy")
        await let_tasks_run()
        assert s.permits.held("greedy") == 7
        assert s.permits.fewest_held() == 7
        assert s.permits.take("modest")
        s.permits.give_back("modest")
        await let_tasks_run()
        assert s.served == []
        s.permits.give_back("greedy")
        await let_tasks_run()
        assert s.served == ["greedy"]


async def test_nobody_overtakes_their_own_calls_that_wait() -> None:
    """A new call waits after earlier calls of the same holder."""
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        s = Fixture(8, tasks)
        for _ in range(7):
            s.permits.take("a")
        s.come("a")
        await let_tasks_run()
        s.permits.give_back("a")
        assert not s.permits.take("a")
        await let_tasks_run()
        assert s.served == ["a"]


async def test_who_leaves_takes_no_permit_along() -> None:
    """This holds while it waits, and in the loop iteration in which the permit is granted."""
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        s = Fixture(1, tasks)
        assert s.permits.take("a")
        one, two, three = s.come("a"), s.come("a"), s.come("b")
        await let_tasks_run()
        one.cancel()
        await let_tasks_run()
        assert s.permits.waiting == 2
        s.permits.give_back("a")
        two.cancel()  # it has the permit, and has not run since
        await let_tasks_run()
        assert s.served == ["b"]
        s.permits.give_back("b")
        assert (s.permits.in_use, s.permits.waiting) == (0, 0)
        assert three.done()


async def test_a_cancelled_waiter_does_not_lose_a_permit() -> None:
    """A timeout and a reply may coincide in one loop iteration; the permit then goes to the next waiter."""
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        s = Fixture(1, tasks)
        assert s.permits.take("a")
        alone, first, _ = s.come("b"), s.come("c"), s.come("c")
        await let_tasks_run()
        alone.cancel()
        first.cancel()
        s.permits.give_back("a")  # before the two tasks have run
        await let_tasks_run()
        assert s.served == ["c"]
        s.permits.give_back("c")
        assert (s.permits.in_use, s.permits.waiting, s.permits.fewest_held()) == (0, 0, None)


# ---- shares of the connections to a NameNode --------------------------------------------------------

LONG = b"GET /webhdfs/v1/long?op=LISTSTATUS HTTP/1.1\r\nHost: nn\r\n\r\n"
LONG_BYTES = 16_000_000  # more than all buffers on the way can hold


async def lists_or_answers(heard: Heard) -> None:
    """Send a long listing, or a short answer."""
    if b"/long" not in heard.head:
        await heard.say(OK)
        return
    await heard.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LONG_BYTES)
    for _ in range(LONG_BYTES // 100_000):
        await heard.say(b"x" * 100_000)


@asynccontextmanager
async def slow_readers(proxy: Proxy, addresses: Sequence[str]) -> AsyncIterator[None]:
    """Request the listing from each address, and read none of it."""
    async with AsyncExitStack() as clients:
        for address in addresses:
            connecting = RawClient.connected(proxy.port, address, receive_buffer=4096)
            client = await clients.enter_async_context(connecting)
            client.pause()
            client.send(LONG)
        yield


async def test_slow_readers_of_one_address_leave_connections_to_others() -> None:
    """A call of another address is sent immediately, within its share."""
    limits = limits_of_tests(upstream_connections=8)
    async with (
        RawNameNode(lists_or_answers) as namenode,
        proxy_to(namenode.namenode, limits=limits) as proxy,
        slow_readers(proxy, ["127.0.0.2"] * 16),
    ):
        await until(lambda: proxy.upstream.stats().waiting_for_connection == 9)
        async with RawClient.connected(proxy.port, "127.0.0.3") as other:
            other.send(GET)
            assert (await other.reply()).status == 200
        assert proxy.upstream.stats().connections_in_use == 7


async def test_slow_readers_are_cut_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a call waits for a connection, no slow reader keeps one."""
    monkeypatch.setattr(pool, "CLIENT_PATIENCE_S", 0.05)
    limits = limits_of_tests(upstream_connections=4)
    async with (
        RawNameNode(lists_or_answers) as namenode,
        proxy_to(namenode.namenode, limits=limits) as proxy,
        slow_readers(proxy, [f"127.0.0.{n}" for n in range(2, 6)]),
    ):
        await until(lambda: proxy.upstream.stats().connections_in_use == 4)
        async with RawClient.connected(proxy.port, "127.0.0.9") as other:
            other.send(GET)
            assert (await other.reply()).status == 200
        assert proxy.upstream.stats().clients_cut >= 1


async def test_a_body_that_drips_makes_room_for_calls_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client gets a 408."""
    monkeypatch.setattr(pool, "CLIENT_PATIENCE_S", 0.05)

    async def answers_reads(heard: Heard) -> None:
        if heard.head.startswith(b"GET"):
            await heard.say(OK)
        else:
            await heard.reader.read()

    limits = limits_of_tests(upstream_connections=1, body_timeout_s=600.0)
    async with RawNameNode(answers_reads) as namenode, proxy_to(namenode.namenode, limits=limits) as proxy:
        async with (
            RawClient.connected(proxy.port, "127.0.0.2") as slow,
            RawClient.connected(proxy.port, "127.0.0.3") as other,
        ):
            slow.send(CREATE + b"Content-Length: 1000\r\n\r\nx")
            await until(lambda: len(namenode.heard) == 1)
            other.send(GET)
            assert (await other.reply()).status == 200
            assert (await slow.reply()).status == 408
        assert None in proxy.settled  # sent, but without a reply: its outcome is unknown
