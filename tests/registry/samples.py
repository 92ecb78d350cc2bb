"""A registry for a test, on the fake ZooKeeper or on the cluster's."""

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Iterator

from nncache.registry.access import AccessPolicy
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.coordination.simulations import connected, remove
from tests.service import spelled

WEBHDFS = ServiceRecord(
    description="a proxy",
    external=(uri_endpoint("org.apache.hadoop.webhdfs", "REST", "http://h:1/webhdfs/v1"),),
)


def yarn_record(policy: str, yarn_id: str) -> ServiceRecord:
    """Return a record that is removed when the policy's object with this id has ended."""
    return ServiceRecord(attributes={"yarn:persistence": policy, "yarn:id": yarn_id})


async def registry_over(session: FakeSession, access: AccessPolicy = AccessPolicy()) -> Registry:  # noqa: B008 - a value that never changes
    """Return a registry with its root, on a session of the test's own class."""
    session.connect(77)
    registry = Registry(session, "/registry", access)
    await registry.make_root()
    return registry


def fake_registry(access: AccessPolicy = AccessPolicy()) -> Registry:  # noqa: B008 - a value that never changes
    """Return a registry on a fake of its own."""
    return Registry(FakeZooKeeper(time.monotonic).session(), "/registry", access)


@contextlib.asynccontextmanager
async def real_registry(cluster: Cluster) -> AsyncIterator[Registry]:
    """Yield a registry on the cluster's ZooKeeper with its own root, and remove it."""
    async with connected(cluster.zookeeper.address) as session:
        registry = Registry(session, f"/registry-{uuid.uuid4().hex[:12]}", AccessPolicy())
        await registry.make_root()
        yield registry
        for name in await registry.list("/"):
            await registry.delete(f"/{name}", recursive=True)


@contextlib.contextmanager
def place_of_its_own(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry of its own on the cluster's ZooKeeper, and remove it."""
    address, root = cluster.zookeeper.address, f"/registry-{uuid.uuid4().hex[:12]}"
    yield {"zookeeper": address, "registry_root": root}

    async def clean() -> None:
        async with connected(address) as session:
            await remove(session, root)

    asyncio.run(clean())


def serving(cluster: Cluster, place: dict[str, str], glob: str, **flags: object) -> ProxyDaemon:
    """Return a proxy that serves that registry and is registered in it."""
    namenode = cluster.namenodes[0]
    where = {"namenode_http": namenode.http, "namenode_rpc": namenode.rpc, "user": cluster.superuser}
    own = {"glob": glob, "channel": "direct", "registry": True}
    return ProxyDaemon(*spelled({**where, **own, **place, **flags}))
