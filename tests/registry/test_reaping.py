"""Which records one run of the reaper deletes and keeps, while other clients act."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from nncache.coordination.acl import OPEN_ACL, ZnodeAclEntry, ZnodePerms
from nncache.coordination.errors import ConnectionLostError, NoNodeError
from nncache.coordination.zookeeper import CreateOp, ZnodeAcl
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity
from nncache.registry.auditing import audit_tree
from nncache.registry.errors import (
    InvalidRecordError,
    NoPathPermissionsError,
    PathNotFoundError,
    RegistryError,
    RegistryIOError,
    ResourceManagerError,
)
from nncache.registry.operations import REFUSED, Registry
from nncache.registry.purge_plan import KeptEntry
from nncache.registry.reaping import Reaped, Reaping, reap
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record
from nncache.registry.resource_manager import ActiveResourceManager, ResourceManagers
from nncache.registry.yarn_states import UnknownIdTerms
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.registry.fake_resource_manager import FakeResourceManager, served
from tests.registry.samples import WEBHDFS, fake_registry, registry_over
from tests.registry.samples import yarn_record as of

ENDED = "application_1408631738011_0001"
RUNS = "application_1408631738011_0002"
UNKNOWN = "application_1408631738011_0003"
ATTEMPT = "appattempt_1408631738011_0002_000001"
LIVE = "container_1408631738011_0002_01_000002"
COMPLETE = "container_1408631738011_0002_01_000003"
CHANGED = "another client has changed it since it was read"


@pytest.fixture
def manager() -> Iterator[FakeResourceManager]:
    """Yield a ResourceManager with one ended and one running application."""
    applications = {ENDED: "KILLED", RUNS: "RUNNING"}
    fake = FakeResourceManager(
        applications=applications, attempts={ATTEMPT: "RUNNING"}, containers={LIVE: "RUNNING"}
    )
    with served(fake):
        yield fake


@pytest.fixture
async def registry() -> Registry:
    """Return a registry with records of all kinds."""
    registry = fake_registry()
    await registry.make_root()
    await registry.mknode("/users/joe/web/a/components", create_parents=True)
    await registry.mknode("/users/joe/web/b/components", create_parents=True)
    await registry.bind("/services/hdfs", ServiceRecord())
    for path, policy, yarn_id in (
        ("/users/joe/web/a", "application", ENDED),
        ("/users/joe/web/a/components/c1", "container", "container_1408631738011_0001_01_000002"),
        ("/users/joe/web/b", "application", RUNS),
        ("/users/joe/web/b/components/c2", "container", LIVE),
        ("/users/joe/web/b/components/c3", "container", COMPLETE),
        ("/users/joe/web/c", "application", UNKNOWN),
        ("/users/joe/web/d", "application-attempt", ATTEMPT),
        ("/users/joe/web/e", "application", "mine"),
    ):
        await registry.bind(path, of(policy, yarn_id), overwrite=True)
    return registry


async def everything(registry: Registry, path: str = "/") -> set[str]:
    """Return all paths."""
    found = {path}
    for name in await registry.list(path):
        found |= await everything(registry, f"{path.rstrip('/')}/{name}")
    return found


Act = Callable[[], Awaitable[object]]


class Meanwhile(ResourceManagers):
    """Another client acts before the last query to the ResourceManager."""

    act: Act | None = None

    async def check_unchanged(self, active: ActiveResourceManager) -> None:
        """Let the other client act first."""
        if self.act is not None:
            await self.act()
        await super().check_unchanged(active)


@asynccontextmanager
async def asking(manager: FakeResourceManager, act: Act | None = None) -> AsyncIterator[ResourceManagers]:
    """Yield a client of the fake."""
    async with aiohttp.ClientSession() as http:
        managers = Meanwhile(http, [manager.url], timeout_s=60.0)
        managers.act = act
        yield managers


async def reaped(
    registry: Registry, manager: FakeResourceManager, act: Act | None = None, *, delete: bool = True
) -> Reaping:
    """Run the reaper once."""
    async with asking(manager, act) as managers:
        return await reap(registry, managers, "/", UnknownIdTerms(), delete=delete)


def why(found: Reaping) -> dict[str, str]:
    """Return the reason for each kept entry."""
    return {each.path: each.why for each in found.kept}


async def test_what_has_ended_goes_and_all_else_stays(
    registry: Registry, manager: FakeResourceManager
) -> None:
    """Each kept entry has a reason; a dry run reports the same and changes nothing."""
    before = await everything(registry)
    planned = await reaped(registry, manager, delete=False)
    assert await everything(registry) == before
    assert planned.gone == (
        Reaped("/users/joe/web/a/components/c1", f"{ENDED} is KILLED"),
        Reaped("/users/joe/web/b/components/c3", f"{COMPLETE} is no live container, while {RUNS} is RUNNING"),
        Reaped("/users/joe/web/a/components", ""),
        Reaped("/users/joe/web/a", f"{ENDED} is KILLED"),
    )
    assert [(each.path, each.runs) for each in planned.kept] == [
        ("/users/joe/web/b", True),
        ("/users/joe/web/b/components/c2", True),
        ("/users/joe/web/c", False),
        ("/users/joe/web/d", True),
        ("/users/joe/web/e", False),
    ]
    assert f"does not know {UNKNOWN}" in why(planned)["/users/joe/web/c"]
    assert await reaped(registry, manager) == planned
    assert before - await everything(registry) == {each.path for each in planned.gone}


async def test_each_page_is_asked_for_once(registry: Registry, manager: FakeResourceManager) -> None:
    """The number of an application's records has no influence."""
    await reaped(registry, manager)
    asked = Counter(manager.asked)
    assert asked.pop("/info") == 2
    assert asked == dict.fromkeys(asked, 1)
    assert f"/apps/{RUNS}/appattempts" in asked


async def test_an_entry_that_may_not_be_read_stays(registry: Registry, manager: FakeResourceManager) -> None:
    """Its ancestors remain as well, and it is named; other ended records are removed."""
    secret = "/users/joe/web/a/components/c1"
    await registry.zookeeper.set_acl(
        registry.znode(secret), (ZnodeAclEntry("sasl", "joe", ZnodePerms.READ),), 0
    )
    found = await reaped(registry, manager)
    assert [each.path for each in found.gone] == ["/users/joe/web/b/components/c3"]
    assert why(found)[secret] == f"it cannot be read: {REFUSED}"
    assert why(found)["/users/joe/web/a"] == f"{secret}, which is below it, cannot be read"


async def test_a_live_container_keeps_its_applications_record(
    registry: Registry, manager: FakeResourceManager
) -> None:
    """An unreadable record below it has the same effect."""
    await registry.bind("/users/joe/web/a/components/c4", of("container", LIVE))
    znode = registry.znode("/users/joe/web/a/components/c5")
    await registry.zookeeper.commit([CreateOp(znode, b'{"type":"JSONServiceRecord"')])
    found = await reaped(registry, manager)
    stays = why(found)
    assert stays["/users/joe/web/a"].endswith("/c4, which is below it, is not known to have ended")
    assert stays["/users/joe/web/a/components/c5"].startswith("it cannot be read: the record is no JSON")
    assert not await registry.exists("/users/joe/web/a/components/c1")


async def bound(registry: Registry, path: str) -> None:
    """Replace the entry's record."""
    await registry.bind(path, of("application", RUNS), overwrite=True)


async def made_again(registry: Registry, path: str) -> None:
    """Delete and create the entry; its version equals the one that was read, as in the next run of a service."""
    version = (await registry.stat(path)).version
    await registry.delete(path)
    await registry.bind(path, of("container", LIVE))
    assert (await registry.stat(path)).version == version


async def broken(registry: Registry, path: str) -> None:
    """Create the entry again without a record."""
    await registry.delete(path)
    await registry.zookeeper.commit([CreateOp(registry.znode(path), b"")])


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("/users/joe/web/a", bound),
        ("/users/joe/web/a/components", bound),
        ("/users/joe/web/a/components/c1", made_again),
        ("/users/joe/web/a/components/c1", broken),
    ],
)
async def test_an_entry_that_changed_since_it_was_read_stays(
    registry: Registry,
    manager: FakeResourceManager,
    path: str,
    change: Callable[[Registry, str], Awaitable[None]],
) -> None:
    """Its ancestors remain as well; the new record may belong to something else."""
    found = why(await reaped(registry, manager, lambda: change(registry, path)))
    assert found[path] == CHANGED
    assert await registry.exists(path)
    assert await registry.exists("/users/joe/web/a")
    if path.endswith("/c1"):
        assert found["/users/joe/web/a/components"] == "there are entries below it that stay"
    else:
        assert not await registry.exists("/users/joe/web/a/components/c1")


async def test_an_entry_that_another_client_has_deleted_is_gone(
    registry: Registry, manager: FakeResourceManager
) -> None:
    """The result is the intended one."""
    found = await reaped(registry, manager, lambda: registry.delete("/users/joe/web/a", recursive=True))
    assert not await registry.exists("/users/joe/web/a")
    assert "/users/joe/web/a" not in why(found)


class Beset(Registry):
    """A registry in which a function runs before the deletion of each entry named c3."""

    def __init__(self, registry: Registry, before: Act) -> None:
        super().__init__(registry.zookeeper, registry.root, registry.access)
        self._before = before

    async def delete(self, path: str, *, recursive: bool = False, version: int | None = None) -> bool:
        """Delete an entry, after the function for c3."""
        if path.endswith("/c3"):
            await self._before()
        return await super().delete(path, recursive=recursive, version=version)


async def test_a_write_in_the_last_moment_is_kept(registry: Registry, manager: FakeResourceManager) -> None:
    """Entries are deleted with their version."""
    path = "/users/joe/web/b/components/c3"
    found = await reaped(Beset(registry, lambda: registry.update(path, lambda record: record)), manager)
    assert why(found)[path] == CHANGED
    assert await registry.exists(path)


async def test_what_zookeeper_refuses_is_named(registry: Registry, manager: FakeResourceManager) -> None:
    """All other entries are deleted."""
    path = "/users/joe/web/b/components/c3"

    async def refuse() -> None:
        raise NoPathPermissionsError(path, "refused")

    found = await reaped(Beset(registry, refuse), manager)
    assert KeptEntry(path, "refused") in found.kept
    assert not await registry.exists("/users/joe/web/a")


async def restarted(manager: FakeResourceManager) -> None:
    """Change the time since which it is active."""
    manager.started_on += 1


async def standby(manager: FakeResourceManager) -> None:
    """Make it a standby."""
    manager.ha_state = "STANDBY"


@pytest.mark.parametrize("act", [restarted, standby])
async def test_nothing_is_deleted_after_an_rm_change(
    registry: Registry, manager: FakeResourceManager, act: Callable[[FakeResourceManager], Awaitable[None]]
) -> None:
    """Some replies may come from one that does not know everything yet."""
    before = await everything(registry)
    with pytest.raises(ResourceManagerError):
        await reaped(registry, manager, lambda: act(manager))
    assert await everything(registry) == before


@pytest.mark.parametrize("delete", [False, True])
async def test_nothing_is_deleted_without_a_resource_manager(
    registry: Registry, manager: FakeResourceManager, delete: bool
) -> None:
    """It is a standby, and names no active one."""
    manager.ha_state = "STANDBY"
    before = await everything(registry)
    with pytest.raises(RegistryError, match="none is an active ResourceManager"):
        await reaped(registry, manager, delete=delete)
    assert await everything(registry) == before


async def test_a_path_without_an_entry_is_an_error(registry: Registry, manager: FakeResourceManager) -> None:
    """The path may be misspelt."""
    async with asking(manager) as managers:
        with pytest.raises(PathNotFoundError):
            await reap(registry, managers, "/users/jo", UnknownIdTerms(), delete=True)


YARN = ("sasl", "yarn@R")
SECURE = AccessPolicy((ZooKeeperIdentity(*YARN),), "R")


async def test_records_and_names_of_an_open_registry() -> None:
    """The faults are a broken record, one beyond a limit, and a name that is no host name; others are not reported."""
    registry = fake_registry()
    await registry.make_root()
    await registry.bind("/services/hdfs", WEBHDFS)
    assert await audit_tree(registry, "/") == {}
    await registry.zookeeper.commit(
        [
            CreateOp(registry.znode("/services/x"), b'{"type":"JSONServiceRecord"'),
            CreateOp(registry.znode("/services/Y"), encode_record(ServiceRecord(description="x" * 2000))),
        ]
    )
    faults = await audit_tree(registry, "/services")
    assert list(faults) == ["/services/Y", "/services/x"]
    assert [fault.split()[0] for fault in faults["/services/Y"]] == ["description", "the"]
    with pytest.raises(PathNotFoundError):
        await audit_tree(registry, "/nowhere")


async def test_a_uri_that_is_none_is_named() -> None:
    """It would break readers; nncache does not bind it."""
    registry = fake_registry()
    await registry.make_root()
    broken = ServiceRecord(external=(uri_endpoint("org.prometheus.metrics", "http", "http://[x/"),))
    with pytest.raises(InvalidRecordError, match="which is no URI"):
        await registry.bind("/services/x", broken)
    await registry.zookeeper.commit([CreateOp(registry.znode("/services/x"), encode_record(broken))])
    fault = "external[0].addresses[0].uri is 'http://[x/', which is no URI"
    assert await audit_tree(registry, "/") == {"/services/x": (fault,)}


async def test_acls_of_a_secure_registry() -> None:
    """Each difference from the design is reported."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    registry = Registry(server.session(frozenset({YARN})), "/registry", SECURE)
    await registry.make_root()
    await registry.make_home("joe")
    await registry.bind("/services/hdfs", WEBHDFS)
    assert await audit_tree(registry, "/") == {}
    await registry.zookeeper.commit([CreateOp("/registry/services/open", b"", acl=OPEN_ACL)])
    faults = await audit_tree(registry, "/")
    assert list(faults) == ["/services/open"]
    assert len(faults["/services/open"]) == 2


async def test_an_entry_that_may_not_be_read_is_a_fault() -> None:
    """It has one fault, and others have none; in a secure registry its ACL is not readable either."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    registry = Registry(server.session(frozenset({YARN})), "/registry", SECURE)
    await registry.make_root()
    await registry.mknode("/services/secret")
    await registry.zookeeper.set_acl(
        "/registry/services/secret", (ZnodeAclEntry("sasl", "joe@R", ZnodePerms.READ),), 0
    )
    for access in (SECURE, AccessPolicy()):
        seen = Registry(registry.zookeeper, "/registry", access)
        assert await audit_tree(seen, "/") == {"/services/secret": (REFUSED,)}


class Failing(FakeSession):
    """A session in which reading an ACL fails."""

    def __init__(self, server: FakeZooKeeper, failure: Callable[[str], Exception]) -> None:
        super().__init__(server, frozenset({YARN}))
        self._failure = failure

    async def acl(self, path: str) -> ZnodeAcl:
        """Raise the failure."""
        raise self._failure(path)


async def test_an_entry_that_goes_meanwhile_has_no_faults() -> None:
    """A lost connection, however, is an error."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    registry = await registry_over(Failing(server, NoNodeError), SECURE)
    assert await audit_tree(registry, "/") == {}
    lost = await registry_over(Failing(server, ConnectionLostError), SECURE)
    with pytest.raises(RegistryIOError, match="its ACL could not be read"):
        await audit_tree(lost, "/")
