"""A proxy in this process, on the steered loop, in front of a real NameNode.

The only place here that looks into the product's objects.
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
from nncache.proxy.decide.reads import Read
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from nncache.proxy.upstream.client import Upstream
from nncache.settings.commands import SettingsOfProxy
from nncache.settings.federation import Federation
from nncache.testbed.ports import PortLease
from tests.races.steering import LABEL

BUSY_POLLING = PollingSettings(poll_budget_share=0.5, roll_after_txids=500, roll_interval_s=1.0)
"""The changes of thousands of races are to be seen at once; the NameNode has nothing else to do."""

START_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where the servers are, and how changes are learnt.

    Attributes:
        http: the NameNode's WebHDFS as the proxy sees it; perhaps a relay's.
        zookeeper: "daemons.host:port"; "" means the direct channel.
        user: whom the proxy acts as.
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
    """The proxy, and what is known of it from inside."""

    def __init__(self, system: ProxySystem, address: str) -> None:
        self.address = address
        self.clock = boottime
        inside = system.stacks[""]
        self.cache: MetadataCache = inside.cache  # to see what became of a reply
        self.consumer: Consumer = inside.consumer  # to know what was applied
        self._upstream: Upstream = inside.upstream  # to see that every connection came back
        self._flights: Flights = inside.front_end.flights  # to see that none is left

    def flight_of(self, path: str) -> Flight | None:
        """Return the newest question about a path that is under way."""
        under_way: dict[Any, Flight] = cast("Any", self._flights)._under_way  # noqa: SLF001 - as above
        return next((flight for ticket, flight in reversed(under_way.items()) if ticket.path == path), None)

    async def covered(self, since: float, timeout_s: float) -> bool:
        """Wait until all that was acknowledged before this moment has been applied."""
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
        """As of when the cache is known to be fresh; long ago while it is not."""
        return self.cache.gate.fresh_as_of

    def leftovers(self) -> list[str]:
        """Say what is left when nobody asks any more."""
        stats = self.cache.stats(self.clock())
        left = {
            "flights": len(self._flights),
            "tickets": stats.tickets,
            "connections lent": self._upstream.stats().connections_in_use,
        }
        return [f"{number} {what}" for what, number in left.items() if number]


@asynccontextmanager
async def proxied(site: Site) -> AsyncIterator[Proxied]:
    """Run a proxy on this loop; the block begins when it answers from memory."""
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
            body_timeout_s=30.0,  # a client that is held back only because the machine is busy is not cut off
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
    """Return the path that this coroutine asks the NameNode about, as it begins; None for any other coroutine.

    A question may be begun for a client in a callback of another one's connection, or of what tells of changes.
    """
    frame = getattr(coroutine, "cr_frame", None)
    if frame is None:
        return None
    asked = frame.f_locals.get("flight") or frame.f_locals.get("read")
    return asked.plain.path if isinstance(asked, Flight | Read) else None
