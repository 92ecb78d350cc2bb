"""The registry's operations, on ZooKeeper and on the fake one."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

import pytest

from nncache.coordination.acl import ALL, OPEN_ACL, ZnodeAclEntry, ZnodePerms
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.registry.access import AccessPolicy, ZooKeeperIdentity, digest_account
from nncache.registry.errors import (
    FileAlreadyExistsError,
    InvalidPathnameError,
    InvalidRecordError,
    NoChildrenForEphemeralsError,
    NoPathPermissionsError,
    NoRecordError,
    PathIsNotEmptyDirectoryError,
    PathNotFoundError,
    RecordChangedError,
    RegistryIOError,
)
from nncache.registry.operations import PER_CALL, Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.record_json import encode_record
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.registry.samples import WEBHDFS, fake_registry, real_registry, registry_over

OTHER = replace(WEBHDFS, description="another")


@pytest.fixture(params=["fake", "real"])
async def registry(request: pytest.FixtureRequest) -> AsyncIterator[Registry]:
    """Yield a registry with its root, /users and /services."""
    if request.param == "fake":
        fake = fake_registry()
        await fake.make_root()
        yield fake
        return
    async with real_registry(request.getfixturevalue("cluster")) as real:
        yield real


async def test_what_is_bound_is_resolved(registry: Registry) -> None:
    """`stat`, `exists` and `list` show it as well."""
    await registry.bind("/services/hdfs", WEBHDFS)
    assert await registry.resolve("services/hdfs/") == WEBHDFS
    status = await registry.stat("/services/hdfs")
    assert (status.path, status.children, status.version) == ("/services/hdfs", 0, 0)
    assert status.size_bytes > 100
    assert await registry.exists("/services/hdfs")
    assert not await registry.exists("/services/yarn")
    assert await registry.list("/") == ("services", "users")
    assert await registry.list("/services") == ("hdfs",)


async def test_a_second_bind_must_ask_to_overwrite(registry: Registry) -> None:
    """Otherwise the first record remains."""
    await registry.bind("/services/hdfs", WEBHDFS)
    with pytest.raises(FileAlreadyExistsError, match="/services/hdfs: the entry is there already"):
        await registry.bind("/services/hdfs", OTHER)
    assert await registry.resolve("/services/hdfs") == WEBHDFS
    await registry.bind("/services/hdfs", OTHER, overwrite=True)
    assert await registry.resolve("/services/hdfs") == OTHER
    await registry.bind("/services/yarn", OTHER, overwrite=True)
    assert await registry.resolve("/services/yarn") == OTHER


async def test_what_is_above_must_be_there(registry: Registry) -> None:
    """This holds for entries with and without a record; `mknode` creates the parents on request."""
    with pytest.raises(PathNotFoundError):
        await registry.bind("/users/joe/hbase/demo1", WEBHDFS)
    with pytest.raises(PathNotFoundError):
        await registry.mknode("/users/joe/hbase")
    assert await registry.mknode("/users/joe/hbase", create_parents=True)
    assert not await registry.mknode("/users/joe/hbase")
    await registry.bind("/users/joe/hbase/demo1", WEBHDFS)
    assert not await registry.mknode("/users/joe/hbase/demo1", create_parents=True)
    assert await registry.resolve("/users/joe/hbase/demo1") == WEBHDFS


async def test_an_entry_may_be_missing_or_hold_no_record(registry: Registry) -> None:
    """Its record may also be broken; each case has its own error."""
    for call in (registry.resolve, registry.stat, registry.list):
        with pytest.raises(PathNotFoundError):
            await call("/services/hdfs")
    with pytest.raises(NoRecordError):
        await registry.resolve("/services")
    await registry.zookeeper.commit([CreateOp(registry.znode("/services/x"), b'{"type":"JSONServiceRecord"')])
    with pytest.raises(InvalidRecordError, match="/services/x: the record is no JSON"):
        await registry.resolve("/services/x")


async def test_nothing_wrong_is_written(registry: Registry) -> None:
    """Neither an invalid path nor a record beyond the limits is written."""
    with pytest.raises(InvalidPathnameError, match="'HDFS'"):
        await registry.bind("/services/HDFS", WEBHDFS)
    with pytest.raises(InvalidPathnameError):
        await registry.mknode("/services/a_b")
    with pytest.raises(InvalidRecordError, match="description"):
        await registry.bind("/services/hdfs", ServiceRecord(description="x" * 2000))
    assert await registry.list("/services") == ()


async def test_delete(registry: Registry) -> None:
    """One entry, or its whole subtree; a missing one is no error, as in Hadoop."""
    await registry.mknode("/users/joe/hbase/demo1/components/c1", create_parents=True)
    with pytest.raises(PathIsNotEmptyDirectoryError, match="recursive"):
        await registry.delete("/users/joe")
    assert await registry.delete("/users/joe/hbase/demo1/components/c1")
    assert not await registry.delete("/users/joe/hbase/demo1/components/c1")
    assert await registry.delete("/users/joe", recursive=True)
    assert not await registry.delete("/users/joe", recursive=True)
    assert await registry.list("/users") == ()
    with pytest.raises(NoPathPermissionsError, match="root"):
        await registry.delete("/", recursive=True)


async def test_a_version_keeps_a_write_from_undoing_another(registry: Registry) -> None:
    """`bind` and `delete` take the version that was read."""
    await registry.bind("/services/hdfs", WEBHDFS)
    read = await registry.read("/services/hdfs")
    await registry.bind("/services/hdfs", OTHER, version=read.status.version)
    for stale in (
        registry.bind("/services/hdfs", WEBHDFS, version=read.status.version),
        registry.delete("/services/hdfs", version=read.status.version),
    ):
        with pytest.raises(RecordChangedError):
            await stale
    assert await registry.resolve("/services/hdfs") == OTHER
    with pytest.raises(PathNotFoundError):
        await registry.bind("/services/yarn", OTHER, version=0)
    assert await registry.delete("/services/hdfs", version=1)


async def test_updates_at_once_lose_nothing(registry: Registry) -> None:
    """Each concurrent update adds its own attribute."""
    await registry.bind("/services/hdfs", ServiceRecord())

    def adding(name: str, record: ServiceRecord) -> ServiceRecord:
        return replace(record, attributes={**record.attributes, name: "x"})

    async with asyncio.TaskGroup() as tasks:
        for number in range(10):
            tasks.create_task(
                registry.update("/services/hdfs", lambda record, name=f"a{number}": adding(name, record))  # type: ignore[misc]  # mypy cannot infer a lambda with a default
            )
    assert set((await registry.resolve("/services/hdfs")).attributes) == {f"a{n}" for n in range(10)}


async def test_an_update_needs_a_record(registry: Registry) -> None:
    """The new record must be within the limits as well."""
    with pytest.raises(NoRecordError):
        await registry.update("/services", lambda record: record)
    await registry.bind("/services/hdfs", WEBHDFS)
    with pytest.raises(InvalidRecordError):
        await registry.update("/services/hdfs", lambda record: replace(record, description="x" * 2000))
    assert await registry.update("/services/hdfs", lambda _: OTHER) == OTHER
    assert await registry.resolve("/services/hdfs") == OTHER


async def test_names_of_other_clients_are_read_and_deleted(registry: Registry) -> None:
    """Hadoop's own client creates any names."""
    await registry.zookeeper.commit([CreateOp(registry.znode("/users/joe smith"), b"10.0.0.7")])
    assert await registry.list("/users") == ("joe smith",)
    with pytest.raises(NoRecordError):
        await registry.resolve("/users/joe smith")
    assert await registry.delete("/users/joe smith")


async def test_nothing_is_made_below_an_ephemeral_znode(registry: Registry) -> None:
    """ZooKeeper allows no children there."""
    await registry.zookeeper.commit([CreateOp(registry.znode("/services/e"), b"", ephemeral=True)])
    with pytest.raises(NoChildrenForEphemeralsError):
        await registry.bind("/services/e/x", WEBHDFS)
    await registry.delete("/services/e")


async def test_accessors_have_no_effect_in_an_open_registry(registry: Registry) -> None:
    """Hadoop's client does the same."""
    assert not registry.add_write_accessor("id", "pass")
    with pytest.raises(ValueError, match="a password"):
        registry.add_write_accessor("id", "")
    registry.clear_write_accessors()
    await registry.bind("/services/hdfs", WEBHDFS)
    assert (await registry.zookeeper.acl(registry.znode("/services/hdfs"))).acl == OPEN_ACL


async def test_a_secure_registry_protects_what_is_made() -> None:
    """For the creator and the accessors of that time, and the home's user; any other client is refused."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    yarn, nn = ZooKeeperIdentity("sasl", "yarn@R"), ZooKeeperIdentity("sasl", "nn@R")
    policy = AccessPolicy((yarn,), "R")
    as_yarn = Registry(server.session(frozenset({("sasl", "yarn@R")})), "/registry", policy)
    await as_yarn.make_root()
    assert await as_yarn.make_home("joe") == "/users/joe"
    assert (await as_yarn.zookeeper.acl("/registry/users/joe")).acl == policy.home_acl("joe")

    as_joe = Registry(server.session(frozenset({("sasl", "joe@R")})), "/registry", policy)
    assert as_joe.add_write_accessor("id", "pass")
    await as_joe.mknode("/users/joe/hbase")
    as_joe.clear_write_accessors()
    await as_joe.bind("/users/joe/hbase/demo1", WEBHDFS)
    accessor = digest_account("id", "pass").entry(ALL)
    assert accessor in (await as_joe.zookeeper.acl("/registry/users/joe/hbase")).acl
    assert accessor not in (await as_joe.zookeeper.acl("/registry/users/joe/hbase/demo1")).acl

    as_other = Registry(server.session(frozenset({(nn.scheme, nn.id)})), "/registry", policy)
    assert await as_other.resolve("/users/joe/hbase/demo1") == WEBHDFS
    for attempt in (
        as_other.bind("/users/joe/hbase/demo1", OTHER, overwrite=True),
        as_other.bind("/users/joe/hbase/demo2", OTHER),
        as_other.delete("/users/joe/hbase", recursive=True),
        as_joe.bind("/services/hdfs", WEBHDFS),
    ):
        with pytest.raises(NoPathPermissionsError):
            await attempt


async def test_an_entry_that_may_not_be_read_is_left_out_of_many() -> None:
    """The others are returned; a query for that entry alone gets the reason."""
    registry = fake_registry()
    await registry.make_root()
    await registry.bind("/services/hdfs", WEBHDFS)
    await registry.mknode("/services/secret")
    await registry.zookeeper.set_acl(
        "/registry/services/secret", (ZnodeAclEntry("sasl", "yarn", ZnodePerms.READ),), 0
    )
    names = ("/services/secret", "/services/none", "/services/hdfs", *["/users"] * PER_CALL)
    found = await registry.stat_all(names)
    assert [status.path for status in found] == ["/services/hdfs", *["/users"] * PER_CALL]
    with pytest.raises(NoPathPermissionsError, match="see zookeeper_sasl"):
        await registry.stat("/services/secret")


async def test_the_outcome_of_a_write_without_an_answer_is_unknown() -> None:
    """The write may have been carried out."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    registry = await registry_over(server.session())
    server.lose_next_commit(after=True)
    with pytest.raises(RegistryIOError, match="not known"):
        await registry.bind("/services/hdfs", WEBHDFS)
    assert await registry.resolve("/services/hdfs") == WEBHDFS


class Meddled(FakeSession):
    """A session in which another client acts before each write."""

    def __init__(self, server: FakeZooKeeper, meddle: Callable[[str], None]) -> None:
        super().__init__(server)
        self._meddle = meddle

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Let the other client act first."""
        self._meddle(operations[0].path)
        await super().commit(operations)


async def test_endless_changes_of_others_end_a_call() -> None:
    """Each call ends in bounded time, with the reason."""
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    path, data = "/registry/services/hdfs", encode_record(WEBHDFS)
    await registry_over(server.session())  # creates the root before another client acts

    def change(*operations: ZnodeOp) -> None:
        server.tree.commit(operations, 0)

    def there_and_gone(_: str) -> None:
        change(DeleteOp(path) if server.tree.exists(path) else CreateOp(path, data))

    def written(_: str) -> None:
        change(SetDataOp(path, data))

    def with_a_child(written_path: str) -> None:
        if written_path == path and not server.tree.exists(f"{path}/x"):
            change(CreateOp(f"{path}/x", b""))

    registry = await registry_over(Meddled(server, there_and_gone))
    with pytest.raises(RecordChangedError, match="20 times"):
        await registry.bind("/services/hdfs", OTHER, overwrite=True)
    change(CreateOp(path, data))
    registry = await registry_over(Meddled(server, written))
    with pytest.raises(RecordChangedError, match="20 times"):
        await registry.update("/services/hdfs", lambda _: OTHER)
    registry = await registry_over(Meddled(server, with_a_child))
    with pytest.raises(PathIsNotEmptyDirectoryError, match="again and again"):
        await registry.delete("/services/hdfs", recursive=True)
