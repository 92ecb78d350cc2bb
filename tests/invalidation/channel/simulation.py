"""A NameNode, a publisher, a ZooKeeper and a proxy's stream, and the acts that change or break them."""

import asyncio
import copy
import random
from collections.abc import Callable, Mapping
from math import inf
from typing import TypeAlias

from nncache.hadoop.change import Change, Vanished
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.follower.stream import ZooKeeperInotifyEventInputStream
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.stream import InotifyEventInputStream, StreamItem
from tests.coordination.fake_tree import FakeTree
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.channel.press import ZNODES, Press, PressState
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.judge import Judge
from tests.invalidation.virtual_time import clock, until
from tests.setup import channel_setup

NAMES = ("a", "b", "c")
RUBBISH = (b"", b"{}", b"0", b"1", b"\xff", b"[" * 2000)


class FilterJudge(Judge):
    """A judge that demands the changes of each filter since it came into force, without a gap.

    The cache keeps no reply to an earlier question under that filter, so earlier changes do not concern it.
    """

    def __init__(self) -> None:
        super().__init__(clock)
        self.in_force_since: dict[str, float] = {}  # by id
        self.missing: list[tuple[float, str]] = []  # (time, path) of changes that are not covered yet
        self.may_repeat = False  # ZooKeeper was restored, and the lost records were published again

    def apply(self, change: Change, now: float, txid: int | None = None) -> None:
        """Record the path; it may come only once, unless records were published again."""
        if self.may_repeat and isinstance(change, Vanished):
            self.applied.discard(change.path)
        super().apply(change, now, txid)

    def open_stream(self, term: int) -> None:
        """Forget everything; later entries belong to the filters that are set next."""
        super().open_stream(term)
        self.in_force_since = {}

    def set_filters(self, globs: Mapping[str, str]) -> None:
        """Record when new filters came into force."""
        super().set_filters(globs)
        now = clock()
        self.in_force_since = {each: self.in_force_since.get(each, now) for each in globs}

    def acknowledge(self, path: str) -> None:
        """Record that the change of this path was acknowledged to its client."""
        self.missing.append((clock(), path))

    def cover(self, as_of: float, txid: int, seen_as_of: float | None = None) -> None:
        """Check that all changes of each filter, acknowledged since it is in force and before `as_of`, were applied."""
        if self.open_since is None:
            self.wrongs.append("covered while closed")
        due = [(at, path) for at, path in self.missing if at < as_of and path not in self.applied]
        for identity, glob in self.globs.items():
            since = max(self.in_force_since.get(identity, inf), self.open_since or inf)
            missing = [path for at, path in due if since < at and path.startswith(glob.removesuffix("*"))]
            if missing:
                self.wrongs.append(f"covered as of {as_of} without {missing} of {identity}")
        self.missing = [(at, path) for at, path in self.missing if at >= as_of]
        self.fresh_as_of = as_of


class Restless(InotifyEventInputStream):
    """A stream whose reader cancels and repeats its reads again and again (S3)."""

    def __init__(self, stream: ZooKeeperInotifyEventInputStream) -> None:
        self._stream = stream
        self._chance = random.Random(7)

    @property
    def term(self) -> int:
        """The term of the stream."""
        return self._stream.term

    async def open(self) -> None:
        """Open the stream."""
        await self._stream.open()

    async def close(self) -> None:
        """Close the stream."""
        await self._stream.close()

    async def __anext__(self) -> StreamItem:
        """Read with short timeouts until an item arrives."""
        while True:
            try:
                async with asyncio.timeout(self._chance.choice((0, 0.0005, 0.002, 0.05))):
                    return await self._stream.__anext__()
            except TimeoutError:
                continue

    def request_probe(self) -> None:
        """Forward the request to the stream."""
        self._stream.request_probe()

    def stats(self) -> ChannelStats:
        """Return the stream's figures."""
        return self._stream.stats()


Step: TypeAlias = tuple[str, int, float, bool]
"""An act, its amount or index, the seconds that follow, and whether all outages end after them."""


class Simulation:
    """All parts. The publisher works on demand, without delay; its records are complete."""

    def __init__(self) -> None:
        self.namenode = FakeNameNode()
        self.namenode.unlink("/before")
        self.pool = FakePool(clock, self.namenode)
        self.server = FakeZooKeeper(clock)
        self.press = Press(self.server, self.namenode, max_records=8)
        self.judge = FilterJudge()
        self.session: FakeSession = self.server.session()
        self.stream = ZooKeeperInotifyEventInputStream(
            channel_setup(self.pool, clock), connect=lambda settings, clock: self.session
        )
        self._writes = 0
        self._is_broken = False  # the tree differs from what the publisher wrote
        self._backup: tuple[FakeTree, PressState] | None = None  # of ZooKeeper, with the publisher's state
        self.press.begin()
        self.press.change_filters({"a": "/a/*"})

    def write(self, number: int) -> None:
        """Change a path in a filter's directory, and acknowledge the change."""
        self._writes += 1
        path = f"/{NAMES[number % len(NAMES)]}/{self._writes}"
        self.namenode.unlink(path)
        self.judge.acknowledge(path)

    def publish(self) -> None:
        """Publish everything so far, unless the tree is broken. A log that went back is noticed before it regrows."""
        if self._is_broken:
            return
        if self.namenode.synced < self.press.cache.txid:
            self.press.begin_anew()
        self.press.publish()

    def publish_one_by_one(self) -> None:
        """Publish one record per transaction: more records than are kept."""
        for txid in range(self.press.cache.txid + 1, self.namenode.synced + 1):
            if not self._is_broken:
                self.press.publish(txid)

    def drop(self) -> None:
        """Publish that all unpublished edits are lost."""
        if not self._is_broken and self.press.cache.txid < self.namenode.synced:
            self.press.drop(self.press.cache.txid + 1, self.namenode.synced)

    def toggle(self, number: int, *, has_read: bool) -> None:
        """Add a filter, or remove it if it exists."""
        name = NAMES[number % len(NAMES)]
        globs = {each: published.path_glob for each, published in self.press.filters.items()}
        if globs.pop(name, None) is None:
            globs[name] = f"/{name}/*"
        self.change(globs, has_read=has_read)

    def change(
        self, globs: dict[str, str], *, anew: frozenset[str] = frozenset(), has_read: bool = True
    ) -> None:
        """Set the filters in force."""
        if not self._is_broken and self.namenode.synced >= self.press.cache.txid:
            self.press.change_filters(globs, anew=anew, has_read=has_read)

    def make_anew(self, number: int) -> None:
        """Remove a filter and add it again, in one commit or with an unmatched change in between."""
        name = NAMES[number % len(NAMES)]
        globs = {each: published.path_glob for each, published in self.press.filters.items()}
        if number <= len(NAMES):
            self.change({each: glob for each, glob in globs.items() if each != name}, has_read=False)
            self.write(number)
            self.publish()
        self.change(globs, anew=frozenset({name}))

    def remove_late(self, number: int) -> None:
        """Remove a filter after an unread change of its paths, and publish the change without it."""
        name = NAMES[number % len(NAMES)]
        self.write(number)
        self.pool.probe()
        globs = {each: published.path_glob for each, published in self.press.filters.items() if each != name}
        self.change(globs, has_read=False)
        self.publish()

    def spoil(self, number: int) -> None:
        """Overwrite one of the znodes with garbage, or create a foreign one."""
        paths = (
            f"{ZNODES.cache}/{self.press.cache.txid}",
            ZNODES.cache,
            ZNODES.filters,
            ZNODES.definition("a"),
            f"{ZNODES.cache}/readme",
            f"{ZNODES.filters}/-readme",
        )
        path = paths[number % len(paths)]
        above = path.rpartition("/")[0]
        if above not in self.server.tree.paths:
            return
        if path in self.server.tree.paths or "readme" in path:
            self.press.put(path, RUBBISH[number % len(RUBBISH)])
            self._is_broken = self._is_broken or path in (ZNODES.cache, ZNODES.filters)

    def lose_a_record(self) -> None:
        """Delete the newest record."""
        path = f"{ZNODES.cache}/{self.press.cache.txid}"
        if path in self.server.tree.paths:
            self.press.delete(path)
            self._is_broken = True

    def wipe(self, number: int) -> None:
        """Lose all data; a publisher may fill the tree again immediately."""
        self.server.wipe()
        self._is_broken = True
        if number <= len(NAMES):
            self.rebuild()

    def rebuild(self) -> None:
        """Fill a broken ZooKeeper again."""
        if self._is_broken:
            self.server.wipe()
            self._is_broken = False
            self.press.begin()

    def remember(self) -> None:
        """Back up ZooKeeper."""
        if not self._is_broken:
            self._backup = copy.deepcopy((self.server.tree, self.press.state))

    def put_back(self) -> None:
        """Restore the backup; the publisher continues from there."""
        if self._backup is None:
            return
        self.judge.may_repeat = True
        self.server.wipe()
        self.server.tree, self.press.state = copy.deepcopy(self._backup)
        self._is_broken = False

    def expire(self) -> None:
        """Expire the reader's session."""
        if self.session.session_id:
            self.server.expire(self.session)

    def go_back(self, number: int) -> None:
        """Restart the NameNode without its last transactions."""
        self.namenode.restart(lost=min(number, self.namenode.log.end - 1))

    def be_slow(self, number: int) -> None:
        """Set the latency of each call to ZooKeeper."""
        self.server.latency_s = 0.01 * number

    def heal(self) -> None:
        """End all outages."""
        self.server.latency_s = 0.002
        self.server.connect()
        self.namenode.answers_jmx = self.namenode.answers_journal = True
        self.rebuild()
        self.publish()

    async def tell(self, history: list[Step], pace_s: float | None = None) -> None:
        """Carry out a history, heal everything, and check that coverage resumes.

        With a pace, changes, records and probes also come continuously at that pace.
        """
        consumer = Consumer(self.judge, Restless(self.stream), clock, chance=lambda: 0.5)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(consumer.run()), tasks.create_task(self.pool.run())]
            going_on = tasks.create_task(self._go_on(pace_s))
            for act, number, pause_s, heals in history:
                ACTS[act](self, number)
                await asyncio.sleep(pause_s)
                if heals:
                    self.heal()
            going_on.cancel()
            self.heal()
            self.write(0)
            healed_at = clock()
            running.append(tasks.create_task(self._publish()))
            await until(lambda: self.judge.fresh_as_of > healed_at)
            for task in running:
                task.cancel()
        await self.stream.shut_down()
        assert not self.judge.wrongs

    async def _go_on(self, pace_s: float | None) -> None:
        chance = random.Random(11)
        while pace_s is not None:
            self.write(chance.randrange(len(NAMES)))
            if chance.random() < 0.7:
                self.publish()
            if chance.random() < 0.5:
                self.stream.request_probe()
                self.pool.probe()
            await asyncio.sleep(pace_s * chance.random())

    async def _publish(self) -> None:
        while True:
            self.publish()
            await asyncio.sleep(0.05)


ACTS: Mapping[str, Callable[[Simulation, int], object]] = {
    "write": Simulation.write,
    "write without an event": lambda simulation, _: simulation.namenode.write(),
    "publish": lambda simulation, _: simulation.publish(),
    "publish one by one": lambda simulation, _: simulation.publish_one_by_one(),
    "drop": lambda simulation, _: simulation.drop(),
    "toggle": lambda simulation, number: simulation.toggle(number, has_read=True),
    "toggle unread": lambda simulation, number: simulation.toggle(number, has_read=False),
    "make anew": Simulation.make_anew,
    "remove late": Simulation.remove_late,
    "spoil": Simulation.spoil,
    "lose a record": lambda simulation, _: simulation.lose_a_record(),
    "wipe": Simulation.wipe,
    "rebuild": lambda simulation, _: simulation.rebuild(),
    "remember": lambda simulation, _: simulation.remember(),
    "put back": lambda simulation, _: simulation.put_back(),
    "disconnect": lambda simulation, _: simulation.server.disconnect(),
    "disconnect the reader": lambda simulation, _: simulation.server.disconnect(simulation.session),
    "connect": lambda simulation, _: simulation.server.connect(),
    "expire": lambda simulation, _: simulation.expire(),
    "lose watches": lambda simulation, _: simulation.server.forget_watches(simulation.session),
    "slow": Simulation.be_slow,
    "restart": lambda simulation, _: simulation.namenode.restart(),
    "go back": Simulation.go_back,
    "fall silent": lambda simulation, _: setattr(simulation.namenode, "answers_jmx", False),
    "say nothing of the log": lambda simulation, _: setattr(simulation.namenode, "answers_journal", False),
    "speak": lambda simulation, _: setattr(simulation.namenode, "answers_jmx", True),
    "probe": lambda simulation, _: simulation.pool.probe(),
    "want coverage": lambda simulation, _: simulation.stream.request_probe(),
}
"""All acts by name; the number is an amount or an index."""
