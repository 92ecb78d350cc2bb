"""The client's address comes from the load balancer if the proxy trusts it, and from the connection otherwise."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal

import pytest

from nncache.cache.replies import StoredReply
from nncache.cache.store import CacheStore
from nncache.clock import boottime
from nncache.daemons.supervision import keep_running
from nncache.net.balancers.balancers import Balancers, BalancerStats
from nncache.net.balancers.settings import BalancerSettings
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.proxy.traffic import Exchange, Traffic
from nncache.testbed.certificates import Authority
from tests.patience import HANG_S
from tests.proxy.clients.test_tls_listener import settings_of
from tests.proxy.kept_hits import good, kept_hit
from tests.proxy.wire import RawClient

BALANCER = "127.0.0.7"
OTHER = "127.0.0.8"
HEAD = b"GET /webhdfs/v1/x?op=GETFILESTATUS HTTP/1.1\r\nHost: h\r\n"
REPLY = StoredReply(status=404, headers=(), body=b"")


class Site:
    """A server that answers with the client's address: the first time by its handler, then from memory."""

    def __init__(
        self,
        header: Literal["X-Forwarded-For", "proxy_protocol"],
        *balancers: str,
        limits: LimitSettings | None = None,
    ) -> None:
        self.seen: list[tuple[str, str]] = []  # (client, result) of each request, as observers see it
        self.handled = 0
        self.balancers = Balancers(BalancerSettings(real_ip_from=balancers, real_ip_header=header))
        self._store = CacheStore(max_bytes=1 << 20, max_items=1_000)
        traffic = Traffic(boottime)
        traffic.observers = (self.answered,)
        limits = limits or LimitSettings()
        fast = self._fast_path = FastPath(good, self._store, boottime, limits, traffic.sampled)
        self.server = Server(self._handle, fast, limits, None, traffic, self.balancers)

    def answered(self, exchange: Exchange) -> None:
        """Record the exchange."""
        self.seen.append((exchange.peer, exchange.result.value))

    async def _handle(self, request: Request) -> RawResponse:
        self.handled += 1
        self._fast_path.sampler.every = 1
        if request.whole is not None:
            self._fast_path.remember(
                request.whole, kept_hit(self._store, "/x", REPLY, replied_at=boottime()), b"kept"
            )
        return RawResponse(404, "Not Found", (), body=request.peer.encode())

    @asynccontextmanager
    async def running(self, authority: Authority | None = None) -> AsyncIterator[Server]:
        """Serve; with an authority, over TLS as well."""
        settings = ProxySettings(listen="127.0.0.1:0") if authority is None else settings_of(authority)
        await self.server.listen(settings, boottime)
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(keep_running(*each)) for each in self.server.background]
            try:
                yield self.server
            finally:
                await self.server.stop()
                for each in running:
                    each.cancel()


async def asked(client: RawClient, *fields: bytes) -> bytes:
    """Send a request with these fields; return the reply's body."""
    client.send(HEAD + b"".join(field + b"\r\n" for field in fields) + b"\r\n")
    return (await client.reply()).body


async def test_each_request_of_a_balancer_has_its_client() -> None:
    """This holds on one connection; one cached answer serves all, and observers see the client of each request."""
    site = Site("X-Forwarded-For", BALANCER)
    async with site.running() as server, RawClient.connected(server.port, BALANCER) as client:
        assert await asked(client, b"X-Forwarded-For: 192.0.2.1") == b"192.0.2.1"
        for last in range(2, 6):
            assert await asked(client, b"X-Forwarded-For: 9.9.9.9, 192.0.2.%d" % last) == b"kept"
        client.send(b"GET x HTTP/1.1\r\nX-Forwarded-For: 192.0.2.6\r\n\r\n")
        assert (await client.reply()).status == 400
    assert site.handled == 1
    hits = [peer for peer, result in site.seen if result == "hit"]
    assert hits[0] == "192.0.2.2"  # only a sample of the others is observed
    assert set(hits) <= {f"192.0.2.{last}" for last in range(2, 6)}
    assert site.seen[-1] == ("192.0.2.6", "refused")


async def test_no_other_client_is_believed() -> None:
    """X-Forwarded-For from such a client changes neither its address nor its answer."""
    site = Site("X-Forwarded-For", BALANCER)
    async with site.running() as server, RawClient.connected(server.port, OTHER) as client:
        assert await asked(client, b"X-Forwarded-For: 192.0.2.1") == OTHER.encode()
        assert await asked(client, b"X-Forwarded-For: 192.0.2.2") == b"kept"
    assert {peer for peer, _ in site.seen} == {OTHER}


async def test_a_connection_of_a_balancer_has_its_client() -> None:
    """With the PROXY protocol, fields of requests are ignored, and each client has its own share of connections."""
    site = Site("proxy_protocol", BALANCER, limits=LimitSettings(max_connections=8))
    async with site.running() as server, AsyncExitStack() as connected:
        for number, client in enumerate((*("192.0.2.1",) * 8, "192.0.2.2")):
            behind = await connected.enter_async_context(RawClient.connected(server.port, BALANCER))
            behind.send(b"PROXY TCP4 %b 10.0.0.9 51234 9871\r\n" % client.encode())
            answer = await asked(behind, b"X-Forwarded-For: 198.51.100.1", b"X: %d" % number)
            assert (b"too many connections" in answer) if number == 7 else (answer == client.encode())
    assert site.balancers.stats() == BalancerStats(headers=9, headers_refused=0)


async def test_who_is_no_balancer_needs_no_header() -> None:
    """A direct client is served without a header, on the same port."""
    site = Site("proxy_protocol", BALANCER)
    async with site.running() as server, RawClient.connected(server.port, OTHER) as client:
        assert await asked(client, b"X-Forwarded-For: 198.51.100.1") == OTHER.encode()
        client.send(b"PROXY TCP4 192.0.2.1 10.0.0.9 51234 9871\r\n" + HEAD + b"\r\n")
        assert (await client.reply()).status == 400
    assert site.balancers.stats() == BalancerStats(headers=0, headers_refused=0)


@pytest.mark.parametrize("header", [b"PROXY TCP4 192.0.2.1 10.0.0.9 51234 9871\r\n", b"PROXY UNKNOWN\r\n"])
async def test_tls_begins_behind_the_header(authority: Authority, header: bytes) -> None:
    """A balancer that passes TLS through sends the header unencrypted."""
    site = Site("proxy_protocol", BALANCER)
    async with site.running(authority) as server:
        assert server.tls is not None
        async with RawClient.connected(server.tls.port, BALANCER) as client:
            client.send(header)
            context = authority.client_context()
            await client.writer.start_tls(context, server_hostname="localhost")
            answer = await asked(client)
            assert isinstance(client.writer.get_extra_info("ssl_object"), ssl.SSLObject)
        assert answer == (b"192.0.2.1" if b"192" in header else BALANCER.encode())
        assert server.tls_stats().handshakes == 1


async def test_ipv4_is_served_where_ipv6_is_and_named_alike() -> None:
    """`[::]` listens on every address; an IPv4 client has the name that rules, limits and logs use."""
    site = Site("X-Forwarded-For", BALANCER)
    await site.server.start("::", 0)
    try:
        async with RawClient.connected(site.server.port, OTHER) as client:
            assert await asked(client) == OTHER.encode()
        async with RawClient.connected(site.server.port, BALANCER) as client:
            assert await asked(client, b"X-Forwarded-For: 192.0.2.1", b"X: y") == b"192.0.2.1"
        reader, writer = await asyncio.open_connection("::1", site.server.port)
        assert await asked(RawClient(reader, writer), b"Y: z") == b"::1"
        writer.close()
    finally:
        await site.server.stop()
