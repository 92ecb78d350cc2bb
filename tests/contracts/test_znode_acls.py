"""ACLs of ZooKeeper and of its fake allow and refuse the same operations."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial

import pytest

from nncache.coordination.acl import CREATOR_ALL_ACL, OPEN_ACL, ZnodeAclEntry, ZnodePerms
from nncache.coordination.errors import BadVersionError, NoNodeError, NotAllowedError, ZnodeError
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, ZnodeAcl
from tests.contracts.test_zookeeper import real_simulation
from tests.coordination.simulations import FakeServer, Simulation

ALLOWED = {
    ZnodePerms.READ: {"get", "children", "check"},
    ZnodePerms.WRITE: {"set"},
    ZnodePerms.CREATE: {"create"},
    ZnodePerms.DELETE: {"delete"},
    ZnodePerms.ADMIN: set(),
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
    for right in ZnodePerms:
        path = f"{simulation.root}/{right.name}"
        await simulation.zookeeper.commit(
            [CreateOp(path, b""), CreateOp(f"{path}/x", b""), CreateOp(f"{path}/y", b"")]
        )
        await simulation.zookeeper.set_acl(
            path, (ZnodeAclEntry("world", "anyone", right | ZnodePerms.ADMIN),), 0
        )
        deeds: dict[str, Callable[[], Awaitable[object]]] = {
            "get": partial(simulation.zookeeper.get, path),
            "children": partial(simulation.zookeeper.children, path),
            "check": partial(simulation.zookeeper.commit, [CheckOp(path, 0)]),
            "set": partial(simulation.zookeeper.commit, [SetDataOp(path, b"")]),
            "create": partial(simulation.zookeeper.commit, [CreateOp(f"{path}/z", b"")]),
            "delete": partial(simulation.zookeeper.commit, [DeleteOp(f"{path}/x")]),
        }
        assert {deed for deed, attempt in deeds.items() if await is_allowed(attempt)} == ALLOWED[right]
        assert (await simulation.zookeeper.acl(path)).acl == (
            ZnodeAclEntry("world", "anyone", right | ZnodePerms.ADMIN),
        )
        await simulation.zookeeper.set_acl(path, OPEN_ACL, 1)


async def test_an_acl_has_a_version_of_its_own(simulation: Simulation) -> None:
    """An ACL is set against that version. Changes of data and of the ACL are counted separately."""
    path = f"{simulation.root}/a"
    with pytest.raises(NoNodeError):
        await simulation.zookeeper.acl(path)
    with pytest.raises(NoNodeError):
        await simulation.zookeeper.set_acl(path, OPEN_ACL, 0)
    await simulation.zookeeper.commit([CreateOp(path, b"")])
    await simulation.zookeeper.commit([SetDataOp(path, b"")])
    found = await simulation.zookeeper.acl(path)
    assert (found.acl, found.version) == (OPEN_ACL, 0)
    read = (ZnodeAclEntry("world", "anyone", ZnodePerms.READ | ZnodePerms.ADMIN),)
    await simulation.zookeeper.set_acl(path, read, 0)
    for version in (0, 2):
        with pytest.raises(BadVersionError):
            await simulation.zookeeper.set_acl(path, OPEN_ACL, version)
    assert await simulation.zookeeper.acl(path) == ZnodeAcl(read, 1)
    assert (await simulation.zookeeper.get(path)).version == 1
    await simulation.zookeeper.set_acl(path, (ZnodeAclEntry("world", "anyone", ZnodePerms.READ),), 1)
    with pytest.raises(NotAllowedError):
        await simulation.zookeeper.set_acl(path, OPEN_ACL, 2)


async def test_a_session_without_an_identity_makes_nothing_its_own(simulation: Simulation) -> None:
    """ZooKeeper refuses the scheme `auth`, and the whole transaction with it."""
    with pytest.raises(ZnodeError, match=r"must have authenticated this client|refuses its ACL"):
        await simulation.zookeeper.commit(
            [
                CreateOp(f"{simulation.root}/a", b""),
                CreateOp(f"{simulation.root}/b", b"", acl=CREATOR_ALL_ACL),
            ]
        )
    with pytest.raises(ZnodeError):
        await simulation.zookeeper.ensure(f"{simulation.root}/c", CREATOR_ALL_ACL)
    assert await simulation.zookeeper.children(simulation.root) == ()
