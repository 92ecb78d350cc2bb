"""A proxy in this process, on the steered loop, in front of a real NameNode.

The only file of the races that accesses the product's objects.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.settings import CacheSettings
from nncache.clock import boottime
from nncache.coordination.settings import ZooKeeperSettings
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.settings import ChannelSettings, PollingSettings
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.decide.flights import Flight, Flights
from nncache.proxy.decide.reads import StatusRead
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.client import Upstream
from nncache.settings.commands import SettingsOfProxy
from nncache.settings.federation import Federation
from nncache.testbed.ports import PortLease
from tests.races.steering import LABEL

BUSY_POLLING = PollingSettings(poll_budget_share=0.5, roll_after_txids=500, roll_interval_s=1.0)
"""Fast polling: the changes of thousands of races must show immediately; the NameNode has no other load."""

START_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The addresses of the servers, and the channel.

    Attributes:
        http: the NameNode's WebHDFS address for the proxy; may be a relay's.
        zookeeper: "host:port"; "" means the direct channel.
        user: the user that the proxy acts as.
    """

    http: str
    rpc: str
    user: str
    globs: tuple[str, ...] = ()
    zookeeper: str = ""
    zookeeper_root: str = "/races"
    nameservice: str = "ns1"
    upstream_connections: int = 256
    upstream_timeout_s: float = 60.0


class Proxied:
    """The proxy, with access to its internals."""

    def __init__(self, system: ProxySystem, address: str) -> None:
        self.address = address
        self.clock = boottime
        inside = system.stacks[""]
        self.cache: MetadataCache = inside.cache  # shows the outcome of a reply
        self.consumer: Consumer = inside.consumer  # shows which changes are applied
        self._upstream: Upstream = inside.upstream  # shows whether every connection was returned
        self._flights: Flights = inside.front_end.flights  # shows whether a flight is left

    def flight_of(self, path: str) -> Flight | None:
        """Return the newest flight for a path."""
        under_way: dict[Any, Flight] = cast("Any", self._flights)._under_way  # noqa: SLF001 - as above
        return next((flight for ticket, flight in reversed(under_way.items()) if ticket.path == path), None)

    async def covered(self, since: float, timeout_s: float) -> bool:
        """Wait until all changes acknowledged before this moment are applied."""
        async with asyncio.timeout(timeout_s) as deadline:
            try:
                while self.fresh_as_of < since:
                    self.consumer.request_probe()
                    await self.consumer.wait_covered(0.2)
                    if not self.consumer.stats().is_open:
                        await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                if not deadline.expired():
                    raise
                return False
        return True

    @property
    def fresh_as_of(self) -> float:
        """The time as of which the cache is known to be fresh; far in the past while it is not."""
        return self.cache.gate.fresh_as_of

    def leftovers(self) -> list[str]:
        """Return the resources that are still in use when all clients have left."""
        stats = self.cache.stats(self.clock())
        left = {
            "flights": len(self._flights),
            "tickets": stats.tickets,
            "connections lent": self._upstream.stats().connections_in_use,
        }
        return [f"{number} {what}" for what, number in left.items() if number]


@asynccontextmanager
async def proxied(site: Site) -> AsyncIterator[Proxied]:
    """Run a proxy on this loop; the block starts when it answers from memory."""
    ports = PortLease()
    listen, admin = (f"127.0.0.1:{ports.take()}" for _ in range(2))
    settings = SettingsOfProxy(
        proxy=ProxySettings(listen=listen, admin=admin),
        namenodes=NameNodeSettings(
            nameservice=site.nameservice, namenode_http=(site.http,), namenode_rpc=(site.rpc,), user=site.user
        ),
        cache=CacheSettings(glob=site.globs, two_step_window_s=3.0),
        channel=ChannelSettings(channel="zookeeper" if site.zookeeper else "direct"),
        zookeeper=ZooKeeperSettings(
            zookeeper=(site.zookeeper,) if site.zookeeper else (), zookeeper_root=site.zookeeper_root
        ),
        polling=BUSY_POLLING,
        limits=LimitSettings(
            upstream_connections=site.upstream_connections,
            upstream_timeout_s=site.upstream_timeout_s,
            body_timeout_s=30.0,  # do not disconnect a client that is slow only because the machine is busy
            idle_timeout_s=600.0,  # nor one that waits for its race
            failover_wait_s=5.0,
        ),
    )
    system = ProxySystem(Federation.of_one(settings), boottime)
    stop = asyncio.Event()
    LABEL.set(None)
    try:
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(system.serve(stop))
            proxy = Proxied(system, listen)
            try:
                assert await proxy.covered(proxy.clock(), START_TIMEOUT_S), "the gate does not open"
                yield proxy
            finally:
                stop.set()
                await asyncio.wait([serving], timeout=START_TIMEOUT_S)
    finally:
        ports.release()


def client_port(coroutine: Coroutine[Any, Any, Any]) -> int | None:
    """Return the port of the client whose connection this coroutine serves; None for any other coroutine."""
    frame = getattr(coroutine, "cr_frame", None)
    connection = None if frame is None else frame.f_locals.get("self")
    if not isinstance(connection, ClientConnection) or connection.transport is None:
        return None
    peer = connection.transport.get_extra_info("peername")
    return None if peer is None else int(peer[1])


def asked_path(coroutine: Coroutine[Any, Any, Any]) -> str | None:
    """Return the path for which this coroutine starts to ask the NameNode; None for any other coroutine.

    A callback of another client's connection, or of an event consumer, may start a call for a client.
    """
    frame = getattr(coroutine, "cr_frame", None)
    if frame is None:
        return None
    asked = frame.f_locals.get("flight") or frame.f_locals.get("read")
    return asked.plain.path if isinstance(asked, Flight | StatusRead) else None
