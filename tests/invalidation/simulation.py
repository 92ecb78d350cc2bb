"""A pair of NameNodes, and the acts that change or break it."""

import asyncio
import copy
from collections.abc import Callable, Mapping

from nncache.hadoop.election_view import HaState
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.edits.direct import DirectInotifyEventInputStream
from nncache.invalidation.stream import InotifyEventInputStream
from tests.invalidation.fakes import FakeLog, FakeNameNode, FakePool
from tests.invalidation.judge import Judge
from tests.invalidation.virtual_time import clock, until
from tests.setup import channel_setup


class Simulation:
    """Two NameNodes over a shared log, writers, the pool and a consumer, by default on the direct channel.

    One act is missing, the named exception of Bounded: an old active that still considers itself active while the new
    one cannot be probed. HDFS is responsible for fencing the old one.
    """

    def __init__(self, log: FakeLog | None = None) -> None:
        first = FakeNameNode("nn1", log)
        first.unlink("/0")
        self.namenodes = (first, FakeNameNode("nn2", first.log, active=False))
        self.active = first  # the NameNode that takes writes
        self.judge = Judge(clock)
        self.pool = FakePool(clock, *self.namenodes)
        self.stream: InotifyEventInputStream = DirectInotifyEventInputStream(channel_setup(self.pool, clock))
        self._writes = 0

    @property
    def other(self) -> FakeNameNode:
        """The NameNode that takes no writes."""
        return self.namenodes[self.active is self.namenodes[0]]

    def write(self, how_many: int) -> None:
        """Make and acknowledge `how_many` changes."""
        for _ in range(how_many):
            self._writes += 1
            path = f"/{self._writes}"
            self.active.unlink(path)
            self.judge.acknowledge(path)

    def fail_over(self) -> None:
        """Transition to the other NameNode with fencing."""
        self.fence()
        self.active.state = HaState.STANDBY
        self._promote_other()

    def split(self) -> None:
        """Make the other NameNode active while the old one, cut off from the log, still considers itself active."""
        self.fence()
        old = self.active
        self.other.answers_jmx = True
        self._promote_other()
        old.log = copy.deepcopy(old.log)

    def fence(self) -> None:
        """Fence the other NameNode: it becomes standby on the shared log."""
        self.other.state, self.other.log = HaState.STANDBY, self.active.log

    def purge(self) -> None:
        """Purge all transactions but the last."""
        self.active.log.first_kept = self.active.log.end

    def fall_silent(self, which: int) -> None:
        """Stop the JMX replies of one NameNode, except the new active's during a split."""
        namenode = self.namenodes[which % 2]
        is_split = self.other.state is HaState.ACTIVE
        namenode.answers_jmx = is_split and namenode is self.active

    def become_unreachable(self) -> None:
        """Make the RPC port of the active NameNode unreachable."""
        self.active.is_reachable = False
        self.active.cut()

    def set_pages(self, events: int) -> None:
        """Limit the events per page."""
        for namenode in self.namenodes:
            namenode.max_events = events

    def set_speed(self, call_takes_s: float) -> None:
        """Set the duration of each call."""
        for namenode in self.namenodes:
            namenode.takes_s = call_takes_s

    def under_a_call(self, act: Callable[[FakeNameNode], None]) -> None:
        """Schedule an act between the next call and its reply."""
        namenode = self.active
        namenode.during_call = lambda: act(namenode)

    def end_outages(self) -> None:
        """Make both NameNodes reachable again."""
        for namenode in self.namenodes:
            namenode.is_reachable = namenode.answers_jmx = True

    def heal(self) -> None:
        """End all outages and limits."""
        self.fence()
        self.end_outages()
        self.set_pages(1000)
        self.set_speed(0.0005)

    def act(self, act: str, number: int) -> None:
        """Carry out one act."""
        ACTS[act](self, number)

    async def tell(self, history: list[tuple[str, int, float]]) -> None:
        """Carry out a history of (act, number, pause), heal everything, and check that coverage resumes."""
        consumer = Consumer(self.judge, self.stream, clock, chance=lambda: 0.5)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(consumer.run()), tasks.create_task(self.pool.run())]
            for act, number, pause_s in history:
                self.act(act, number)
                await asyncio.sleep(pause_s)
            self.heal()
            healed_at = clock()
            await until(lambda: self.judge.fresh_as_of > healed_at)
            for task in running:
                task.cancel()
        assert not self.judge.wrongs

    def _promote_other(self) -> None:
        other = self.other
        other.state, other.log = HaState.ACTIVE, self.active.log
        other.transition_ms += 1
        self.active = other
        other.write()


ACTS: Mapping[str, Callable[[Simulation, int], object]] = {
    "write": lambda simulation, number: simulation.write(number),
    "write without an event": lambda simulation, _: simulation.active.write(),
    "fail over": lambda simulation, _: simulation.fail_over(),
    "split": lambda simulation, _: simulation.split(),
    "fence": lambda simulation, _: simulation.fence(),
    "restart": lambda simulation, _: simulation.active.restart(),
    "cut": lambda simulation, _: simulation.active.cut(),
    "cut under a call": lambda simulation, _: simulation.under_a_call(FakeNameNode.cut),
    "restart under a call": lambda simulation, _: simulation.under_a_call(FakeNameNode.restart),
    "write under a call": lambda simulation, _: simulation.under_a_call(lambda _: simulation.write(1)),
    "become unreachable": lambda simulation, _: simulation.become_unreachable(),
    "fall silent": lambda simulation, number: simulation.fall_silent(number),
    "end outages": lambda simulation, _: simulation.end_outages(),
    "purge": lambda simulation, _: simulation.purge(),
    "small pages": lambda simulation, number: simulation.set_pages(number),
    "slow": lambda simulation, number: simulation.set_speed(0.02 * number),
    "probe": lambda simulation, _: simulation.pool.probe(),
}
"""All acts by name; the number is an amount or an index."""
