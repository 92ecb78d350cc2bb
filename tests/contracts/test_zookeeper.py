"""ZooKeeper, its fake and the embedded znodes do the same: what `nncache.coordination.zookeeper` says."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.errors import (
    BadVersionError,
    ConnectionLostError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
    NotEmptyError,
    ZnodeError,
)
from nncache.coordination.zookeeper import ANY_VERSION, Check, Create, Delete, Operation, SetData, Znodes
from nncache.testbed import Cluster
from tests.coordination.worlds import FakeWorld, RealWorld, World, connected, remove

MOMENT_S = 0.05
LONG_S = 10.0
LARGE = 900 * 1024
"""What a commit may carry (jute.maxbuffer is 1 MiB)."""

# What a commit says of a tree in which A (version 1) has a child and B is empty (version 0): "$" is the
# root, and the error names the second path.
REFUSALS: Sequence[tuple[str, Sequence[Operation], type[ZnodeError], str]] = (
    ("set what is not there", [SetData("$/X", b"")], NoNodeError, "$/X"),
    ("delete what is not there", [Delete("$/X")], NoNodeError, "$/X"),
    ("check what is not there", [Check("$/X", 0)], NoNodeError, "$/X"),
    ("check what is not there at any version", [Check("$/X", ANY_VERSION)], NoNodeError, "$/X"),
    ("create without a parent", [Create("$/X/y", b"")], NoNodeError, "$/X/y"),
    ("create what is there", [Create("$/B", b"")], NodeExistsError, "$/B"),
    ("set an older version", [SetData("$/A", b"", 0)], BadVersionError, "$/A"),
    ("set a newer version", [SetData("$/B", b"", 1)], BadVersionError, "$/B"),
    ("delete another version", [Delete("$/B", 1)], BadVersionError, "$/B"),
    ("delete another version with children", [Delete("$/A", 0)], BadVersionError, "$/A"),
    ("delete with children", [Delete("$/A", 1)], NotEmptyError, "$/A"),
    ("check another version", [Check("$/A", 0)], BadVersionError, "$/A"),
    ("the second of three", [SetData("$/B", b"new"), Delete("$/A"), Create("$/Y", b"")], NotEmptyError, "$/A"),
    ("the first of two", [Create("$/B", b""), Delete("$/X")], NodeExistsError, "$/B"),
    ("the last of all kinds", [Create("$/Y", b""), SetData("$/B", b"new"), Delete("$/A/child"), Check("$/A", 0)],
     BadVersionError, "$/A"),
    ("a version that the commit itself has made", [SetData("$/B", b"new"), SetData("$/B", b"newer", 0)],
     BadVersionError, "$/B"),
    ("what the commit itself has deleted", [Delete("$/B"), SetData("$/B", b"")], NoNodeError, "$/B"),
)  # fmt: skip


def placed(root: str, operation: Operation) -> Operation:
    """Return the operation with "$" as the root."""
    path = operation.path.replace("$", root)
    match operation:
        case Create(_, data, ephemeral):
            return Create(path, data, ephemeral)
        case SetData(_, data, version):
            return SetData(path, data, version)
        case Delete(_, version):
            return Delete(path, version)
        case Check(_, version):
            return Check(path, version)


class Place(Protocol):
    """Znodes, and a path among them that is this test's alone."""

    @property
    def root(self) -> str:
        """The path."""

    @property
    def zookeeper(self) -> Znodes:
        """The znodes."""


@dataclass(frozen=True)
class Embedded:
    """A place in embedded znodes."""

    root: str
    zookeeper: Znodes


class ZnodesContract:
    """What all do; a subclass has the fixture `world`, whose root is there and empty."""

    async def test_a_znode_is_read_as_it_was_written(self, world: Place) -> None:
        """Data, version and children are those of now; created_zxid tells a new znode from the old one of its path."""
        path = f"{world.root}/a"
        await world.zookeeper.commit([Create(path, b"\0first")])
        first = await world.zookeeper.get(path)
        assert (first.path, first.data, first.version, first.children, first.owner_session) == (
            path, b"\0first", 0, 0, 0,
        )  # fmt: skip
        await world.zookeeper.commit([SetData(path, b""), Create(f"{path}/x", b""), Create(f"{path}/y", b"")])
        second = await world.zookeeper.get(path)
        assert (second.data, second.version, second.children) == (b"", 1, 2)
        assert second.created_zxid == first.created_zxid
        await world.zookeeper.commit(
            [Delete(f"{path}/x"), Delete(f"{path}/y"), Delete(path), Create(path, b"")]
        )
        third = await world.zookeeper.get(path)
        assert (third.version, third.children) == (0, 0)
        assert third.created_zxid > first.created_zxid

    async def test_what_is_not_there_is_named(self, world: Place) -> None:
        """NoNodeError names the path."""
        for call in (world.zookeeper.get, world.zookeeper.children):
            with pytest.raises(NoNodeError) as raised:
                await call(f"{world.root}/x")
            assert raised.value.path == f"{world.root}/x"

    async def test_many_are_read_in_the_order_asked_for(self, world: Place) -> None:
        """One for each path, None for those that are not there, also for more than are under way at a time."""
        await world.zookeeper.commit([Create(f"{world.root}/{n}", str(n).encode()) for n in range(150)])
        paths = [f"{world.root}/{n}" for n in range(299, -1, -1)]
        found = await world.zookeeper.get_many(paths)
        assert [znode and znode.data for znode in found[150:]] == [
            str(n).encode() for n in range(149, -1, -1)
        ]
        assert found[:150] == (None,) * 150
        assert await world.zookeeper.get_many([]) == ()

    async def test_children_are_named_without_their_parent(self, world: Place) -> None:
        """Names, in no order."""
        assert await world.zookeeper.children(world.root) == ()
        await world.zookeeper.commit([Create(f"{world.root}/a", b""), Create(f"{world.root}/a/b", b"")])
        assert await world.zookeeper.children(world.root) == ("a",)
        await world.zookeeper.commit([Create(f"{world.root}/{n}", b"") for n in range(20)])
        assert sorted(await world.zookeeper.children(world.root)) == sorted(["a", *map(str, range(20))])

    @pytest.mark.parametrize(
        ("operations", "error", "path"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS]
    )
    async def test_a_refused_commit_changes_nothing(
        self, world: Place, operations: Sequence[Operation], error: type[ZnodeError], path: str
    ) -> None:
        """The error is that of the first operation that can't be carried out; none of the others is."""
        names = ("A", "A/child", "B")
        await world.zookeeper.commit([Create(f"{world.root}/{name}", b"old") for name in names])
        await world.zookeeper.commit([SetData(f"{world.root}/A", b"new")])
        paths = [world.root, *(f"{world.root}/{name}" for name in (*names, "Y"))]
        before = await world.zookeeper.get_many(paths)
        with pytest.raises(ZnodeError) as raised:
            await world.zookeeper.commit([placed(world.root, operation) for operation in operations])
        assert type(raised.value) is error
        assert raised.value.path == path.replace("$", world.root)
        assert await world.zookeeper.get_many(paths) == before

    async def test_a_commit_sees_itself(self, world: Place) -> None:
        """Later operations find what the earlier ones have done; any version is good for ANY_VERSION."""
        a, b = f"{world.root}/a", f"{world.root}/b"
        await world.zookeeper.commit(
            [
                Create(a, b"1"),
                Create(f"{a}/x", b""),
                Check(a, 0),
                SetData(a, b"2", 0),
                SetData(a, b"3", 1),
                Check(a, 2),
                Check(a, ANY_VERSION),
                Delete(f"{a}/x"),
                Delete(a, 2),
                Create(b, b""),
            ]
        )
        assert await world.zookeeper.children(world.root) == ("b",)

    async def test_an_empty_commit_is_nothing(self, world: Place) -> None:
        """It succeeds."""
        await world.zookeeper.commit([])

    async def test_a_commit_may_be_large(self, world: Place) -> None:
        """Up to LARGE bytes in all, and thousands of operations."""
        await world.zookeeper.commit([Create(f"{world.root}/large", b"x" * LARGE)])
        assert len((await world.zookeeper.get(f"{world.root}/large")).data) == LARGE
        await world.zookeeper.commit([Create(f"{world.root}/{n}", b"") for n in range(2000)])
        assert (await world.zookeeper.get(world.root)).children == 2001


class Contract(ZnodesContract):
    """What those with sessions do."""

    async def test_a_session_says_who_it_is(self, world: World) -> None:
        """A connected session has an id and has counted its first connection; another session has another id."""
        assert world.zookeeper.is_connected
        assert world.zookeeper.connection_id == 1
        await world.zookeeper.wait_connected(0.0)
        async with world.session() as other:
            assert 0 != other.session_id != world.zookeeper.session_id != 0

    async def test_nothing_is_created_below_an_ephemeral(self, world: World) -> None:
        """It is refused, and nothing is changed."""
        path = f"{world.root}/e"
        await world.zookeeper.commit([Create(path, b"", ephemeral=True)])
        with pytest.raises(ZnodeError) as raised:
            await world.zookeeper.commit([Create(f"{path}/x", b"")])
        assert type(raised.value) is ZnodeError
        assert raised.value.path == f"{path}/x"

    async def test_an_ephemeral_znode_goes_with_its_session(self, world: World) -> None:
        """It names the session that made it, and goes when that is left."""
        path = f"{world.root}/e"
        async with world.session() as other:
            await other.commit([Create(path, b"mine", ephemeral=True)])
            assert (await world.zookeeper.get(path)).owner_session == other.session_id
            look = world.zookeeper.watch(path)
            await look.read()
        assert await look.changed(LONG_S)
        assert await look.read() is None

    async def test_a_path_is_ensured(self, world: World) -> None:
        """What is missing is made, empty; what is there is left alone, whoever makes it at the same time."""
        path = f"{world.root}/a/b/c"
        async with world.session() as other:
            await asyncio.gather(
                *(session.ensure(path) for _ in range(5) for session in (world.zookeeper, other))
            )
        made = await world.zookeeper.get(path)
        assert (made.data, made.version, made.owner_session) == (b"", 0, 0)
        await world.zookeeper.commit([SetData(path, b"kept")])
        await world.zookeeper.ensure(path)
        assert (await world.zookeeper.get(path)).data == b"kept"
        await world.zookeeper.ensure("/")

    async def test_what_an_acl_forbids_is_said_so(self, world: World) -> None:
        """NotAllowedError for what is forbidden; to ensure it is no more than to know that it is there."""
        path = f"{world.root}/a"
        await world.zookeeper.commit([Create(path, b"")])
        async with world.forbidden(path):
            for refused in (
                world.zookeeper.get(path),
                world.zookeeper.get_many([world.root, path]),
                world.zookeeper.children(path),
                world.zookeeper.watch(path).read(),
                world.zookeeper.commit([SetData(path, b"")]),
                world.zookeeper.commit([Create(f"{path}/x", b"")]),
            ):
                with pytest.raises(NotAllowedError, match=path):
                    await refused
            await world.zookeeper.ensure(path)

    async def test_a_session_that_ends_is_followed_by_another(self, world: World) -> None:
        """Another id, another connection; its ephemeral znodes are gone, and looks say that there may be news."""
        path = f"{world.root}/e"
        await world.zookeeper.commit([Create(path, b"", ephemeral=True)])
        look = world.zookeeper.watch(world.root)
        await look.read()
        session_id, connection_id = world.zookeeper.session_id, world.zookeeper.connection_id
        await world.expire()
        assert world.zookeeper.session_id not in (0, session_id)
        assert world.zookeeper.connection_id > connection_id
        assert await look.changed(0.0)
        with pytest.raises(NoNodeError):
            await world.zookeeper.get(path)
        await look.read()
        async with world.session() as other:
            await other.commit([SetData(world.root, b"")])
        assert await look.changed(LONG_S)

    async def test_a_cancelled_call_harms_no_other(self, world: World) -> None:
        """Whatever becomes of it, later calls get answers of their own, in order."""
        await world.zookeeper.commit([Create(f"{world.root}/{n}", str(n).encode()) for n in range(100)])
        for number in range(100):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await world.zookeeper.get(f"{world.root}/{number}")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await world.zookeeper.get_many([f"{world.root}/{number}"] * 100)
            assert (await world.zookeeper.get(f"{world.root}/{number}")).data == str(number).encode()

    async def test_what_does_not_change_is_no_news(self, world: World) -> None:
        """Neither children nor other znodes nor a refused commit fire a watch; before the first read all is news."""
        path = f"{world.root}/a"
        await world.zookeeper.commit([Create(path, b"")])
        look = world.zookeeper.watch(path)
        assert await look.changed(0.0)
        assert await look.read() == await world.zookeeper.get(path)
        await world.zookeeper.commit([Create(f"{path}/x", b""), SetData(world.root, b"new")])
        with pytest.raises(BadVersionError):
            await world.zookeeper.commit([SetData(path, b""), Check(path, 7)])
        assert not await look.changed(MOMENT_S)

    async def test_each_change_is_news(self, world: World) -> None:
        """Creating, setting (also the same data) and deleting; what is read then is at least as new."""
        path = f"{world.root}/a"
        look = world.zookeeper.watch(path)
        assert await look.read() is None
        async with world.session() as other:
            for operation, data in (
                (Create(path, b"1"), b"1"),
                (SetData(path, b"1"), b"1"),
                (SetData(path, b"2"), b"2"),
                (Delete(path), None),
                (Create(path, b"3"), b"3"),
            ):
                assert not await look.changed(0.0)
                await other.commit([operation])
                assert await look.changed(LONG_S), operation
                assert await look.changed(0.0), "it remains news until it is read"
                znode = await look.read()
                assert (znode and znode.data) == data

    async def test_a_change_between_two_reads_is_not_missed(self, world: World) -> None:
        """What is written while it is being read is either read, or news."""
        path = f"{world.root}/a"
        await world.zookeeper.commit([Create(path, b"0")])
        look = world.zookeeper.watch(path)
        async with world.session() as other:
            for number in range(1, 50):
                async with asyncio.TaskGroup() as both:
                    both.create_task(other.commit([SetData(path, str(number).encode())]))
                    reading = both.create_task(look.read())
                znode = reading.result()
                if znode is not None and int(znode.data) < number:
                    assert await look.changed(LONG_S)

    async def test_two_looks_at_one_path_are_each_told(self, world: World) -> None:
        """One that has read the change does not take it from the other."""
        path = f"{world.root}/a"
        first, second = world.zookeeper.watch(path), world.zookeeper.watch(path)
        await first.read()
        await second.read()
        await world.zookeeper.commit([Create(path, b"")])
        assert await first.changed(LONG_S)
        await first.read()
        assert await second.changed(0.0)
        assert not await first.changed(0.0)

    async def test_no_connection_in_time_is_said_so(self, world: World) -> None:
        """A session that was left fails at once."""
        async with world.session() as other:
            pass
        assert not other.is_connected
        assert other.session_id == 0
        with pytest.raises(ConnectionLostError):
            await other.get("/")
        with pytest.raises(ConnectionLostError):
            await other.wait_connected(0.01)


class TestEmbedded(ZnodesContract):
    """Znodes of this process, in memory and in a file."""

    @pytest.fixture(params=["memory", "file"])
    async def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
        """Yield them."""
        znodes = EmbeddedZnodes(tmp_path / "znodes" if request.param == "file" else None)
        await znodes.commit([Create("/world", b"")])
        yield Embedded("/world", znodes)
        znodes.close()

    async def test_what_was_committed_is_there_after_a_restart(self, tmp_path: Path) -> None:
        """Data, versions, children and the order of creation; a refused transaction leaves no trace."""
        first = EmbeddedZnodes(tmp_path / "znodes")
        await first.commit([Create("/a", b"1"), Create("/a/b", b""), Create("/c", b""), SetData("/a", b"2")])
        await first.commit([Delete("/c"), Create("/a/d", b"\0")])
        with pytest.raises(NodeExistsError):
            await first.commit([SetData("/a", b"3"), Create("/a/d", b"")])
        paths = ("/", "/a", "/a/b", "/a/d", "/c")
        before = await first.get_many(paths)
        first.close()
        second = EmbeddedZnodes(tmp_path / "znodes")
        assert await second.get_many(paths) == before
        assert sorted(await second.children("/a")) == ["b", "d"]
        await second.commit([Create("/c", b"")])
        newest = await second.get("/c")
        assert newest.created_zxid > max(znode.created_zxid for znode in before if znode is not None)
        second.close()

    async def test_nothing_ephemeral_is_taken(self) -> None:
        """There is no session with which it could go."""
        with pytest.raises(ValueError, match="ephemeral"):
            await EmbeddedZnodes().commit([Create("/e", b"", ephemeral=True)])


class TestFake(Contract):
    """The fake."""

    @pytest.fixture
    async def world(self) -> World:
        """Return the fake."""
        world = FakeWorld()
        await world.zookeeper.ensure(world.root)
        return world


class TestReal(Contract):
    """The real one."""

    @pytest.fixture
    async def world(self, cluster: Cluster) -> AsyncIterator[World]:
        """Yield the ZooKeeper of the cluster."""
        assert cluster.zookeeper is not None
        root = f"/contract-{uuid.uuid4().hex[:12]}"
        async with connected(cluster.zookeeper.address) as session:
            await session.ensure(root)
            yield RealWorld(cluster.zookeeper.address, root, session)
            await remove(session, root)
