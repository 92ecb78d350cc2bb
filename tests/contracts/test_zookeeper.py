"""ZooKeeper, its fake and the embedded znodes obey the contract of `nncache.coordination.zookeeper`."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

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
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import (
    ANY_VERSION,
    CheckOp,
    CreateOp,
    DeleteOp,
    SetDataOp,
    ZnodeOp,
    Znodes,
    sequential_name,
)
from nncache.testbed import Cluster
from tests.coordination.simulations import FakeServer, RealServer, Simulation, connected, remove
from tests.namenode.ensemble import Ensemble, Member

MOMENT_S = 0.05
LONG_S = 10.0
LARGE = 900 * 1024
"""Maximum size of a commit in bytes (jute.maxbuffer is 1 MiB)."""

# Refused commits on a tree in which A (version 1) has a child and B is empty (version 0): "$" is the
# root, and the error names the second path.
REFUSALS: Sequence[tuple[str, Sequence[ZnodeOp], type[ZnodeError], str]] = (
    ("set what is not there", [SetDataOp("$/X", b"")], NoNodeError, "$/X"),
    ("delete what is not there", [DeleteOp("$/X")], NoNodeError, "$/X"),
    ("check what is not there", [CheckOp("$/X", 0)], NoNodeError, "$/X"),
    ("check what is not there at any version", [CheckOp("$/X", ANY_VERSION)], NoNodeError, "$/X"),
    ("create without a parent", [CreateOp("$/X/y", b"")], NoNodeError, "$/X/y"),
    ("create what is there", [CreateOp("$/B", b"")], NodeExistsError, "$/B"),
    ("set an older version", [SetDataOp("$/A", b"", 0)], BadVersionError, "$/A"),
    ("set a newer version", [SetDataOp("$/B", b"", 1)], BadVersionError, "$/B"),
    ("delete another version", [DeleteOp("$/B", 1)], BadVersionError, "$/B"),
    ("delete another version with children", [DeleteOp("$/A", 0)], BadVersionError, "$/A"),
    ("delete with children", [DeleteOp("$/A", 1)], NotEmptyError, "$/A"),
    ("check another version", [CheckOp("$/A", 0)], BadVersionError, "$/A"),
    ("the second of three", [SetDataOp("$/B", b"new"), DeleteOp("$/A"), CreateOp("$/Y", b"")], NotEmptyError, "$/A"),
    ("the first of two", [CreateOp("$/B", b""), DeleteOp("$/X")], NodeExistsError, "$/B"),
    ("the last of all kinds",
     [CreateOp("$/Y", b""), SetDataOp("$/B", b"new"), DeleteOp("$/A/child"), CheckOp("$/A", 0)],
     BadVersionError, "$/A"),
    ("a version that the commit itself has made", [SetDataOp("$/B", b"new"), SetDataOp("$/B", b"newer", 0)],
     BadVersionError, "$/B"),
    ("what the commit itself has deleted", [DeleteOp("$/B"), SetDataOp("$/B", b"")], NoNodeError, "$/B"),
)  # fmt: skip


def placed(root: str, operation: ZnodeOp) -> ZnodeOp:
    """Return the operation with "$" replaced by the root."""
    path = operation.path.replace("$", root)
    match operation:
        case CreateOp(_, data, ephemeral, acl, sequential):
            return CreateOp(path, data, ephemeral, acl, sequential)
        case SetDataOp(_, data, version):
            return SetDataOp(path, data, version)
        case DeleteOp(_, version):
            return DeleteOp(path, version)
        case CheckOp(_, version):
            return CheckOp(path, version)


@dataclass(frozen=True)
class Embedded:
    """Embedded znodes, and a path for this test alone."""

    root: str
    zookeeper: Znodes


class ZnodesContract:
    """The common contract; a subclass has the fixture `simulation`, whose root exists and is empty."""

    async def test_a_znode_is_read_as_it_was_written(self, simulation: Embedded | Simulation) -> None:
        """Data, version and children are current; created_zxid tells a new znode from an old one of the same path."""
        path = f"{simulation.root}/a"
        await simulation.zookeeper.commit([CreateOp(path, b"\0first")])
        first = await simulation.zookeeper.get(path)
        assert (first.path, first.data, first.version, first.children, first.owner_session) == (
            path, b"\0first", 0, 0, 0,
        )  # fmt: skip
        await simulation.zookeeper.commit(
            [SetDataOp(path, b""), CreateOp(f"{path}/x", b""), CreateOp(f"{path}/y", b"")]
        )
        second = await simulation.zookeeper.get(path)
        assert (second.data, second.version, second.children) == (b"", 1, 2)
        assert second.created_zxid == first.created_zxid
        await simulation.zookeeper.commit(
            [DeleteOp(f"{path}/x"), DeleteOp(f"{path}/y"), DeleteOp(path), CreateOp(path, b"")]
        )
        third = await simulation.zookeeper.get(path)
        assert (third.version, third.children) == (0, 0)
        assert third.created_zxid > first.created_zxid

    async def test_what_is_not_there_is_named(self, simulation: Embedded | Simulation) -> None:
        """NoNodeError has the path."""
        for call in (simulation.zookeeper.get, simulation.zookeeper.children):
            with pytest.raises(NoNodeError) as raised:
                await call(f"{simulation.root}/x")
            assert raised.value.path == f"{simulation.root}/x"

    async def test_many_are_read_in_the_order_asked_for(self, simulation: Embedded | Simulation) -> None:
        """There is a result per path, None for a missing znode, also for more paths than may be in flight at a time."""
        await simulation.zookeeper.commit(
            [CreateOp(f"{simulation.root}/{n}", str(n).encode()) for n in range(150)]
        )
        paths = [f"{simulation.root}/{n}" for n in range(299, -1, -1)]
        found = await simulation.zookeeper.get_many(paths)
        assert [znode and znode.data for znode in found[150:]] == [
            str(n).encode() for n in range(149, -1, -1)
        ]
        assert found[:150] == (None,) * 150
        assert await simulation.zookeeper.get_many([]) == ()

    async def test_children_are_named_without_their_parent(self, simulation: Embedded | Simulation) -> None:
        """The names are in no particular order."""
        assert await simulation.zookeeper.children(simulation.root) == ()
        await simulation.zookeeper.commit(
            [CreateOp(f"{simulation.root}/a", b""), CreateOp(f"{simulation.root}/a/b", b"")]
        )
        assert await simulation.zookeeper.children(simulation.root) == ("a",)
        await simulation.zookeeper.commit([CreateOp(f"{simulation.root}/{n}", b"") for n in range(20)])
        assert sorted(await simulation.zookeeper.children(simulation.root)) == sorted(
            ["a", *map(str, range(20))]
        )

    @pytest.mark.parametrize(
        ("operations", "error", "path"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS]
    )
    async def test_a_refused_commit_changes_nothing(
        self,
        simulation: Embedded | Simulation,
        operations: Sequence[ZnodeOp],
        error: type[ZnodeError],
        path: str,
    ) -> None:
        """The error is that of the first failing operation; no other operation is applied."""
        names = ("A", "A/child", "B")
        await simulation.zookeeper.commit([CreateOp(f"{simulation.root}/{name}", b"old") for name in names])
        await simulation.zookeeper.commit([SetDataOp(f"{simulation.root}/A", b"new")])
        paths = [simulation.root, *(f"{simulation.root}/{name}" for name in (*names, "Y"))]
        before = await simulation.zookeeper.get_many(paths)
        with pytest.raises(ZnodeError) as raised:
            await simulation.zookeeper.commit(
                [placed(simulation.root, operation) for operation in operations]
            )
        assert type(raised.value) is error
        assert raised.value.path == path.replace("$", simulation.root)
        assert await simulation.zookeeper.get_many(paths) == before

    async def test_a_commit_sees_itself(self, simulation: Embedded | Simulation) -> None:
        """Later operations see the effects of earlier ones. ANY_VERSION matches every version."""
        a, b = f"{simulation.root}/a", f"{simulation.root}/b"
        await simulation.zookeeper.commit(
            [
                CreateOp(a, b"1"),
                CreateOp(f"{a}/x", b""),
                CheckOp(a, 0),
                SetDataOp(a, b"2", 0),
                SetDataOp(a, b"3", 1),
                CheckOp(a, 2),
                CheckOp(a, ANY_VERSION),
                DeleteOp(f"{a}/x"),
                DeleteOp(a, 2),
                CreateOp(b, b""),
            ]
        )
        assert await simulation.zookeeper.children(simulation.root) == ("b",)

    async def test_sequential_znodes_are_numbered_without_gaps(
        self, simulation: Embedded | Simulation
    ) -> None:
        """The number counts the children ever created, including deleted ones, but not those of a refused commit."""
        top, zookeeper = f"{simulation.root}/q", simulation.zookeeper
        one = CreateOp(f"{top}/e-", b"x", sequential=True)
        await zookeeper.commit([CreateOp(top, b""), one, one, CreateOp(f"{top}/named", b"")])
        with pytest.raises(NoNodeError):
            await zookeeper.commit([one, DeleteOp(f"{top}/missing")])
        await zookeeper.commit([DeleteOp(sequential_name(f"{top}/e-", 1)), one])
        await zookeeper.commit([SetDataOp(top, b""), one])
        found = await zookeeper.children(top)
        assert sorted(found) == ["e-0000000000", "e-0000000003", "e-0000000004", "named"]
        assert (await zookeeper.get(sequential_name(f"{top}/e-", 4))).data == b"x"

    async def test_a_change_of_children_is_seen_at_their_parent(
        self, simulation: Embedded | Simulation
    ) -> None:
        """Its children_zxid increases when a child is created or deleted, and only then."""
        top, zookeeper = f"{simulation.root}/t", simulation.zookeeper
        await zookeeper.commit([CreateOp(top, b"")])
        seen = [(await zookeeper.get(top)).children_zxid]
        steps: Sequence[Sequence[ZnodeOp]] = (
            [CreateOp(f"{top}/a", b"")],
            [DeleteOp(f"{top}/a"), CreateOp(f"{top}/a", b"")],
        )
        for operations in steps:
            await zookeeper.commit(operations)
            seen.append((await zookeeper.get(top)).children_zxid)
        await zookeeper.commit(
            [SetDataOp(top, b"x"), SetDataOp(f"{top}/a", b"x"), CreateOp(f"{top}/a/b", b"")]
        )
        with pytest.raises(NoNodeError):
            await zookeeper.commit(
                [DeleteOp(f"{top}/a/b"), CreateOp(f"{top}/c", b""), DeleteOp(f"{top}/missing")]
            )
        assert (await zookeeper.get(top)).children_zxid == seen[-1]
        await zookeeper.commit([DeleteOp(f"{top}/a/b"), DeleteOp(f"{top}/a")])
        seen.append((await zookeeper.get(top)).children_zxid)
        assert seen == sorted(set(seen))

    async def test_an_empty_commit_is_nothing(self, simulation: Embedded | Simulation) -> None:
        """It succeeds without an effect."""
        await simulation.zookeeper.commit([])

    async def test_a_commit_may_be_large(self, simulation: Embedded | Simulation) -> None:
        """It may have LARGE bytes in total, and thousands of operations."""
        await simulation.zookeeper.commit([CreateOp(f"{simulation.root}/large", b"x" * LARGE)])
        assert len((await simulation.zookeeper.get(f"{simulation.root}/large")).data) == LARGE
        await simulation.zookeeper.commit([CreateOp(f"{simulation.root}/{n}", b"") for n in range(2000)])
        assert (await simulation.zookeeper.get(simulation.root)).children == 2001


class Contract(ZnodesContract):
    """The contract of znodes with sessions."""

    async def test_a_session_says_who_it_is(self, simulation: Simulation) -> None:
        """A connected session has an id and connection 1; another session has another id."""
        assert simulation.zookeeper.is_connected
        assert simulation.zookeeper.connection_id == 1
        await simulation.zookeeper.wait_connected(0.0)
        async with simulation.session() as other:
            assert 0 != other.session_id != simulation.zookeeper.session_id != 0

    async def test_a_snapshot_is_of_one_moment(self, simulation: Simulation) -> None:
        """A transaction on two znodes is read from both or neither. After a sync, all earlier writes are visible."""
        paths = [f"{simulation.root}/{name}" for name in ("a", "b", "missing")]
        await simulation.zookeeper.commit([CreateOp(path, b"0") for path in paths[:2]])
        async with simulation.session() as other:
            for number in range(1, 30):
                write = [SetDataOp(path, str(number).encode()) for path in paths[:2]]
                async with asyncio.TaskGroup() as both:
                    both.create_task(other.commit(write))
                    reading = both.create_task(simulation.zookeeper.snapshot(paths))
                a, b, missing = reading.result()
                assert a is not None
                assert b is not None
                assert (a.data, missing) == (b.data, None)
                await simulation.zookeeper.sync(simulation.root)
                found = await simulation.zookeeper.snapshot(paths[1:2])
                assert [znode and znode.data for znode in found] == [str(number).encode()]
        assert await simulation.zookeeper.snapshot([]) == ()

    async def test_nothing_is_created_below_an_ephemeral(self, simulation: Simulation) -> None:
        """The commit is refused and changes nothing."""
        path = f"{simulation.root}/e"
        await simulation.zookeeper.commit([CreateOp(path, b"", ephemeral=True)])
        with pytest.raises(ZnodeError) as raised:
            await simulation.zookeeper.commit([CreateOp(f"{path}/x", b"")])
        assert type(raised.value) is ZnodeError
        assert raised.value.path == f"{path}/x"

    async def test_an_ephemeral_znode_goes_with_its_session(self, simulation: Simulation) -> None:
        """It has the id of its session, and is deleted when that ends."""
        path = f"{simulation.root}/e"
        async with simulation.session() as other:
            await other.commit([CreateOp(path, b"mine", ephemeral=True)])
            assert (await simulation.zookeeper.get(path)).owner_session == other.session_id
            look = simulation.zookeeper.watch(path)
            await look.read()
        assert await look.changed(LONG_S)
        assert await look.read() is None

    async def test_a_path_is_ensured(self, simulation: Simulation) -> None:
        """Missing znodes are created empty; existing ones stay unchanged, also with concurrent calls."""
        path = f"{simulation.root}/a/b/c"
        async with simulation.session() as other:
            await asyncio.gather(
                *(session.ensure(path) for _ in range(5) for session in (simulation.zookeeper, other))
            )
        made = await simulation.zookeeper.get(path)
        assert (made.data, made.version, made.owner_session) == (b"", 0, 0)
        await simulation.zookeeper.commit([SetDataOp(path, b"kept")])
        await simulation.zookeeper.ensure(path)
        assert (await simulation.zookeeper.get(path)).data == b"kept"
        await simulation.zookeeper.ensure("/")

    async def test_what_an_acl_forbids_is_not_allowed(self, simulation: Simulation) -> None:
        """A forbidden call raises NotAllowedError; `ensure` only needs the znode to exist."""
        path = f"{simulation.root}/a"
        await simulation.zookeeper.commit([CreateOp(path, b"")])
        async with simulation.forbidden(path):
            for refused in (
                simulation.zookeeper.get(path),
                simulation.zookeeper.get_many([simulation.root, path]),
                simulation.zookeeper.children(path),
                simulation.zookeeper.watch(path).read(),
                simulation.zookeeper.commit([SetDataOp(path, b"")]),
                simulation.zookeeper.commit([CreateOp(f"{path}/x", b"")]),
            ):
                with pytest.raises(NotAllowedError, match=path):
                    await refused
            await simulation.zookeeper.ensure(path)

    async def test_a_session_that_ends_is_followed_by_another(self, simulation: Simulation) -> None:
        """It has another id and connection. Its ephemeral znodes are gone, and watches report a possible change."""
        path = f"{simulation.root}/e"
        await simulation.zookeeper.commit([CreateOp(path, b"", ephemeral=True)])
        look = simulation.zookeeper.watch(simulation.root)
        await look.read()
        session_id, connection_id = simulation.zookeeper.session_id, simulation.zookeeper.connection_id
        await simulation.expire()
        assert simulation.zookeeper.session_id not in (0, session_id)
        assert simulation.zookeeper.connection_id > connection_id
        assert await look.changed(0.0)
        with pytest.raises(NoNodeError):
            await simulation.zookeeper.get(path)
        await look.read()
        async with simulation.session() as other:
            await other.commit([SetDataOp(simulation.root, b"")])
        assert await look.changed(LONG_S)

    async def test_a_cancelled_call_harms_no_other(self, simulation: Simulation) -> None:
        """Later calls get their own answers, in order."""
        await simulation.zookeeper.commit(
            [CreateOp(f"{simulation.root}/{n}", str(n).encode()) for n in range(100)]
        )
        for number in range(100):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await simulation.zookeeper.get(f"{simulation.root}/{number}")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await simulation.zookeeper.get_many([f"{simulation.root}/{number}"] * 100)
            assert (await simulation.zookeeper.get(f"{simulation.root}/{number}")).data == str(
                number
            ).encode()

    async def test_what_does_not_change_is_no_news(self, simulation: Simulation) -> None:
        """Children, other znodes and refused commits fire no watch. Before its first read, a watch reports a change."""
        path = f"{simulation.root}/a"
        await simulation.zookeeper.commit([CreateOp(path, b"")])
        look = simulation.zookeeper.watch(path)
        assert await look.changed(0.0)
        assert await look.read() == await simulation.zookeeper.get(path)
        await simulation.zookeeper.commit([CreateOp(f"{path}/x", b""), SetDataOp(simulation.root, b"new")])
        with pytest.raises(BadVersionError):
            await simulation.zookeeper.commit([SetDataOp(path, b""), CheckOp(path, 7)])
        assert not await look.changed(MOMENT_S)

    async def test_each_change_is_news(self, simulation: Simulation) -> None:
        """Create, set (even to equal data) and delete are reported; the next read is at least as new."""
        path = f"{simulation.root}/a"
        look = simulation.zookeeper.watch(path)
        assert await look.read() is None
        async with simulation.session() as other:
            for operation, data in (
                (CreateOp(path, b"1"), b"1"),
                (SetDataOp(path, b"1"), b"1"),
                (SetDataOp(path, b"2"), b"2"),
                (DeleteOp(path), None),
                (CreateOp(path, b"3"), b"3"),
            ):
                assert not await look.changed(0.0)
                await other.commit([operation])
                assert await look.changed(LONG_S), operation
                assert await look.changed(0.0), "it remains news until it is read"
                znode = await look.read()
                assert (znode and znode.data) == data

    async def test_a_change_between_two_reads_is_not_missed(self, simulation: Simulation) -> None:
        """A concurrent write is either read or reported."""
        path = f"{simulation.root}/a"
        await simulation.zookeeper.commit([CreateOp(path, b"0")])
        look = simulation.zookeeper.watch(path)
        async with simulation.session() as other:
            for number in range(1, 50):
                async with asyncio.TaskGroup() as both:
                    both.create_task(other.commit([SetDataOp(path, str(number).encode())]))
                    reading = both.create_task(look.read())
                znode = reading.result()
                if znode is not None and int(znode.data) < number:
                    assert await look.changed(LONG_S)

    async def test_two_looks_at_one_path_are_each_notified(self, simulation: Simulation) -> None:
        """Reading the change through one watch does not reset the other."""
        path = f"{simulation.root}/a"
        first, second = simulation.zookeeper.watch(path), simulation.zookeeper.watch(path)
        await first.read()
        await second.read()
        await simulation.zookeeper.commit([CreateOp(path, b"")])
        assert await first.changed(LONG_S)
        await first.read()
        assert await second.changed(0.0)
        assert not await first.changed(0.0)

    async def test_no_connection_in_time_is_a_lost_connection(self, simulation: Simulation) -> None:
        """A session that was closed fails immediately."""
        async with simulation.session() as other:
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
    async def simulation(self, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Embedded]:
        """Yield embedded znodes."""
        znodes = EmbeddedZnodes(tmp_path / "znodes" if request.param == "file" else None)
        await znodes.commit([CreateOp("/world", b"")])
        yield Embedded("/world", znodes)
        znodes.close()

    async def test_what_was_committed_is_there_after_a_restart(self, tmp_path: Path) -> None:
        """Data, versions, children and creation order persist. A refused transaction leaves no trace."""
        first = EmbeddedZnodes(tmp_path / "znodes")
        await first.commit(
            [CreateOp("/a", b"1"), CreateOp("/a/b", b""), CreateOp("/c", b""), SetDataOp("/a", b"2")]
        )
        await first.commit([DeleteOp("/c"), CreateOp("/a/d", b"\0")])
        with pytest.raises(NodeExistsError):
            await first.commit([SetDataOp("/a", b"3"), CreateOp("/a/d", b"")])
        paths = ("/", "/a", "/a/b", "/a/d", "/c")
        before = await first.get_many(paths)
        first.close()
        second = EmbeddedZnodes(tmp_path / "znodes")
        assert await second.get_many(paths) == tuple(
            None if znode is None else replace(znode, children_zxid=znode.created_zxid) for znode in before
        )
        assert sorted(await second.children("/a")) == ["b", "d"]
        await second.commit([CreateOp("/a/", b"", sequential=True), DeleteOp("/a/0000000002")])
        await second.commit([CreateOp("/c", b"")])
        newest = await second.get("/c")
        assert newest.created_zxid > max(znode.created_zxid for znode in before if znode is not None)
        second.close()

    async def test_nothing_ephemeral_is_taken(self) -> None:
        """There is no session to delete it with."""
        with pytest.raises(ValueError, match="ephemeral"):
            await EmbeddedZnodes().commit([CreateOp("/e", b"", ephemeral=True)])


class TestLinearizable(ZnodesContract):
    """Linearizable znodes below a root: on the fakes, and on a ZooKeeper."""

    @pytest.fixture(params=["fake", "ensemble", "real"])
    async def simulation(self, request: pytest.FixtureRequest) -> AsyncIterator[Embedded]:
        """Yield linearizable znodes."""
        async with AsyncExitStack() as stack:
            below: Simulation = FakeServer()
            if request.param == "real":
                cluster = request.getfixturevalue("cluster")
                below = await stack.enter_async_context(real_simulation(cluster))
            session = (
                Member(Ensemble(random.Random(1)), losses=0.1)
                if request.param == "ensemble"
                else below.zookeeper
            )
            znodes = LinearizableZnodes(session, below.root, "me", LONG_S)
            await znodes.begin()
            await znodes.commit([CreateOp("/world", b"")])
            yield Embedded("/world", znodes)


class TestFake(Contract):
    """The fake."""

    @pytest.fixture
    async def simulation(self) -> Simulation:
        """Return the fake."""
        simulation = FakeServer()
        await simulation.zookeeper.ensure(simulation.root)
        return simulation


@asynccontextmanager
async def real_simulation(cluster: Cluster) -> AsyncIterator[RealServer]:
    """Yield a separate root in the cluster's ZooKeeper."""
    root = f"/contract-{uuid.uuid4().hex[:12]}"
    async with connected(cluster.zookeeper.address) as session:
        await session.ensure(root)
        yield RealServer(cluster.zookeeper.address, root, session)
        await remove(session, root)


class TestReal(Contract):
    """The real ZooKeeper."""

    @pytest.fixture
    async def simulation(self, cluster: Cluster) -> AsyncIterator[Simulation]:
        """Yield a separate root in it."""
        async with real_simulation(cluster) as simulation:
            yield simulation
