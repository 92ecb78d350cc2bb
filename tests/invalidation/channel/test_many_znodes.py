"""One znode that is hostile costs itself, and how many are held at once is bounded."""

from collections.abc import Sequence

from nncache.coordination.zookeeper import Create, Znode
from nncache.invalidation.channel.many_znodes import AT_ONCE, Refused, each_znode
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.virtual_time import clock


async def read(zookeeper: FakeSession, paths: Sequence[str]) -> dict[str, bytes | str | None]:
    """Return what was yielded, in its order: data, the path that a refusal names, or None."""
    found: dict[str, bytes | str | None] = {}
    async for path, znode in each_znode(zookeeper, paths):
        match znode:
            case Znode():
                found[path] = znode.data
            case Refused():
                found[path] = znode.error.path
            case None:
                found[path] = None
    return found


async def test_one_that_is_refused_or_gone_costs_only_itself() -> None:
    """All others come with their data, in the order asked for."""
    server = FakeZooKeeper(clock)
    server.tree.forbidden = {"/b"}
    async with server.session() as zookeeper:
        await zookeeper.commit([Create(path, path.encode()) for path in ("/a", "/b", "/c")])
        found = await read(zookeeper, ["/c", "/b", "/gone", "/a"])
        assert list(found.items()) == [("/c", b"/c"), ("/b", "/b"), ("/gone", None), ("/a", b"/a")]


async def test_many_are_read_in_bounded_lots() -> None:
    """Each call for many asks for AT_ONCE at most; one refusal has only its lot read again."""
    server = FakeZooKeeper(clock)
    paths = [f"/{number}" for number in range(2 * AT_ONCE + 1)]
    server.tree.forbidden = {paths[-1]}
    async with server.session() as zookeeper:
        await zookeeper.commit([Create(path, b"x") for path in paths])
        calls = zookeeper.stats().calls
        found = await read(zookeeper, paths)
        assert [*found] == paths
        assert zookeeper.stats().calls - calls == len(paths) + 1


async def test_none_are_none() -> None:
    """Nothing is asked."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        assert await read(zookeeper, []) == {}
