"""Following a subtree, on the cluster's ZooKeeper."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from nncache.coordination.errors import ConnectionLostError, NotAllowedError
from nncache.coordination.session import KazooSession
from nncache.coordination.watches import Watcher
from nncache.coordination.zookeeper import CreateOp, Znode
from nncache.registry import paths
from nncache.registry.access import AccessPolicy
from nncache.registry.errors import PathNotFoundError, RegistryError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.tree_reading import read_tree
from nncache.registry.tree_watch import (
    LOOK_S,
    PER_ITERATION,
    Change,
    Current,
    Present,
    Removed,
    TreeWatch,
    WatchGap,
)
from nncache.testbed import Cluster
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected, expire
from tests.invalidation.virtual_time import run
from tests.patience import HANG_S
from tests.registry.flat_session import FlatSession
from tests.registry.samples import WEBHDFS


class View:
    """The state that a follower of a subtree has built."""

    def __init__(self, registry: Registry, path: str) -> None:
        assert isinstance(registry.zookeeper, KazooSession)
        self.records: dict[str, ServiceRecord | None] = {}
        self.reported: list[Change] = []
        self._registry = registry
        self._path = path
        self._changes = TreeWatch(registry.zookeeper, registry.root, path).changes()

    async def until_current(self) -> None:
        """Follow until everything that was read has been reported."""
        async with asyncio.timeout(HANG_S):
            async for change in self._changes:
                self.reported.append(change)
                match change:
                    case Present(status, record):
                        self.records[status.path] = record
                    case Removed(path):
                        del self.records[path]
                    case Current():
                        return

    async def until_it_is_all(self, by: Registry | None = None) -> None:
        """Follow until the view equals the tree, as another client may read it."""
        async with asyncio.timeout(HANG_S):
            while True:
                await self.until_current()
                try:
                    wanted = dict((await read_tree(by or self._registry, self._path)).records)
                except PathNotFoundError:
                    wanted = {}
                if self.records == wanted:
                    return


@pytest.fixture
async def view(registry: Registry) -> View:
    """Return a current view of the whole registry."""
    made = View(registry, "/")
    await made.until_current()
    return made


async def test_what_is_there_comes_first(registry: Registry) -> None:
    """Entries with and without records, and broken ones with the reason; then Current."""
    await registry.bind("/services/hdfs", WEBHDFS)
    await registry.zookeeper.commit([CreateOp(registry.znode("/services/x"), b'{"type":"JSONServiceRecord"')])
    view = View(registry, "/services")
    await view.until_current()
    assert view.records == {"/services": None, "/services/hdfs": WEBHDFS, "/services/x": None}
    broken = next(
        each for each in view.reported if isinstance(each, Present) and each.status.path == "/services/x"
    )
    assert "no JSON" in broken.fault
    assert view.reported[-1] == Current()


async def test_each_kind_of_change_is_reported(registry: Registry, view: View) -> None:
    """Entries are created, bound, overwritten and deleted, with entries below."""
    other = replace(WEBHDFS, description="another")
    await registry.bind("/services/hdfs", WEBHDFS)
    await view.until_it_is_all()
    await registry.bind("/services/hdfs", other, overwrite=True)
    await view.until_it_is_all()
    assert view.records["/services/hdfs"] == other
    await registry.mknode("/services/hdfs/components/c1", create_parents=True)
    await view.until_it_is_all()
    view.reported.clear()
    await registry.delete("/services/hdfs", recursive=True)
    await view.until_it_is_all()
    removed = [change.path for change in view.reported if isinstance(change, Removed)]
    assert sorted(removed) == ["/services/hdfs", "/services/hdfs/components", "/services/hdfs/components/c1"]
    assert not any(isinstance(change, WatchGap) for change in view.reported)


async def test_a_subtree_may_come_later_and_go(registry: Registry) -> None:
    """A missing path has no entries below it."""
    view = View(registry, "/users/joe")
    await view.until_current()
    assert view.records == {}
    await registry.mknode("/users/joe/hbase", create_parents=True)
    await view.until_it_is_all()
    assert set(view.records) == {"/users/joe", "/users/joe/hbase"}
    await registry.delete("/users/joe", recursive=True)
    await view.until_it_is_all()
    await registry.mknode("/users/joe")
    await view.until_it_is_all()


async def test_a_lost_session_is_a_gap(registry: Registry, cluster: Cluster) -> None:
    """It is reported before the changes in between."""
    async with connected(cluster.zookeeper.address) as session:
        view = View(Registry(session, registry.root, AccessPolicy()), "/")
        await view.until_current()
        await expire(cluster.zookeeper.address, session)
        await registry.bind("/services/hdfs", WEBHDFS)
        view.reported.clear()
        await view.until_it_is_all(registry)
    assert isinstance(view.reported[0], WatchGap)
    assert "/services/hdfs" in view.records


async def test_a_gap_in_which_nothing_changed_ends_with_current(
    registry: Registry, view: View, cluster: Cluster
) -> None:
    """The follower learns that no further change belongs to the gap."""
    assert isinstance(registry.zookeeper, KazooSession)
    view.reported.clear()
    await expire(cluster.zookeeper.address, registry.zookeeper)
    await view.until_current()
    assert [type(change) for change in view.reported] == [WatchGap, Current]


async def test_drawn_changes_by_several_clients(registry: Registry, view: View, cluster: Cluster) -> None:
    """In the end the view equals the tree, and no gap was reported."""
    async with contextlib.AsyncExitStack() as stack:
        others = [await stack.enter_async_context(connected(cluster.zookeeper.address)) for _ in range(3)]
        async with asyncio.TaskGroup() as tasks:
            for seed, session in enumerate(others):
                tasks.create_task(change(Registry(session, registry.root, AccessPolicy()), seed))
        await view.until_it_is_all()
    assert not any(isinstance(change, WatchGap) for change in view.reported)


async def change(registry: Registry, seed: int) -> None:
    """Create, bind and delete random entries, a hundred times."""
    chance = random.Random(seed)
    for _ in range(100):
        path = "/services" + "".join(f"/{chance.choice('abc')}" for _ in range(chance.randint(1, 3)))
        with contextlib.suppress(RegistryError):
            match chance.randint(0, 3):
                case 0:
                    await registry.mknode(path, create_parents=True)
                case 1:
                    await registry.delete(path, recursive=True)
                case _:
                    record = ServiceRecord(description=str(chance.random()))
                    await registry.bind(path, record, overwrite=True)


async def test_a_zookeeper_that_goes_and_comes_back(zookeeper_server: ZooKeeperServer) -> None:
    """The view equals the tree again, and the gap was reported."""
    async with connected(zookeeper_server.address) as session:
        registry = Registry(session, "/registry", AccessPolicy())
        await registry.make_root()
        await registry.bind("/services/hdfs", WEBHDFS)
        view = View(registry, "/")
        await view.until_current()
        zookeeper_server.process.kill()
        zookeeper_server.process.start()
        async with connected(zookeeper_server.address) as other:
            by_another = Registry(other, registry.root, AccessPolicy())
            await by_another.delete("/services/hdfs")
            view.reported.clear()
            await view.until_it_is_all(by_another)
    assert any(isinstance(change, WatchGap) for change in view.reported)
    assert set(view.records) == {"/", paths.USERS, paths.SERVICES}


async def reported_until_current(changes: AsyncIterator[Change]) -> list[Change]:
    """Return the changes up to Current."""
    reported: list[Change] = []
    async with asyncio.timeout(HANG_S):
        while not reported or reported[-1] != Current():
            reported.append(await anext(changes))
    return reported


async def test_an_entry_that_was_gone_for_a_moment_is_not_lost() -> None:
    """It was missing when it was read, and existed again when its parent was listed."""
    session = FlatSession()
    for path in ("/r/services", "/r/services/x"):
        session.make(path)
    session.made_again = "/r/services/x"
    changes = TreeWatch(session, "/r", "/services").changes()
    await reported_until_current(changes)
    session.remove("/r/services/x")
    reported = await reported_until_current(changes)
    assert Removed("/services/x") in reported
    assert [change.status.path for change in reported if isinstance(change, Present)] == ["/services/x"]


async def test_a_removal_costs_what_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times as many entries and siblings cost ten times as much, and other tasks run in between."""
    steps: list[str] = []
    name_below = paths.below

    def counted(path: str, *elements: str) -> str:
        steps.append(path)
        return name_below(path, *elements)

    monkeypatch.setattr(paths, "below", counted)
    costs = []
    for many in (300, 3_000):
        session = FlatSession()
        for top in ("/r/gone", "/r/stays"):
            session.make(top)
            for number in range(many):
                session.make(f"{top}/e{number}")
        watch = TreeWatch(session, "/r", "/")
        changes = watch.changes()
        assert len(await reported_until_current(changes)) == 2 * many + 4
        session.remove("/r/gone")
        steps.clear()
        session.reads.clear()
        others = 0
        is_over = asyncio.Event()

        async def other(over: asyncio.Event) -> None:
            nonlocal others
            while not over.is_set():
                others += 1
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(other(is_over))
            reported = await reported_until_current(changes)
            is_over.set()
        assert sum(isinstance(change, Removed) for change in reported) == many + 1
        assert watch.watched == many + 2
        assert others >= many // PER_ITERATION
        costs.append(len(steps) + len(session.reads))
    assert costs[1] < 15 * costs[0]


class Throttled(FlatSession):
    """A session whose server refuses to read one entry while it is overloaded (KeeperException.ThrottledOp)."""

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode."""
        if path == "/r/services/x":
            self.reads.append(path)
            raise ConnectionLostError(path)
        return await super().read(path, watcher)


def test_a_server_that_refuses_calls_gets_no_more_of_them() -> None:
    """It stays connected, so only a pause keeps the whole tree from being read again at once."""
    session = Throttled("/r/services", "/r/services/x")

    async def follow() -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(100 * LOOK_S):
                async for _ in TreeWatch(session, "/r", "/").changes():
                    await asyncio.sleep(0.001)  # in virtual time, so that the loop without a pause ends

    run(follow())
    assert 0 < session.reads.count("/r/services/x") <= 100


async def test_what_is_too_deep_is_not_followed() -> None:
    """A chain of entries needs a call per level, and the last entry that is read reports the limit."""
    session = FlatSession()
    path = "/r"
    for _ in range(paths.MAX_ELEMENTS + 40):
        path += "/c"
        session.make(path)
    watch = TreeWatch(session, "/r", "/")
    reported = await reported_until_current(watch.changes())
    present = {each.status.path: each.fault for each in reported if isinstance(each, Present)}
    assert len(present) == watch.watched == len(session.reads) == paths.MAX_ELEMENTS + 1
    assert {path: fault for path, fault in present.items() if fault} == {
        "/c" * paths.MAX_ELEMENTS: paths.TOO_DEEP
    }


def summary(changes: list[Change]) -> list[str]:
    """Return the reported changes in short form."""
    short = {Present: "+", Removed: "-"}
    return [
        f"{short[type(each)]}{each.status.path if isinstance(each, Present) else each.path}"
        for each in changes
        if isinstance(each, Present | Removed)
    ]


async def test_what_an_acl_refuses_is_passed_over() -> None:
    """Its subtree is omitted too; the rest is followed, and a change next to it costs nothing more than without it."""
    session = FlatSession("/r/users", "/r/users/bob", "/r/users/bob/x", "/r/users/bob/x/y", "/r/users/joe")
    session.refused.add("/r/users/bob")
    changes = TreeWatch(session, "/r", "/").changes()
    assert summary(await reported_until_current(changes)) == ["+/", "+/users", "+/users/joe"]
    session.reads.clear()
    session.make("/r/users/ann")
    assert summary(await reported_until_current(changes)) == ["+/users/ann"]
    assert session.reads == ["/r/users", "/r/users/ann"]
    session.remove("/r/users/bob")
    session.remove("/r/users/joe")
    assert summary(await reported_until_current(changes)) == ["-/users/joe"]


async def test_an_acl_that_changes_is_seen_when_all_is_read_again() -> None:
    """A newly denied entry is removed with its subtree, and returns later; no watcher is set twice."""
    session = FlatSession("/r/users", "/r/users/bob", "/r/users/bob/x", "/r/users/bob/x/y", "/r/users/joe")
    watch = TreeWatch(session, "/r", "/users")
    changes = watch.changes()
    assert len(summary(await reported_until_current(changes))) == 5
    was_set = session.watchers
    for _ in range(3):
        session.refused.add("/r/users/bob")
        session.write("/r/users/bob/x")  # is read at the same time as its parent
        assert await reread(session, watch, changes) == ["-/users/bob/x/y", "-/users/bob/x", "-/users/bob"]
        session.write("/r/users/bob/x/y")  # below a denied entry: earlier watches report it
        session.make("/r/users/bob/z")
        session.remove("/r/users/bob/z")
        session.make("/r/users/bob/x/z")
        session.remove("/r/users/bob/x/z")
        assert await reread(session, watch, changes) == []
        session.refused.clear()
        assert await reread(session, watch, changes) == ["+/users/bob", "+/users/bob/x", "+/users/bob/x/y"]
        assert session.watchers == was_set
    assert watch.watched == 5


async def reread(session: FlatSession, watch: TreeWatch, changes: AsyncIterator[Change]) -> list[str]:
    """Read all again, as after REREAD_S, and return the reports, except for the entry that ends the wait."""
    watch._all_again()  # noqa: SLF001 - normally done by time
    session.make("/r/users/ann")
    reported = summary(await reported_until_current(changes))
    session.remove("/r/users/ann")
    reported += summary(await reported_until_current(changes))
    assert {"+/users/ann", "-/users/ann"} <= {*reported}
    return [each for each in reported if not each.endswith("/ann")]


async def test_a_top_that_an_acl_refuses_is_an_error() -> None:
    """Nothing can be followed."""
    session = FlatSession("/r/users")
    session.refused.add("/r/users")
    with pytest.raises(NotAllowedError):
        await anext(TreeWatch(session, "/r", "/users").changes())
    assert summary(await reported_until_current(TreeWatch(session, "/r", "/").changes())) == ["+/"]


async def test_who_follows_again_gets_everything_without_a_new_watcher() -> None:
    """Earlier watchers could not be removed."""
    session = FlatSession("/r/users", "/r/users/joe")
    watch = TreeWatch(session, "/r", "/")
    for _ in range(3):
        assert summary(await reported_until_current(watch.changes())) == ["+/", "+/users", "+/users/joe"]
        assert (watch.watched, session.watchers) == (3, 6)
        session.make("/r/users/ann")  # while there is no follower
        session.remove("/r/users/ann")
    watch.forget()
    assert watch.watched == 0
