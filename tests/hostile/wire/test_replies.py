"""Each reply that a NameNode must not give is passed through or becomes an error, and is never cached."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from nncache.cache import CacheSettings, MetadataCache
from nncache.clock import boottime
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.client import Upstream
from tests.hostile.wire.replies import BAD_REPLIES, PATH, BadReply, reply
from tests.proxy.doubles import FILE, FakeClock
from tests.proxy.front_fixture import DictNameNode, NoSignal
from tests.proxy.wire import FakePool, Heard, RawClient, RawNameNode, limits_of_tests, says, serving

TERM = 7
ASK = f"GET /webhdfs/v1{PATH}?op=GETFILESTATUS&user.name=alice HTTP/1.1\r\nHost: nn\r\n\r\n".encode()


@dataclass
class Fixture:
    """A proxy that may cache replies, before a NameNode that sends raw bytes."""

    front_end: FrontEnd
    port: int

    async def ask(self) -> tuple[int, bytes, bytes]:
        """Request the status, on a new connection."""
        async with RawClient.connected(self.port) as client:
            client.send(ASK)
            answer = await client.reply()
            return answer.status, answer.body, b", ".join(answer.all(b"Cache-Status"))


@asynccontextmanager
async def fixture(namenode: RawNameNode) -> AsyncIterator[Fixture]:
    """Start the proxy."""
    limits = limits_of_tests(upstream_timeout_s=0.5, failover_wait_s=0.3)
    cache = MetadataCache(CacheSettings(glob=("/w/*",), max_staleness_s=3600.0))
    cache.open_stream(TERM)
    cache.cover(boottime(), 100)
    pool = FakePool((namenode.namenode,))
    pool.make_active(namenode.namenode, TERM)
    queries = DictNameNode(FakeClock())
    async with (
        Upstream(pool.pool, limits, boottime) as upstream,
        FrontEnd(cache, upstream, queries, NoSignal(), ProxySettings(), boottime, limits) as front_end,
        serving(front_end.handle, limits=limits) as server,
    ):
        yield Fixture(front_end, server.port)


@pytest.mark.parametrize("bad", BAD_REPLIES, ids=lambda bad: bad.name)
async def test_nothing_of_a_bad_reply_is_kept(bad: BadReply) -> None:
    """The next read gets the NameNode's good answer, and the one after that gets it from memory."""

    async def act(heard: Heard) -> None:
        for piece in bad.raw:
            await heard.say(piece)
            await asyncio.sleep(0.001)
        if not bad.stays_open:
            heard.writer.close()

    good = says(reply(FILE))
    async with RawNameNode() as namenode, fixture(namenode) as made:
        reported = {"is_bad": True}

        async def answer(heard: Heard) -> None:
            await (act if reported["is_bad"] else good)(heard)

        namenode.acts = (answer,)
        status, _, how = await made.ask()
        assert status in bad.statuses, (status, how)
        assert b"hit" not in how
        reported["is_bad"] = False
        assert (await made.ask())[:2] == (200, FILE)
        status, body, how = await made.ask()
        assert (status, body, how) == (200, FILE, b"nncache; hit")
        assert made.front_end.stats().cache_errors == 0


async def test_a_reply_without_an_end_takes_no_memory() -> None:
    """A body too long for a status: the NameNode is cut off, and the client gets 502."""
    part, parts = b" " * 65_536, 512

    async def act(heard: Heard) -> None:
        await heard.say(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(parts):
            await heard.say(b"%x\r\n%b\r\n" % (len(part), part))
        await heard.say(b"0\r\n\r\n")

    async with RawNameNode(act) as namenode, fixture(namenode) as made:
        async with RawClient.connected(made.port, receive_buffer=65_536) as client:
            tracemalloc.start()
            try:
                client.send(ASK)
                answer = await client.reply()
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
        assert answer.status == 502
        assert peak < len(part) * parts / 4
