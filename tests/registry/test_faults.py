"""ZooKeeper's leader is killed during writes to the registry: acknowledged writes survive, and none is partial."""

import asyncio
import contextlib
import random

import pytest

from nncache.registry.access import AccessPolicy
from nncache.registry.errors import RegistryIOError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.tree_reading import read_tree
from nncache.registry.tree_watch import Present, WatchGap
from nncache.testbed.zookeepers import ZooKeeperEnsemble
from tests.cluster import HADOOP
from tests.coordination.simulations import connected
from tests.patience import HANG_S
from tests.registry.test_tree_watch import View

pytestmark = pytest.mark.long  # an ensemble of its own, and an election

WRITES = 1_000
WRITERS = 4
SESSION_S = 10.0


class Writer:
    """Writes and deletes entries of its own, and records the possible states of each.

    `may_be` has the possible contents by path, None for no entry: one after a reply, several after unanswered writes.
    """

    def __init__(self, registry: Registry, seed: int) -> None:
        self.may_be: dict[str, list[ServiceRecord | None]] = {}
        self.unanswered = 0
        self._registry = registry
        self._seed = seed
        self._chance = random.Random(seed)

    async def work(self, begun: asyncio.Event, done: asyncio.Event, writes: list[int]) -> None:
        """Write until all writers together have done enough writes; set `begun` after a third."""
        while not done.is_set():
            path = f"/services/w{self._seed}-{self._chance.randint(0, 19)}"
            record = (
                ServiceRecord(description=f"{self._seed} {len(writes)}")
                if self._chance.random() < 0.7
                else None
            )
            before = self.may_be.get(path, [None])
            try:
                if record is None:
                    await self._registry.delete(path)
                else:
                    await self._registry.bind(path, record, overwrite=True)
            except RegistryIOError:
                self.may_be[path] = [*before, record]
                self.unanswered += 1
                with contextlib.suppress(Exception):
                    await self._registry.zookeeper.wait_connected(1.0)
            else:
                self.may_be[path] = [record]
                writes.append(self._seed)
                if len(writes) >= WRITES // 3:
                    begun.set()
                if len(writes) >= WRITES:
                    done.set()


async def test_the_leader_is_killed_during_a_thousand_writes(capsys: pytest.CaptureFixture[str]) -> None:
    """Every acknowledged write exists, and in the end a follower's view equals the tree."""
    with ZooKeeperEnsemble(hadoop_version=HADOOP) as ensemble:
        async with contextlib.AsyncExitStack() as stack:
            sessions = [
                await stack.enter_async_context(connected(ensemble.address, SESSION_S))
                for _ in range(WRITERS + 1)
            ]
            registries = [Registry(each, "/registry", AccessPolicy()) for each in sessions]
            await registries[0].make_root()
            view = View(registries[0], "/services")
            followed, begun, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
            written: list[int] = []
            writers = [Writer(registry, seed) for seed, registry in enumerate(registries[1:])]

            async def follow() -> None:
                while True:
                    await view.until_current()
                    followed.set()

            async with asyncio.timeout(10 * HANG_S), asyncio.TaskGroup() as tasks:
                following = tasks.create_task(follow())
                working = [tasks.create_task(writer.work(begun, done, written)) for writer in writers]
                await begun.wait()
                leader = ensemble.leader()
                await asyncio.to_thread(leader.process.kill)
                await done.wait()
                for task in working:
                    await task
                await asyncio.to_thread(ensemble.start)
                async with connected(ensemble.address, SESSION_S) as fresh:
                    reading = await read_tree(Registry(fresh, "/registry", AccessPolicy()), "/services")
                for writer in writers:
                    for path, possible in writer.may_be.items():
                        found = reading.records.get(path)
                        assert found in possible, path
                assert reading.unreadable == ()
                while view.records != reading.records:
                    followed.clear()
                    await followed.wait()
                following.cancel()
        assert not any(change.fault for change in view.reported if isinstance(change, Present))
        gaps = sum(isinstance(change, WatchGap) for change in view.reported)
        unanswered = sum(writer.unanswered for writer in writers)
        with capsys.disabled():
            print(f"\n{len(written)} writes answered, {unanswered} not; gaps of the follower: {gaps}")  # noqa: T201 - the figures are what is asked for
