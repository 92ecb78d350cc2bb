"""The probe reads as much of ZooKeeper as it may, and writes nothing."""

import asyncio
from collections.abc import Awaitable, Callable

from nncache.checks.facts import RegistryFound, Trouble, ZooKeeperFound
from nncache.checks.registry_probe import look_at_registry
from nncache.checks.zookeeper_probe import read_tree
from nncache.coordination.acl import OPEN_ACL, ZnodeAclEntry, ZnodePerms
from nncache.coordination.zookeeper import CreateOp, SetDataOp
from nncache.invalidation.channel.published_filters import PublishedFilter, encode_published_filter
from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity
from nncache.registry.daemon_record import PLACE, PROXY, RegisteredDaemon
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.virtual_time import clock
from tests.processes import free_address
from tests.registry.samples import fake_registry

ROOT = "/HDFSInotifyRoot"
FILTER = PublishedFilter(
    name="a", id="1", path_glob="/a", since_txid=1, owner="joe", allowed_subscribers=("joe",)
)
PUBLISHER = PublisherIdentity(id="1", host="h", pid=7, admin="h:9873")


def read(prepare: Callable[[FakeSession], Awaitable[None]], nameservice: str = "ns1") -> ZooKeeperFound:
    """Return the result of the probe for a prepared tree."""
    found: list[ZooKeeperFound] = []

    async def story() -> None:
        server = FakeZooKeeper(clock)
        writer = server.session()
        await prepare(writer)
        before = server.tree.paths
        found.append(await read_tree(server.session(), ROOT, nameservice))
        assert server.tree.paths == before

    virtual_time.run(story())
    return found[0]


async def nothing(_: FakeSession) -> None:
    """Leave the tree empty."""


async def publish(writer: FakeSession) -> None:
    """Create the znodes of a publisher."""
    await writer.ensure(ROOT)
    await writer.commit(
        [
            CreateOp(f"{ROOT}/ns1", b"BP-1"),
            CreateOp(f"{ROOT}/ns1/.publisher", encode_identity(PUBLISHER), ephemeral=True),
            CreateOp(f"{ROOT}/ns1/.filters", b"1"),
            CreateOp(f"{ROOT}/ns1/.filters/a", encode_published_filter(FILTER)),
            CreateOp(f"{ROOT}/ns1/.filters/b", b"odd"),
            CreateOp(f"{ROOT}/ns1/.cache", b"9"),
        ]
    )


def test_an_empty_zookeeper() -> None:
    """Not even the root exists."""
    assert read(nothing) == ZooKeeperFound()


def test_other_roots_are_named_where_this_one_has_nothing() -> None:
    """A tree of nncache is recognized by the znodes of its nameservices."""

    async def elsewhere(writer: FakeSession) -> None:
        for path in ("/hbase", "/hbase/rs", "/other", "/other/ns7"):
            await writer.ensure(path)
        await writer.commit([CreateOp("/other/ns7/.cache", b"9")])

    assert read(elsewhere) == ZooKeeperFound(elsewhere=("/other/ns7",))

    async def beside_an_empty_root(writer: FakeSession) -> None:
        await elsewhere(writer)
        await writer.ensure(ROOT)

    assert read(beside_an_empty_root) == ZooKeeperFound(has_root=True, elsewhere=("/other/ns7",))


def test_a_published_nameservice() -> None:
    """The probe finds its namespace, publisher, position and filters in force."""
    found = read(publish)
    assert (found.has_root, found.nameservices, found.block_pool) == (True, ("ns1",), "BP-1")
    assert (found.publisher, found.has_publisher) == (PUBLISHER, True)
    assert (found.txid, found.has_moved) == (9, False)
    assert found.filters == (FILTER,)
    assert [*found.bad_filters] == ["b"]
    assert found.silence == ""


def test_a_persistent_znode_is_no_publisher() -> None:
    """A client may have created it by hand."""

    async def plant(writer: FakeSession) -> None:
        await writer.ensure(f"{ROOT}/ns1/.filters")
        await writer.commit([CreateOp(f"{ROOT}/ns1/.publisher", encode_identity(PUBLISHER))])

    found = read(plant)
    assert (found.publisher, found.has_publisher) == (None, False)


def test_another_nameservice_is_not_there() -> None:
    """The existing ones are listed."""
    found = read(publish, "nsl")
    assert (found.nameservices, found.block_pool, found.has_publisher) == (("ns1",), None, False)


def test_half_a_tree_is_read_as_far_as_it_goes() -> None:
    """A publisher has just started, or another client created the root."""

    async def begin(writer: FakeSession) -> None:
        await writer.ensure(f"{ROOT}/ns1/.filters")

    found = read(begin)
    assert (found.block_pool, found.txid, found.has_publisher, found.silence) == ("", None, False, "")


def test_a_cache_that_is_written_moves() -> None:
    """The watch notices a write within its time, and reports the newer txid."""

    async def story() -> None:
        server = FakeZooKeeper(clock)
        writer = server.session()
        await publish(writer)
        seen: list[ZooKeeperFound] = []

        async def look() -> None:
            seen.append(await read_tree(server.session(), ROOT, "ns1"))

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(look())
            await asyncio.sleep(1.0)
            await writer.commit([SetDataOp(f"{ROOT}/ns1/.cache", b"12")])
        assert (seen[0].has_moved, seen[0].txid) == (True, 12)

    virtual_time.run(story())


OURS = RegisteredDaemon(
    kind=PROXY, host="p", port=80, webhdfs=("http://p:80/webhdfs/v1",), admin="http://p:81/"
)
BEFORE = RegistryFound(host="p", path=OURS.path, at="p:80")


async def filled() -> Registry:
    """Return a registry with the parent of the daemons' entries."""
    registry = fake_registry()
    await registry.make_root()
    await registry.mknode(PLACE, create_parents=True)
    return registry


async def test_nothing_is_there() -> None:
    """Not even the root exists."""
    assert await look_at_registry(fake_registry(), BEFORE, "hdfs") == BEFORE


async def test_the_entry_of_a_daemon_with_the_acls_above_it() -> None:
    """The result has the record, or the reason why it is missing."""
    registry = await filled()
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert [*seen.acls] == ["/", "/services", "/services/nncache", PLACE]
    assert set(seen.acls.values()) == {OPEN_ACL}
    assert (seen.record, seen.fault, seen.silence) == (None, "", "")
    await registry.bind(OURS.path, OURS.record)
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert [*seen.acls][-1] == OURS.path
    assert seen.record == OURS.record
    await registry.zookeeper.commit([SetDataOp(registry.znode(OURS.path), b'{"JSONServiceRecord')])
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert seen.record is None
    assert seen.fault
    assert (await look_at_registry(registry, RegistryFound(), "hdfs")).fault == ""


async def test_other_daemons_are_looked_for() -> None:
    """Each is contacted at its recorded address, except our own entry and one without an address."""
    registry, gone = await filled(), free_address()
    await registry.bind(OURS.path, OURS.record)
    other = RegisteredDaemon(
        kind=PROXY, host="127.0.0.1", port=1, webhdfs=(f"http://{gone}/x",), admin="http://h/"
    )
    await registry.bind(other.path, other.record)
    odd = ServiceRecord(internal=(uri_endpoint("io.nncache.admin", "x", "http://[/"),))
    await registry.zookeeper.commit([CreateOp(registry.znode(f"{PLACE}/odd"), encode_record(odd))])
    await registry.bind(f"{PLACE}/empty", ServiceRecord())
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert [*seen.others] == [other.path]
    assert seen.others[other.path].trouble is Trouble.UNREACHABLE


async def test_what_may_not_be_read() -> None:
    """The fault is reported together with the readable parts."""
    registry = await filled()
    hidden = (ZnodeAclEntry("world", "anyone", ZnodePerms.DELETE),)
    await registry.zookeeper.commit([CreateOp(registry.znode(OURS.path), b"", acl=hidden)])
    seen = await look_at_registry(registry, BEFORE, "hdfs")
    assert seen.acls[OURS.path] == ()
    assert seen.fault
