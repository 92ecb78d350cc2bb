"""ACLs of ZooKeeper and of its fake allow and refuse the same operations."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pytest

from nncache.coordination.acl import OF_ITS_MAKER, OPEN, AclEntry, Right
from nncache.coordination.errors import BadVersionError, NoNodeError, NotAllowedError, ZnodeError
from nncache.coordination.zookeeper import Check, Create, Delete, SetData, ZnodeAcl
from tests.contracts.test_zookeeper import real_simulation
from tests.coordination.simulations import FakeServer, Simulation

ALLOWED = {
    Right.READ: {"get", "children", "check"},
    Right.WRITE: {"set"},
    Right.CREATE: {"create"},
    Right.DELETE: {"delete"},
    Right.ADMIN: set(),
}
"""The operations on a znode and its children that each permission allows."""


async def is_allowed(attempt: Callable[[], Awaitable[object]]) -> bool:
    """Return whether the ACL allows the operation."""
    try:
        await attempt()
    except NotAllowedError:
        return False
    return True


@pytest.fixture(params=["fake", "real"])
async def simulation(request: pytest.FixtureRequest) -> AsyncIterator[Simulation]:
    """Yield the fake, or the cluster's ZooKeeper."""
    if request.param == "fake":
        fake = FakeServer()
        await fake.zookeeper.ensure(fake.root)
        yield fake
        return
    async with real_simulation(request.getfixturevalue("cluster")) as real:
        yield real


async def test_each_right_allows_what_it_is_for(simulation: Simulation) -> None:
    """CREATE and DELETE concern children. Only a client that may read or administer a znode sees its ACL."""
    for right in Right:
        path = f"{simulation.root}/{right.name}"
        await simulation.zookeeper.commit(
            [Create(path, b""), Create(f"{path}/x", b""), Create(f"{path}/y", b"")]
        )
        await simulation.zookeeper.set_acl(path, (AclEntry("world", "anyone", right | Right.ADMIN),), 0)
        deeds: dict[str, Callable[[], Awaitable[object]]] = {
            "get": partial(simulation.zookeeper.get, path),
            "children": partial(simulation.zookeeper.children, path),
            "check": partial(simulation.zookeeper.commit, [Check(path, 0)]),
            "set": partial(simulation.zookeeper.commit, [SetData(path, b"")]),
            "create": partial(simulation.zookeeper.commit, [Create(f"{path}/z", b"")]),
            "delete": partial(simulation.zookeeper.commit, [Delete(f"{path}/x")]),
        }
        assert {deed for deed, attempt in deeds.items() if await is_allowed(attempt)} == ALLOWED[right]
        assert (await simulation.zookeeper.acl(path)).acl == (
            AclEntry("world", "anyone", right | Right.ADMIN),
        )
        await simulation.zookeeper.set_acl(path, OPEN, 1)


async def test_an_acl_has_a_version_of_its_own(simulation: Simulation) -> None:
    """An ACL is set against that version. Changes of data and of the ACL are counted separately."""
    path = f"{simulation.root}/a"
    with pytest.raises(NoNodeError):
        await simulation.zookeeper.acl(path)
    with pytest.raises(NoNodeError):
        await simulation.zookeeper.set_acl(path, OPEN, 0)
    await simulation.zookeeper.commit([Create(path, b"")])
    await simulation.zookeeper.commit([SetData(path, b"")])
    found = await simulation.zookeeper.acl(path)
    assert (found.acl, found.version) == (OPEN, 0)
    read = (AclEntry("world", "anyone", Right.READ | Right.ADMIN),)
    await simulation.zookeeper.set_acl(path, read, 0)
    for version in (0, 2):
        with pytest.raises(BadVersionError):
            await simulation.zookeeper.set_acl(path, OPEN, version)
    assert await simulation.zookeeper.acl(path) == ZnodeAcl(read, 1)
    assert (await simulation.zookeeper.get(path)).version == 1
    await simulation.zookeeper.set_acl(path, (AclEntry("world", "anyone", Right.READ),), 1)
    with pytest.raises(NotAllowedError):
        await simulation.zookeeper.set_acl(path, OPEN, 2)


async def test_a_session_without_an_identity_makes_nothing_its_own(simulation: Simulation) -> None:
    """ZooKeeper refuses the scheme `auth`, and the whole transaction with it."""
    with pytest.raises(ZnodeError, match=r"must have authenticated this client|refuses its ACL"):
        await simulation.zookeeper.commit(
            [Create(f"{simulation.root}/a", b""), Create(f"{simulation.root}/b", b"", acl=OF_ITS_MAKER)]
        )
    with pytest.raises(ZnodeError):
        await simulation.zookeeper.ensure(f"{simulation.root}/c", OF_ITS_MAKER)
    assert await simulation.zookeeper.children(simulation.root) == ()
