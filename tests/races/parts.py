"""The parts of a run on the real stack: both channels, and a NameNode that is slow or unavailable."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from itertools import count
from typing import Final, TypeAlias

from nncache.testbed import Cluster
from nncache.testbed.relay import Relay
from tests.races.changes import GLOBS, WITH_BODIES
from tests.races.lane import Kind
from tests.races.proxied import Site
from tests.races.real import USUAL, Part
from tests.service import NAMESERVICE, InotifyService

Make: TypeAlias = Callable[[Cluster], AbstractContextManager[Part]]
"""Sets up a part on a cluster."""

_USERS: Final = ("alice", "bob", "carol")
_MANY_USERS: Final = _USERS + tuple(f"u{number}" for number in range(90))
"""More callers than the proxy keeps connections for."""

_SHAKEN_WEIGHTS: Final = {Kind.FILL: 25, Kind.WRITE: 65, Kind.APPLY: 10}
_SLOW_S: Final = 0.08  # each way: a round trip outlasts a request body's wait for the reply to its head
_AWAY_S: Final = 0.6
_BETWEEN_S: Final = 1.0
_FEW: Final = 8  # lanes


@contextmanager
def direct(cluster: Cluster) -> Iterator[Part]:
    """Yield a part whose proxy reads the edits itself."""
    namenode = cluster.namenodes[0]
    yield Part(
        name="direct",
        site=Site(http=namenode.http, rpc=namenode.rpc, user=cluster.superuser, globs=GLOBS),
        namenode=namenode.http,
        superuser=cluster.superuser,
        users=(*_USERS, cluster.superuser),
        weights=USUAL | {Kind.PASS: 10},
    )


@contextmanager
def zookeeper(cluster: Cluster) -> Iterator[Part]:
    """Yield a part whose proxy is no superuser and uses a publisher; its ZooKeeper is slow or cut."""
    namenode = cluster.namenodes[0]
    with ExitStack() as running:
        service = InotifyService.of(cluster)
        for number, glob in enumerate(GLOBS):
            service.add(f"f{number}", glob)
        publisher = running.enter_context(
            service.publisher(poll_budget_share=1, roll_after_txids=500, roll_interval_s=1)
        )
        publisher.await_publishing()
        relay = running.enter_context(Relay(service.zookeeper))

        @asynccontextmanager
        async def beside() -> AsyncIterator[None]:
            async with asyncio.TaskGroup() as tasks:
                shaking = tasks.create_task(_shake_zookeeper(relay, service))
                yield
                shaking.cancel()

        yield Part(
            name="zookeeper",
            site=Site(
                http=namenode.http,
                rpc=namenode.rpc,
                user="svc",
                zookeeper=relay.address,
                zookeeper_root=service.root,
                nameservice=NAMESERVICE,
            ),
            namenode=namenode.http,
            superuser=cluster.superuser,
            users=_MANY_USERS,
            beside=beside,
        )


@contextmanager
def shaken(cluster: Cluster) -> Iterator[Part]:
    """Yield a part whose proxy has few connections to a NameNode that is slow, and unavailable at times."""
    namenode = cluster.namenodes[0]
    with Relay(namenode.http) as relay, Relay(namenode.rpc) as rpc:

        @asynccontextmanager
        async def beside() -> AsyncIterator[None]:
            async with asyncio.TaskGroup() as tasks:
                shaking = tasks.create_task(_shake_namenode(relay, rpc))
                yield
                shaking.cancel()
            relay.restore()

        yield Part(
            name="slow NameNode",
            site=Site(
                http=relay.address,
                rpc=rpc.address,
                user=cluster.superuser,
                globs=GLOBS,
                upstream_connections=_FEW + 4,  # some remain beside the held ones
                upstream_timeout_s=5.0,
            ),
            namenode=namenode.http,
            superuser=cluster.superuser,
            users=_USERS,
            changes=WITH_BODIES,
            weights=_SHAKEN_WEIGHTS,
            beside=beside,
            is_shaken=True,
            lanes=_FEW,
        )


async def _shake_zookeeper(relay: Relay, service: InotifyService) -> None:
    """Change the filters repeatedly, once per round while ZooKeeper is slow, and cut the proxy's connection.

    While it is slow, a record arrives before the filters of its generation are read, then more records than a reader
    walks back. Each round has a new filter: one that keeps changing is published less and less often.
    """
    for number in count():
        name = f"passing{number}"
        await asyncio.to_thread(relay.delay, _SLOW_S)
        await asyncio.to_thread(service.add, name, "/elsewhere/*")
        await asyncio.sleep(_BETWEEN_S)
        await asyncio.to_thread(relay.restore)
        await asyncio.to_thread(relay.reset_connections)
        await asyncio.sleep(_BETWEEN_S)
        await asyncio.to_thread(service.remove, name)
        await asyncio.sleep(_BETWEEN_S)


async def _shake_namenode(relay: Relay, rpc: Relay) -> None:
    """Make the NameNode slow, and unavailable at times."""
    while True:
        await asyncio.to_thread(relay.delay, _SLOW_S)
        await asyncio.sleep(_BETWEEN_S)
        await asyncio.to_thread(rpc.reset_connections)
        await asyncio.sleep(_BETWEEN_S)
        await asyncio.to_thread(relay.hold)
        await asyncio.sleep(_AWAY_S)
        await asyncio.to_thread(relay.cut)
        await asyncio.sleep(_AWAY_S)
        await asyncio.to_thread(relay.restore)
