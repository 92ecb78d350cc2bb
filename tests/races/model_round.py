"""One race of the model: it waits for its moment, lets something happen there, and records the outcome."""

import asyncio
import random
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, Final, TypeVar, cast

from nncache.cache import Conclusion
from tests.model.system import ModelSystem
from tests.races.model_ground import Lane
from tests.races.model_plan import Race
from tests.races.steering import CANCEL, LABEL, Arrival, Cancel, Hold, Steering, Throw, Verdict, WaitPoint

_T = TypeVar("_T")

_ASKS_THE_NAMENODE: Final = frozenset({"LimitedFetcher.fetch", "Writes.pass_through"})
"""An error raised while these wait counts as the NameNode's: the client gets it."""

_OWN_TASKS: Final = {"Flights._run": "", "Waits._answer_to": ": 503 "}
"""Tasks that ask for others and that only the proxy's end cancels, with the error that a client then gets."""


class Running:
    """A race from start to end: the label of all its tasks.

    Attributes:
        wait_point: where it was held; None: nowhere.
        is_anything: something happened there.
        is_fill: it was a read that had called the NameNode and had no conclusion yet.
        conclusions: the conclusions of its replies since then.
        failure: its clients may get an error with this text, since one was thrown where only the NameNode can
            fail, or the proxy ends; None: they may get none.
    """

    def __init__(self, race: Race, lane: Lane, system: ModelSystem, *, is_meant: bool = True) -> None:
        self.race = race
        self.lane = lane
        self.path = lane.path(race.errand.on)
        self.wait_point: WaitPoint | None = None
        self.hold: Hold | None = None
        self.is_anything = False
        self.is_fill = False
        self.failure: str | None = None
        self.conclusions: list[Conclusion] = []
        self.steps = 0  # seen so far
        self.tasks: list[asyncio.Task[Any]] = []
        self.then: asyncio.Task[Any] | None = None
        self._system = system
        self._asked = 0
        self._concluded = 0
        self._is_meant = is_meant  # False: only its steps are counted

    @property
    def is_looked_at(self) -> bool:
        """Whether the steering must check where its tasks wait."""
        return self.wait_point is None

    @property
    def is_settled(self) -> bool:
        """Whether it is held or over."""
        return self.hold is not None or all(task.done() for task in self.tasks)

    def begin(self) -> None:
        """Start the clients."""
        before = LABEL.set(self)
        self.tasks = [
            self._system.come(client) for client in self.race.errand.clients(self._system, self.path)
        ]
        LABEL.reset(before)

    def asked(self) -> None:
        """Count a decision of one of its tasks to call the NameNode."""
        self._asked += 1

    def concluded(self, conclusion: Conclusion) -> None:
        """Count the conclusion of a call, and record it if it came after the hold."""
        self._concluded += 1
        if self.wait_point is not None:
            self.conclusions.append(conclusion)

    def arrive(self, arrival: Arrival) -> Verdict:
        """Return the steering's verdict on an arrival."""
        if self.wait_point is not None:
            return None
        self.steps += 1
        if not self._is_meant or self.steps <= self.race.step:
            return None
        self.wait_point = arrival.wait_point
        return self._meet(arrival)

    def _meet(self, arrival: Arrival) -> Verdict:
        meanwhile, system = self.race.meanwhile, self._system
        self.is_fill = self.race.errand.is_read and self._asked > self._concluded
        self.is_anything = meanwhile.at_once is None or meanwhile.at_once(system, self.lane, self.path)
        if meanwhile.then is not None:
            self.then = system.come(meanwhile.then(system, self.lane, self.path))
        if meanwhile.holds:
            self.hold = Hold()
            if meanwhile.client_leaves:
                asyncio.get_running_loop().call_soon(self.tasks[0].cancel)
            return self.hold
        if meanwhile.client_leaves:
            if arrival.task is self.tasks[0]:
                return CANCEL
            self.tasks[0].cancel()
            return None
        return self.verdict()

    def verdict(self) -> Throw | Cancel | None:
        """Return the fate of the held task."""
        make = self.race.meanwhile.verdict
        if make is None or self.wait_point is None:
            return None
        verdict = make()
        if isinstance(verdict, Cancel):
            self.failure = _OWN_TASKS.get(self.wait_point.places[0].qualname)
        else:
            self.failure = "" if self.wait_point.innermost.qualname in _ASKS_THE_NAMENODE else None
        return verdict

    def release(self) -> None:
        """Release the held task; from now on none is held."""
        self._is_meant = False
        if self.hold is not None:
            self.hold.release(self.verdict())


class Applying:
    """The label of all tasks that bring a change into the cache.

    Attributes:
        wait_point: where one of them was held in this round.
    """

    def __init__(self) -> None:
        self.is_looked_at = False
        self.wait_point: WaitPoint | None = None
        self.hold: Hold | None = None
        self.countdown = 0
        self.is_aiming = False
        self.is_curious = False
        self.about = ""
        self.known: set[WaitPoint] = set()  # where one was held before

    def aim(self, chance: random.Random, *, is_troubled: bool, has_zookeeper: bool) -> None:
        """Hold a task at a new wait point if possible, else at any; a trouble leads to rare ones."""
        self.wait_point = self.hold = None
        is_about = is_troubled and chance.random() < _ABOUT
        self.is_curious = is_about or chance.random() < _CURIOUS
        patience = _PATIENCE_OF_ZOOKEEPER if has_zookeeper else _PATIENCE
        self.countdown = patience if is_troubled and self.is_curious else chance.randrange(12)
        self.about = chance.choice(_RARELY_COME_BY[has_zookeeper]) if is_about else ""
        self.is_aiming = True

    def arrive(self, arrival: Arrival) -> Verdict:
        """Return the steering's verdict on an arrival."""
        wait_point = arrival.wait_point
        if not self.is_aiming or wait_point.places[0].module in _OF_THE_PUBLISHER:
            return None
        if not any(self.about in place.key for place in wait_point.places):
            return None
        if self.countdown > 0 and (wait_point in self.known or not self.is_curious):
            self.countdown -= 1
            return None
        self.known.add(wait_point)
        self.wait_point = wait_point
        self.hold = Hold()
        self.is_aiming = False
        return self.hold


_OF_THE_PUBLISHER: Final = frozenset({"invalidation.edits.poller", "invalidation.edits.confirmed_namenode"})
"""Modules that are outermost in the publisher's tasks; in the proxy's, a consumer or a stream is."""

_PATIENCE: Final = 100
_PATIENCE_OF_ZOOKEEPER: Final = 2000
"""Arrivals at known wait points to let pass: on this channel a stream has hundreds before the next."""

_CURIOUS: Final = 0.8
"""Share of rounds that hold the first task at a new wait point."""

_ABOUT: Final = 0.5
"""Share of the rounds with a trouble in which only a rarely reached place counts."""

_RARELY_COME_BY: Final = {
    False: ("PolledEdits.start: ", "PolledEdits.start: await self._pause", ".wait_probed("),
    True: ("Stream.open: ", ".wait_active(", ".wait_probed("),
}
"""The start of a stream, direct or with ZooKeeper, above all while no NameNode is active."""


class ModelSteering(Steering):
    """Checks only tasks of races that wait for their moment: a check is expensive."""

    def look(self, coroutine: Coroutine[Any, Any, Any]) -> WaitPoint | None:
        """Return where a suspended coroutine waits."""
        label = LABEL.get()
        if isinstance(label, Running | Applying) and label.is_looked_at:
            return super().look(coroutine)
        return None

    def task_factory(
        self,
        loop: asyncio.AbstractEventLoop,
        coroutine: Coroutine[Any, Any, _T] | Generator[Any, None, _T],
        *,
        context: Context | None = None,
    ) -> asyncio.Task[_T]:
        """Create a task."""
        label = LABEL.get()
        if isinstance(label, Applying) or (isinstance(label, Running) and label.is_looked_at):
            return super().task_factory(loop, coroutine, context=context)
        return asyncio.Task(cast("Coroutine[Any, Any, _T]", coroutine), loop=loop, context=context)


def arrive(arrival: Arrival) -> Verdict:
    """Pass an arrival to the label of its task; the steering's watcher."""
    label = arrival.label
    return label.arrive(arrival) if isinstance(label, Running | Applying) else None
