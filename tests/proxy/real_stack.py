"""All parts of the proxy in this process, in front of a real NameNode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from yarl import URL

from nncache.cache import CacheSettings, MetadataCache
from nncache.clock import boottime
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.pool import NameNodePool
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.direct import DirectInotifyEventInputStream
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.server import Server
from nncache.proxy.front_end import FrontEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.plain_calls import PlainCalls
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.client import Upstream
from nncache.proxy.upstream.queries import PoolQueries
from nncache.testbed import Cluster
from nncache.testbed.asker import Asker, RawReply
from tests.proxy.wire import RawReply as ProxyReply
from tests.proxy.wire import ask
from tests.setup import channel_setup

READY_S = 20.0  # until the stream is open and the first coverage has come


@dataclass
class RealStack:
    """A proxy that serves the paths of one directory."""

    cache: MetadataCache
    front_end: FrontEnd
    upstream: Upstream
    consumer: Consumer
    port: int
    namenode: str  # its HTTP address

    async def ask(self, target: str, *fields: str, method: str = "GET", body: str = "") -> ProxyReply:
        """Ask the proxy."""
        return await ask(self.port, f"/webhdfs/v1{target}", *fields, method=method, body=body)

    async def status(self, path: str, user: str) -> ProxyReply:
        """Ask the proxy for a status."""
        return await self.ask(f"{path}?op=GETFILESTATUS&user.name={user}")

    async def namenode_itself(self, target: str, method: str = "GET") -> RawReply:
        """Ask behind the proxy's back."""
        return await asyncio.to_thread(self._ask_namenode, method, f"/webhdfs/v1{target}")

    def _ask_namenode(self, method: str, target: str) -> RawReply:
        with Asker(self.namenode) as asker:
            return asker.ask(method, target)

    async def hit(self, path: str, user: str) -> ProxyReply:
        """Ask until the answer comes from memory."""
        async with asyncio.timeout(READY_S):
            while (reply := await self.status(path, user)).made != "nncache; hit":
                await self.consumer.wait_covered(1.0)
        return reply


@asynccontextmanager
async def real_stack(cluster: Cluster, directory: str) -> AsyncIterator[RealStack]:
    """Build it, wait until it may keep replies, and take it down again."""
    namenode = cluster.namenodes[0]
    pool = NameNodePool(
        NameNodeSettings(
            namenode_http=(namenode.http,), namenode_rpc=(namenode.rpc,), user=cluster.superuser
        ),
        boottime,
    )
    cache = MetadataCache(CacheSettings(glob=tuple(directory + "/*" * depth for depth in (1, 2, 3))))
    consumer = Consumer(cache, DirectInotifyEventInputStream(channel_setup(pool, boottime)), boottime)
    limits = LimitSettings()
    fast_path = FastPath(cache.is_good, cache.store, boottime, limits)
    async with (
        _closing(pool),
        asyncio.TaskGroup() as background,
        Upstream(pool, limits, boottime) as upstream,
        FrontEnd(
            cache,
            upstream,
            PoolQueries(pool, timeout_s=5.0, clock=boottime),
            consumer,
            ProxySettings(),
            boottime,
        ) as front_end,
    ):
        tasks = [background.create_task(pool.run()), background.create_task(consumer.run())]
        plain_calls = PlainCalls(front_end, cache, upstream, boottime, limits)
        fast_path.whole_blocks = plain_calls.blocks.without_credential
        server = Server(front_end.handle, fast_path, limits, plain_calls)
        await server.start("127.0.0.1", 0)
        try:
            async with asyncio.timeout(READY_S):
                while not await consumer.wait_covered(1.0):
                    pass
            yield RealStack(cache, front_end, upstream, consumer, server.port, namenode.http)
        finally:
            await server.stop()
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def _closing(pool: NameNodePool) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await pool.close()


async def put(location: str, data: bytes) -> None:
    """Send the second step of a CREATE to its DataNode."""
    async with (
        aiohttp.ClientSession() as session,
        session.put(URL(location, encoded=True), data=data) as reply,
    ):
        assert reply.status == HTTPStatus.CREATED, await reply.text()
