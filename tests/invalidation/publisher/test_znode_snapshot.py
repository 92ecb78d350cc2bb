"""read_tree: the tree as it is, whatever its size."""

import asyncio

import pytest

from nncache.coordination.zookeeper import CreateOp, SetDataOp
from nncache.invalidation.channel.znode_json import MAX_RECORD_BYTES
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.publisher.recovery import FoundTree
from nncache.invalidation.publisher.znode_snapshot import read_tree
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.virtual_time import clock

ZNODES = ZnodePaths("/inotify", "ns")


async def made(zookeeper: FakeSession, *paths: str) -> FoundTree:
    """Create these znodes, each with its own path as data, and return the tree found."""
    await zookeeper.ensure(ZNODES.namespace)
    await zookeeper.commit([CreateOp(f"{ZNODES.namespace}/{path}", path.encode()) for path in paths])
    return await read_tree(zookeeper, ZNODES)


async def test_an_empty_tree_is_read() -> None:
    """Nothing has been published yet."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        assert await made(zookeeper) == FoundTree(children=())


async def test_all_that_can_be_gone_on_from_is_read() -> None:
    """Streams with their records' names, definitions, and the newest record for caches."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        found = await made(
            *(zookeeper, ".cache", ".cache/9", ".cache/10", ".cache/else", ".filters", ".filters/f"),
            *(".filters/not a name", "f", "f/7", "orphan", ".hidden"),
        )
        assert set(found.children) == {".cache", ".filters", "f", "orphan", ".hidden"}
        assert found.cache is not None
        assert set(found.cache.children) == {"9", "10", "else"}
        assert found.newest is not None
        assert found.newest.data == b".cache/10"
        assert found.filters is not None
        assert {name: znode.data for name, znode in found.definitions.items()} == {
            "f": b".filters/f",
            "not a name": b".filters/not a name",
        }
        assert {name: stream.children for name, stream in found.streams.items()} == {
            "f": ("7",),
            "orphan": (),
        }


async def test_what_is_hidden_or_too_large_is_damaged() -> None:
    """It is returned without data, so that it is restarted or removed; neither other znodes nor memory suffer."""
    server = FakeZooKeeper(clock)
    async with server.session() as zookeeper:
        await made(zookeeper, ".filters", ".filters/f", ".filters/g", ".filters/h", "f", "f/7", "g")
        await zookeeper.commit(
            [
                SetDataOp(ZNODES.definition("g"), b"x" * (MAX_RECORD_BYTES + 1)),
                SetDataOp(ZNODES.stream("g"), b"1" * 33),
            ]
        )
        server.tree.forbidden = {ZNODES.definition("h"), ZNODES.stream("f")}
        found = await read_tree(zookeeper, ZNODES)
        data = {name: znode.data for name, znode in found.definitions.items()}
        assert data == {"f": b".filters/f", "g": b"", "h": b""}
        assert {name: stream.znode.data for name, stream in found.streams.items()} == {"f": b"", "g": b""}


async def test_a_thousand_filters_are_read_in_little_time() -> None:
    """Calls overlap, and a filter without records needs no listing of its children."""
    server = FakeZooKeeper(clock)
    async with server.session() as zookeeper:
        names = [f"f{number}" for number in range(1000)]
        await made(zookeeper, ".filters", *(f".filters/{name}" for name in names), *names)
        await made(zookeeper, *(f"{name}/{txid}" for name in names[:500] for txid in range(2)))
        calls, began_at = zookeeper.stats().calls, clock()
        found = await read_tree(zookeeper, ZNODES)
        assert sum(len(stream.children) for stream in found.streams.values()) == 1000
        assert zookeeper.stats().calls - calls < 2600
        assert clock() - began_at < 0.1


async def test_a_write_that_arrives_meanwhile_is_no_damage() -> None:
    """O3: the write is of an ended run. A value older than its newest record would restart all streams."""
    server = FakeZooKeeper(clock)
    async with server.session() as zookeeper, server.session() as late:
        await made(zookeeper, ".cache", ".cache/9", ".filters")
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read_tree(zookeeper, ZNODES))
            await asyncio.sleep(1.2 * server.latency_s)
            await late.commit([CreateOp(f"{ZNODES.cache}/10", b""), SetDataOp(ZNODES.cache, b"10")])
        found = reading.result()
        assert found.cache is not None
        assert (found.cache.znode.data, set(found.cache.children)) == (b"10", {"9", "10"})


async def test_a_tree_that_somebody_else_goes_on_writing_is_not_taken() -> None:
    """O2: two must not publish; the later one retries."""
    server = FakeZooKeeper(clock)
    async with server.session() as zookeeper, server.session() as other:
        await made(zookeeper, ".cache", ".filters")

        async def write() -> None:
            while True:
                await other.commit([SetDataOp(ZNODES.cache, b"1")])

        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(write())
            with pytest.raises(ChannelUnavailableError, match="another process"):
                await read_tree(zookeeper, ZNODES)
            writing.cancel()
