"""What ZooKeeper holds is read, as much as may be read, and nothing is written."""

import asyncio
from collections.abc import Awaitable, Callable

from nncache.checks.facts import ZooKeeperFound
from nncache.checks.zookeeper_probe import read_tree
from nncache.coordination.zookeeper import Create, SetData
from nncache.invalidation.channel.published_filters import PublishedFilter, encode_published_filter
from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.virtual_time import clock

ROOT = "/HDFSInotifyRoot"
FILTER = PublishedFilter(
    name="a", id="1", path_glob="/a", since_txid=1, owner="joe", allowed_subscribers=("joe",)
)
PUBLISHER = PublisherIdentity(id="1", host="h", pid=7, admin="h:9873")


def read(prepare: Callable[[FakeSession], Awaitable[None]], nameservice: str = "ns1") -> ZooKeeperFound:
    """Read a tree that was made so."""
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
    """Leave it empty."""


async def publish(writer: FakeSession) -> None:
    """Make what a publisher makes."""
    await writer.ensure(ROOT)
    await writer.commit(
        [
            Create(f"{ROOT}/ns1", b"BP-1"),
            Create(f"{ROOT}/ns1/.publisher", encode_identity(PUBLISHER), ephemeral=True),
            Create(f"{ROOT}/ns1/.filters", b"1"),
            Create(f"{ROOT}/ns1/.filters/a", encode_published_filter(FILTER)),
            Create(f"{ROOT}/ns1/.filters/b", b"odd"),
            Create(f"{ROOT}/ns1/.cache", b"9"),
        ]
    )


def test_an_empty_zookeeper() -> None:
    """There is not even a root."""
    assert read(nothing) == ZooKeeperFound()


def test_other_roots_are_named_where_this_one_has_nothing() -> None:
    """A tree of nncache's is told from those of others by what each nameservice has."""

    async def elsewhere(writer: FakeSession) -> None:
        for path in ("/hbase", "/hbase/rs", "/other", "/other/ns7"):
            await writer.ensure(path)
        await writer.commit([Create("/other/ns7/.cache", b"9")])

    assert read(elsewhere) == ZooKeeperFound(elsewhere=("/other/ns7",))

    async def beside_an_empty_root(writer: FakeSession) -> None:
        await elsewhere(writer)
        await writer.ensure(ROOT)

    assert read(beside_an_empty_root) == ZooKeeperFound(has_root=True, elsewhere=("/other/ns7",))


def test_a_published_nameservice() -> None:
    """Its namespace, who publishes, how far, and which filters are in force."""
    found = read(publish)
    assert (found.has_root, found.nameservices, found.block_pool) == (True, ("ns1",), "BP-1")
    assert (found.publisher, found.has_publisher) == (PUBLISHER, True)
    assert (found.txid, found.has_moved) == (9, False)
    assert found.filters == (FILTER,)
    assert [*found.bad_filters] == ["b"]
    assert found.silence == ""


def test_a_persistent_znode_is_no_publisher() -> None:
    """A client may have made it by hand."""

    async def plant(writer: FakeSession) -> None:
        await writer.ensure(f"{ROOT}/ns1/.filters")
        await writer.commit([Create(f"{ROOT}/ns1/.publisher", encode_identity(PUBLISHER))])

    found = read(plant)
    assert (found.publisher, found.has_publisher) == (None, False)


def test_another_nameservice_is_not_there() -> None:
    """Those that are there are told."""
    found = read(publish, "nsl")
    assert (found.nameservices, found.block_pool, found.has_publisher) == (("ns1",), None, False)


def test_half_a_tree_is_read_as_far_as_it_goes() -> None:
    """A publisher that has just begun, or a place that somebody else has made."""

    async def begin(writer: FakeSession) -> None:
        await writer.ensure(f"{ROOT}/ns1/.filters")

    found = read(begin)
    assert (found.block_pool, found.txid, found.has_publisher, found.silence) == ("", None, False, "")


def test_a_cache_that_is_written_moves() -> None:
    """Within the time that it is watched; the number is the newer one."""

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
            await writer.commit([SetData(f"{ROOT}/ns1/.cache", b"12")])
        assert (seen[0].has_moved, seen[0].txid) == (True, 12)

    virtual_time.run(story())
