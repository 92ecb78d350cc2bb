"""A subtree that is followed, on the cluster's ZooKeeper."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from nncache.coordination.errors import NoNodeError
from nncache.coordination.session import Session
from nncache.coordination.watches import Watcher
from nncache.coordination.zookeeper import Create, Znode
from nncache.registry import paths
from nncache.registry.access import AccessPolicy
from nncache.registry.errors import PathNotFoundError, RegistryError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.tree_reading import read_tree
from nncache.registry.tree_watch import AT_A_TURN, Change, Current, Present, Removed, TreeWatch, WatchGap
from nncache.testbed import Cluster
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected, expire
from tests.patience import HANG_S
from tests.registry.samples import WEBHDFS


class View:
    """What a follower of a subtree knows."""

    def __init__(self, registry: Registry, path: str) -> None:
        assert isinstance(registry.zookeeper, Session)
        self.records: dict[str, ServiceRecord | None] = {}
        self.reported: list[Change] = []
        self._registry = registry
        self._path = path
        self._changes = TreeWatch(registry.zookeeper, registry.root, path).changes()

    async def until_current(self) -> None:
        """Follow it until everything that was read has been reported."""
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
        """Follow it until it is what is there, as another client may read it."""
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
    """Return a view of all of it, which is current."""
    made = View(registry, "/")
    await made.until_current()
    return made


async def test_what_is_there_comes_first(registry: Registry) -> None:
    """With records and without, and broken ones with what is wrong; then Current."""
    await registry.bind("/services/hdfs", WEBHDFS)
    await registry.zookeeper.commit([Create(registry.znode("/services/x"), b'{"type":"JSONServiceRecord"')])
    view = View(registry, "/services")
    await view.until_current()
    assert view.records == {"/services": None, "/services/hdfs": WEBHDFS, "/services/x": None}
    broken = next(
        each for each in view.reported if isinstance(each, Present) and each.status.path == "/services/x"
    )
    assert "no JSON" in broken.fault
    assert view.reported[-1] == Current()


async def test_each_kind_of_change_is_told(registry: Registry, view: View) -> None:
    """Made, bound, overwritten, deleted; entries below among them."""
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
    """Nothing is below a path that is not there."""
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
    """Said before what has changed meanwhile."""
    assert cluster.zookeeper is not None
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
    """A follower that saw the gap learns that nothing more follows."""
    assert cluster.zookeeper is not None
    assert isinstance(registry.zookeeper, Session)
    view.reported.clear()
    await expire(cluster.zookeeper.address, registry.zookeeper)
    await view.until_current()
    assert [type(change) for change in view.reported] == [WatchGap, Current]


async def test_drawn_changes_by_several_clients(registry: Registry, view: View, cluster: Cluster) -> None:
    """In the end the view is the tree, and nothing was called a gap."""
    assert cluster.zookeeper is not None
    async with contextlib.AsyncExitStack() as stack:
        others = [await stack.enter_async_context(connected(cluster.zookeeper.address)) for _ in range(3)]
        async with asyncio.TaskGroup() as tasks:
            for seed, session in enumerate(others):
                tasks.create_task(change(Registry(session, registry.root, AccessPolicy()), seed))
        await view.until_it_is_all()
    assert not any(isinstance(change, WatchGap) for change in view.reported)


async def change(registry: Registry, seed: int) -> None:
    """Make, bind and delete entries, a hundred times."""
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
    """The view is the tree again, with a gap named."""
    async with connected(zookeeper_server.address) as session:
        registry = Registry(session, "/registry", AccessPolicy())
        await registry.make_root()
        await registry.bind("/services/hdfs", WEBHDFS)
        view = View(registry, "/")
        await view.until_current()
        zookeeper_server.kill()
        zookeeper_server.start_again()
        async with connected(zookeeper_server.address) as other:
            by_another = Registry(other, registry.root, AccessPolicy())
            await by_another.delete("/services/hdfs")
            view.reported.clear()
            await view.until_it_is_all(by_another)
    assert any(isinstance(change, WatchGap) for change in view.reported)
    assert set(view.records) == {"/", paths.USERS, paths.SERVICES}


class Flat:
    """A session with a tree that a test changes at once, as other clients do; it has no delay.

    Attributes:
        made_again: the path of an entry that another client makes again when it was just seen to be gone.
    """

    connection_id = 1
    made_again = ""

    def __init__(self) -> None:
        self.below: dict[str, set[str]] = {"/r": set()}  # by path of ZooKeeper
        self.reads = 0
        self._watchers: dict[str, Watcher] = {}

    def make(self, path: str) -> None:
        """Make an entry."""
        above, _, name = path.rpartition("/")
        self.below[above].add(name)
        self.below[path] = set()
        self._fire(f"{above} names")

    def remove(self, path: str) -> None:
        """Remove an entry, and all below it, from the bottom up."""
        for name in [*self.below[path]]:
            self.remove(f"{path}/{name}")
        above, _, name = path.rpartition("/")
        self.below[above].discard(name)
        del self.below[path]
        for key in (path, f"{path} names", f"{above} names"):
            self._fire(key)

    def _fire(self, key: str) -> None:
        watcher = self._watchers.pop(key, None)
        if watcher is not None:
            watcher()

    async def wait_connected(self, timeout_s: float) -> None:
        """It is."""

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode."""
        self.reads += 1
        if path not in self.below:
            if path == self.made_again:
                self.make(path)
            raise NoNodeError(path)
        if watcher is not None:
            self._watchers[path] = watcher
        children = len(self.below[path])
        return Znode(path=path, data=b"", version=0, created_zxid=1, children=children, owner_session=0)

    async def children(self, path: str, watcher: Watcher | None) -> tuple[str, ...]:
        """Return the names of those right below."""
        if path not in self.below:
            raise NoNodeError(path)
        if watcher is not None:
            self._watchers[f"{path} names"] = watcher
        return tuple(self.below[path])

    async def exists(self, path: str, watcher: Watcher | None) -> bool:
        """Tell whether it is there."""
        return path in self.below


async def reported_until_current(changes: AsyncIterator[Change]) -> list[Change]:
    """Return the changes up to Current."""
    reported: list[Change] = []
    async with asyncio.timeout(HANG_S):
        while not reported or reported[-1] != Current():
            reported.append(await anext(changes))
    return reported


async def test_an_entry_that_was_gone_for_a_moment_is_not_lost() -> None:
    """It was gone when it was read, and there again when its parent's list was."""
    session = Flat()
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
    """Of ten times as many entries, with as many beside them, ten times as much, and others get their turns."""
    steps: list[str] = []
    name_below = paths.below

    def counted(path: str, *elements: str) -> str:
        steps.append(path)
        return name_below(path, *elements)

    monkeypatch.setattr(paths, "below", counted)
    costs = []
    for many in (300, 3_000):
        session = Flat()
        for top in ("/r/gone", "/r/stays"):
            session.make(top)
            for number in range(many):
                session.make(f"{top}/e{number}")
        watch = TreeWatch(session, "/r", "/")
        changes = watch.changes()
        assert len(await reported_until_current(changes)) == 2 * many + 4
        session.remove("/r/gone")
        steps.clear()
        session.reads = 0
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
        assert others >= many // AT_A_TURN
        costs.append(len(steps) + session.reads)
    assert costs[1] < 15 * costs[0]


async def test_what_is_too_deep_is_not_followed() -> None:
    """A chain of entries takes as many calls as there are levels, and the last that is read says so."""
    session = Flat()
    path = "/r"
    for _ in range(paths.MAX_ELEMENTS + 40):
        path += "/c"
        session.make(path)
    watch = TreeWatch(session, "/r", "/")
    reported = await reported_until_current(watch.changes())
    present = {each.status.path: each.fault for each in reported if isinstance(each, Present)}
    assert len(present) == watch.watched == session.reads == paths.MAX_ELEMENTS + 1
    assert {path: fault for path, fault in present.items() if fault} == {
        "/c" * paths.MAX_ELEMENTS: paths.TOO_DEEP
    }
