"""Two NameNodes, a ZooKeeper, one or two publishers, and the acts that change or break them."""

import asyncio
import contextlib
import copy
from collections.abc import Callable, Mapping
from itertools import pairwise

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop.election_view import HaState
from nncache.hadoop.errors import MalformedReplyError
from nncache.hadoop.events import Close, Create, Event, MetadataKind, MetadataUpdate, Rename, Unlink
from nncache.hadoop.filestatus import FileType
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.settings import PollingSettings
from tests.coordination.fake_zookeeper import FakeSession
from tests.invalidation.fakes import FakePool
from tests.invalidation.publisher.auditor import Auditor, History
from tests.invalidation.publisher.fake_cluster import ZNODES, FakeCluster, FakeFilters, FakeProcess
from tests.invalidation.publisher.faulty import AuditedZooKeeper, PoisonedNameNode
from tests.invalidation.virtual_time import clock, until

MAX_RECORDS = 8

GLOBS = ("/user/*/_SUCCESS", "/user/a/*", "/user/{a,b}/*/x", "/d/f", "/user/a")
"""Globs of the filters; most writes match some of them."""

PATHS = (
    "/user/a",
    "/user/a/_SUCCESS",
    "/user/b/_SUCCESS",
    "/user/b/1/x",
    "/user/a/1/x",
    "/d/f",
    "/d",
    "/else",
)

NAMES = ("f", "g", "h")

LIMIT_PER_S = 0.005
"""A few events, then one every few minutes: most histories exceed it."""


class Simulation:
    """All parts.

    One act is missing, a named exception of Bounded: an old active NameNode that takes changes while the new one cannot
    be probed.
    """

    def __init__(self, *, rivals: bool, limited: bool = False) -> None:
        first = PoisonedNameNode("nn1")
        for path in PATHS:
            first.unlink(path)
        self.namenodes = (first, PoisonedNameNode("nn2", first.log, active=False))
        self.filters = FakeFilters(first)
        self.history = History(first.log.transactions, self._may_be_dropped)
        self.auditor = Auditor(ZNODES, self.history, MAX_RECORDS)
        self.zookeeper = AuditedZooKeeper(self.auditor)
        self.fake_cluster = FakeCluster(
            settings=PublisherSettings(
                max_records_per_filter=MAX_RECORDS,
                max_changes_per_record=6,
                max_events_per_s_per_filter=LIMIT_PER_S if limited else 0,
                max_buffered_events=5 if limited else 20_000,
            ),
            polling=PollingSettings(),
            namenodes=self.namenodes,
            pool=FakePool(clock, *self.namenodes),
            zookeeper=self.zookeeper,
            filters=self.filters,
            outsider=self.zookeeper.session(),
        )
        self._limited = limited
        self._names = ("a", "b") if rivals else ("a",)
        self._processes: dict[str, tuple[FakeProcess, asyncio.Task[None]]] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._lost: set[int] = set()  # transactions that were purged, or could not be read
        self._recovering_from = -1  # the number of chains when the log went back; -1: it has not

    @property
    def active(self) -> PoisonedNameNode:
        """The NameNode that takes writes."""
        return next(each for each in self.namenodes if each is self.filters.namenode)

    @property
    def other(self) -> PoisonedNameNode:
        """The other NameNode."""
        return self.namenodes[self.active is self.namenodes[0]]

    def _may_be_dropped(self, after: int, txid: int) -> bool:
        return self._limited or txid in self._lost or after < self.active.poisoned

    @property
    def _is_recovering(self) -> bool:
        """Whether the log went back and no publisher has noticed yet: no client writes until then.

        A log that has regrown before any publisher looks cannot be distinguished from one that never went back.
        """
        return self._recovering_from == self.auditor.chains

    # ---- acts in HDFS --------------------------------------------------------------------------------------------

    def write(self, number: int) -> None:
        """Make a change."""
        if self._is_recovering:
            return
        path, other = PATHS[number % len(PATHS)], PATHS[(number * 7 + 3) % len(PATHS)]
        events: tuple[tuple[Event, ...], ...] = (
            (Unlink(path),),
            (Create(kind=FileType.FILE, path=path), Close(path)),
            (Rename(path, other),),
            (MetadataUpdate(path=path, kind=MetadataKind.PERMS),),
            (),
        )
        self.active.write(*events[number % len(events)])

    def burst(self, number: int) -> None:
        """Make many changes."""
        for part in range(10 * (number + 1)):
            self.write(part)

    def big(self, number: int) -> None:
        """Log a transaction of many events, like a CONCAT's: too many for one record, or for one multi."""
        if not self._is_recovering:
            events = 3000 if number % 3 == 0 else 1800
            txid = self.active.write(*(Unlink(f"/user/a/{'x' * 200}{part}") for part in range(events)))
            if number % 3 == 0:
                self._lost.add(txid)  # the filters that it concerns drop it

    def put_filter(self, number: int) -> None:
        """Add or change a filter."""
        if not self._is_recovering:
            name = NAMES[number % len(NAMES)]
            self.filters.put(name, GLOBS[number % len(GLOBS)], allowed=("u",) if number % 2 else ())

    def remove_filter(self, number: int) -> None:
        """Remove a filter, or damage its definition."""
        if not self._is_recovering:
            name = NAMES[number % len(NAMES)]
            (self.filters.damage if number % 4 == 0 else self.filters.remove)(name)

    def hide_filters(self, _: int) -> None:
        """Toggle whether HDFS fails to return the filters."""
        self.filters.fault = None if self.filters.fault else MalformedReplyError("no DataNode")

    # ---- acts on the NameNodes -----------------------------------------------------------------------------------

    def fail_over(self, _: int) -> None:
        """Make the other NameNode active."""
        if self._is_recovering:
            return
        old, new = self.active, self.other
        old.state, new.state = HaState.STANDBY, HaState.ACTIVE
        new.log, new.transition_ms = old.log, new.transition_ms + 1
        self.filters.namenode = new
        new.write()

    def purge(self, number: int) -> None:
        """Purge all but the last few edits."""
        log = self.active.log
        first_kept = max(log.first_kept, log.end - number)
        self._lost.update(range(1, first_kept))
        log.first_kept = first_kept

    def restart(self, _: int) -> None:
        """Restart the NameNode."""
        if not self._is_recovering:
            self.active.restart()

    def go_back(self, number: int) -> None:
        """Restore the NameNode from a backup: durable transactions are lost."""
        log, lost = self.active.log, number + 2
        if self._is_recovering or self.fake_cluster.covered() != log.end or log.end - lost < log.first_kept:
            return
        before = History(copy.copy(log.transactions), self._may_be_dropped)
        for stream in self.auditor.streams:
            stream.history = before
        self._recovering_from = self.auditor.chains
        for namenode in self.namenodes:
            namenode.poisoned = 0
        self.active.restart(lost=lost)

    def poison(self, _: int) -> None:
        """Make all present edits unreadable for good."""
        for namenode in self.namenodes:
            namenode.poisoned = self.active.log.end

    def silence(self, number: int) -> None:
        """Cut the NameNode's RPC port, or all of its ports, off."""
        self.active.is_reachable = False
        self.active.cut()
        self.active.answers_jmx = number % 2 == 0

    # ---- acts on ZooKeeper ---------------------------------------------------------------------------------------

    def tamper(self, number: int) -> None:
        """Damage a znode of the tree, or add one."""
        name = NAMES[number % len(NAMES)]
        damages: tuple[tuple[ZnodeOp, ...], ...] = (
            (SetDataOp(ZNODES.definition(name), b"{"),),
            (SetDataOp(ZNODES.stream(name), b"x"),),
            (SetDataOp(ZNODES.stream(name), b"99999"),),
            (DeleteOp(ZNODES.definition(name)),),
            self._deletion_of(name),
            (SetDataOp(ZNODES.cache, b"x"),),
            (SetDataOp(ZNODES.filters, b"x"),),
            (DeleteOp(ZNODES.publisher),),
            (
                CreateOp(f"{ZNODES.stream(name)}/foreign", b""),
                CreateOp(f"{ZNODES.stream(name)}/foreign/x", b""),
            ),
            (CreateOp(f"{ZNODES.cache}/foreign", b""),),
            (
                CreateOp(f"{ZNODES.namespace}/orphan", b""),
                CreateOp(f"{ZNODES.namespace}/orphan/1", b""),
            ),
            (CreateOp(f"{ZNODES.filters}/not a name", b""),),
        )
        with contextlib.suppress(ZnodeError):
            self.zookeeper.tamper(damages[number % len(damages)])

    def _deletion_of(self, name: str) -> tuple[ZnodeOp, ...]:
        """Return the operations that delete everything of a filter."""
        path, tree = ZNODES.stream(name), self.zookeeper.tree
        records = tree.children(path) if tree.exists(path) else ()
        return (
            *(DeleteOp(f"{path}/{each}") for each in records),
            DeleteOp(path),
            DeleteOp(ZNODES.definition(name)),
        )

    # ---- acts on the publishers ----------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a publisher's process, replacing a running one."""
        self.kill(name)
        process = FakeProcess(self.fake_cluster, name, self.zookeeper.session(), self.fake_cluster.settings)
        assert self._tasks is not None
        self._processes[name] = process, self._tasks.create_task(process.publisher.run())

    def kill(self, name: str) -> None:
        """Kill the process without a clean exit; its session stays for its timeout."""
        if name in self._processes:
            process, task = self._processes.pop(name)
            self.zookeeper.kill(process.session)
            task.cancel()

    def cut(self, number: int) -> None:
        """Cut the publishers, or all clients, off from ZooKeeper."""
        if number % 2:
            self.zookeeper.disconnect()
        else:
            self.each_session(self.zookeeper.disconnect)

    def each_session(self, act: Callable[[FakeSession], None]) -> None:
        """Apply an act to the sessions of all publishers."""
        for process, _ in [*self._processes.values()]:
            act(process.session)

    # ---- whole histories -----------------------------------------------------------------------------------------

    async def heal(self) -> None:
        """End all outages."""
        for namenode in self.namenodes:
            namenode.is_reachable = namenode.answers_jmx = True
            namenode.max_events = 1000
        self.filters.fault = None
        self.zookeeper.arrive()
        self.zookeeper.connect()
        for name in self._names:
            if name not in self._processes:
                self.start(name)
        if self._is_recovering:
            await until(lambda: not self._is_recovering, within_s=40)
        self.filters.namenode.write()

    async def tell(self, history: list[tuple[str, int, float]]) -> None:
        """Carry out a history of (act, number, pause), heal everything, and check that all edits are published."""
        async with asyncio.TaskGroup() as self._tasks:
            probing = self._tasks.create_task(self.fake_cluster.pool.run())
            for name in self._names:
                self.start(name)
            for act, number, pause_s in history:
                ACTS[act](self, number)
                await asyncio.sleep(pause_s)
            await self.heal()
            await until(self._is_settled, within_s=40)
            for name in self._names:
                self.kill(name)
            probing.cancel()
        assert not self.auditor.wrongs, self.auditor.wrongs[0]
        self._see_all()

    def _is_settled(self) -> bool:
        if self.fake_cluster.covered() != self.active.log.end:
            return False
        wanted = {name: filter_.path_glob for name, filter_ in self.filters.filters.items()}
        found = {name: filter_.path_glob for name, filter_ in self.fake_cluster.published_filters().items()}
        if {name: glob for name, glob in found.items() if name not in self.filters.broken} != wanted:
            return False
        return all(self.fake_cluster.is_sound(name) for name in found)

    def _see_all(self) -> None:
        """Check that the whole tree is sound, from its znodes alone."""
        streams = [
            [each.link for each in self.fake_cluster.cache_records()],
            *(
                [each.link for each in self.fake_cluster.records(name)]
                for name in self.fake_cluster.published_filters()
            ),
        ]
        assert streams[0][-1].txid == self.fake_cluster.covered()
        for links in streams:
            for before, after in pairwise(links):
                assert (after.chain, after.previous) == (before.chain, before.txid)


ACTS: Mapping[str, Callable[[Simulation, int], None]] = {
    "write": Simulation.write,
    "burst": Simulation.burst,
    "big": Simulation.big,
    "put filter": Simulation.put_filter,
    "remove filter": Simulation.remove_filter,
    "hide filters": Simulation.hide_filters,
    "fail over": Simulation.fail_over,
    "restart": Simulation.restart,
    "purge": Simulation.purge,
    "go back": Simulation.go_back,
    "poison": Simulation.poison,
    "silence": Simulation.silence,
    "small pages": lambda simulation, number: setattr(simulation.active, "max_events", number + 1),
    "cut": Simulation.cut,
    "connect": lambda simulation, _: simulation.zookeeper.connect(),
    "expire": lambda simulation, _: simulation.each_session(simulation.zookeeper.expire_if_any),
    "wipe": lambda simulation, _: simulation.zookeeper.wipe(),
    "lose commit before": lambda simulation, _: simulation.zookeeper.lose_next_commit(after=False),
    "lose commit after": lambda simulation, _: simulation.zookeeper.lose_next_commit(after=True),
    "delay commit": lambda simulation, _: simulation.zookeeper.delay_next_commit(),
    "arrive": lambda simulation, _: simulation.zookeeper.arrive(),
    "tamper": Simulation.tamper,
    "kill": lambda simulation, number: simulation.kill("ab"[number % 2]),
    "start": lambda simulation, number: simulation.start(simulation._names[number % len(simulation._names)]),  # noqa: SLF001 - its own table
}
"""All acts by name; the number is an amount or an index."""
