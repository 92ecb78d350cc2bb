"""One simulation of the model: rounds of concurrent races, each brought to rest and judged."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Self

from nncache.cache import Conclusion
from nncache.hadoop.election_view import HaState
from nncache.proxy.decide.reads import ReadAnswer, StatusRead
from nncache.proxy.decide.waits import Group
from tests.invalidation.virtual_time import clock
from tests.model.channels import ChannelName
from tests.model.guarantee import Guarantee
from tests.model.system import ModelSystem
from tests.races.figures import Figures
from tests.races.model_changes import behind
from tests.races.model_ground import GLOBS, LAYOUT, USERS, Lane, anew
from tests.races.model_plan import Client, Clients, Race, Start
from tests.races.model_round import Applying, Running
from tests.races.steering import LABEL, WaitPoint

HANGS_S: Final = 60.0
"""Seconds of virtual time after which a task counts as hung."""

_CHECKED_EVERY: Final = 4
"""Number of rounds between two checks of the cache's own invariants: a check takes as long as some races."""

_WINDOW_S: Final = 6.0
_CLOSED_AFTER_S: Final = 3.2
_SILENT_S: Final = 1.0
_STAYS_S: Final = 0.3
"""How long a held task stays for tasks that may themselves wait for it."""


class Simulation:
    """A system with its lanes, as an async context manager, on a steered loop."""

    def __init__(self, seed: str, channel: ChannelName, *, lanes: int, name: str) -> None:
        self.chance = random.Random(seed)
        self.channel = channel
        self.lanes = tuple(map(Lane.of, range(lanes)))
        self.figures = Figures(name)
        self.held_at: Counter[WaitPoint] = Counter()  # of held races
        self.applying = Applying()
        self.system = ModelSystem(
            self.chance,
            channel,
            layout=LAYOUT,
            globs=GLOBS,
            poll_interval_s=self.chance.choice((1.0, 2.0)),
            grants=self.chance.choice(("per_directory", "per_path")),
            two_step_window_s=_WINDOW_S,
            two_step_query_timeout_s=_SILENT_S / 3,
        )
        self._name = name
        self._cache, self._judge = self.system.cache, self.system.judge
        self._cluster = self.system.cluster
        self._cache.on_fetch = _note_question
        self._label_groups()
        self._cache.on_conclude = _note_conclusion
        self._running: list[Running] = []
        self._rounds = 0
        self._lost_tickets = 0  # of conclusions that failed because the race injected a fault
        self._failed = 0  # number of these faults

    def _label_groups(self) -> None:
        """Serve each group of held requests under its own lane's label: one iteration serves all groups."""
        paced = self.system.front_end.waits._checks  # noqa: SLF001 - no other object knows for whom it works
        work = paced._work  # noqa: SLF001 - as above

        def serve(group: Group[StatusRead, ReadAnswer], most: int) -> int:
            paths = (wait.question.plain.path for wait in group.kept)
            path = next(paths, "")
            label = LABEL.set(
                next((each for each in self._running if path.startswith(f"{each.lane.top}/")), None)
            )
            try:
                return work(group, most)
            finally:
                LABEL.reset(label)

        paced._work = serve  # noqa: SLF001 - as above

    async def __aenter__(self) -> Self:
        self._cluster.write_nothing()  # an empty log cannot be read
        LABEL.set(self.applying)
        await self.system.__aenter__()
        LABEL.set(None)
        await self._covered()
        return self

    async def __aexit__(self, *error: object) -> None:
        self.applying.is_looked_at = False
        for hold in (self.applying.hold, *(each.hold for each in self._running)):
            if hold is not None:
                hold.release()
        await self.system.__aexit__(*error)

    # -- rounds --------------------------------------------------------------------------------------------------------

    async def race(self, races: Sequence[Race], *, is_meant: bool = True) -> list[Running]:
        """Run one round of races that hold the tasks of clients; return the races."""
        running = await self._set_up(races, is_meant=is_meant)
        for each in running:
            each.begin()
        await self._until_settled(running)
        self._judge.sweep()
        troubles = {each.race.meanwhile.trouble for each in running} - {None}
        for trouble in troubles:
            assert trouble is not None
            await trouble(self.system, self.chance)
        await self._wait(_STAYS_S, (each.then for each in running))
        if any(each.race.meanwhile.is_covered for each in running):
            await self._heal()
            await self._covered()
        for each in running:
            each.release()
        await self._rest(running)
        for each in running:
            if each.wait_point is not None and (each.is_anything or troubles):
                self._count(each, each.wait_point)
        self._tell(running)
        return running

    async def race_applying(self, races: Sequence[Race]) -> list[Running]:
        """Run one round that holds a change on its way into the cache."""
        chance, applying = self.chance, self.applying
        running = await self._set_up(races, is_meant=False)
        applying.is_looked_at = True
        troubles = [each.race.meanwhile.trouble for each in running]
        trouble = next((each for each in troubles if each is not None), None)
        has_zookeeper = self.channel is ChannelName.ZOOKEEPER
        applying.aim(chance, is_troubled=trouble is not None, has_zookeeper=has_zookeeper)
        is_late = chance.random() < 0.5
        if not is_late:
            self._happen(running)
        if trouble is not None:
            await trouble(self.system, chance)
        self.system.consumer.request_probe()
        deadline = clock() + 2.0
        while applying.wait_point is None and clock() < deadline:  # noqa: ASYNC110 - it costs no real time
            await asyncio.sleep(0.003)
        for each in running:
            each.begin()
        if is_late:
            self._happen(running)
        await self._wait(chance.choice((0.0, 0.0005, 0.002, 0.02)), ())
        self._judge.sweep()
        await self._wait(chance.choice((0.0, _STAYS_S)), (task for each in running for task in each.tasks))
        wait_point, hold = applying.wait_point, applying.hold
        applying.is_aiming = False
        if hold is not None and wait_point is not None:
            hold.release(self._applier_goes_on(wait_point, running))
        await asyncio.sleep(0)
        self._judge.sweep()
        await self._rest(running)
        if wait_point is not None:
            for each in running:
                if each.is_anything or trouble is not None:
                    self._count(each, wait_point)
        self._tell(running)
        return running

    def _applier_goes_on(self, wait_point: WaitPoint, running: Sequence[Running]) -> Any:
        """Return an error for the held task, if one fits there."""
        verdict = running[0].race.meanwhile.verdict
        if verdict is None or len(wait_point.places) < 2:
            return None
        thrown = verdict()
        return thrown if hasattr(thrown, "error") else None

    def _happen(self, running: Sequence[Running]) -> None:
        for each in running:
            at_once = each.race.meanwhile.at_once
            each.is_anything = at_once is not None and at_once(self.system, each.lane, each.path)

    def _count(self, each: Running, wait_point: WaitPoint) -> None:
        figures = self.figures
        figures.races += 1
        self.held_at[wait_point] += 1
        figures.disturbances[each.race.meanwhile.name] += 1
        if each.is_fill:
            figures.fills += 1
            if any(conclusion.is_shareable for conclusion in each.conclusions):
                figures.kept += 1
            elif Conclusion.SPOILED in each.conclusions:
                figures.spoiled += 1

    # -- parts of a round ----------------------------------------------------------------------------------------------

    async def _set_up(self, races: Sequence[Race], *, is_meant: bool) -> list[Running]:
        """Recreate the lanes, and put each into its race's initial state."""
        system = self.system
        self._cluster.write(anew(self.lanes))
        await self._covered()
        while self._windows():
            await asyncio.sleep(_WINDOW_S / 2)
            await self._covered()
        self._cluster.forget_history(lambda _, directory: directory == "/")
        system.call_takes_s = 0.0
        running = [
            Running(race, lane, system, is_meant=is_meant)
            for race, lane in zip(races, self.lanes, strict=False)
        ]
        self._running = running
        for each in running:
            if each.race.start.first is not None:
                behind(system, each.race.start.first(each.lane, each.path))
        if any(each.race.start.first is not None for each in running):
            await self._covered()
        await self._done(self._clients(running, lambda start: start.covered))
        await self._covered()
        await self._done(self._clients(running, lambda start: start.fresh))
        start = races[0].start
        if start.is_gate_closed:
            self._cluster.active.is_reachable = False
            await asyncio.sleep(_CLOSED_AFTER_S)
        if start.is_silent or start.is_refused:
            system.queries.is_silent, system.queries.is_refused = start.is_silent, start.is_refused
            asyncio.get_running_loop().call_later(_SILENT_S, self._speak)
        system.call_takes_s = self.chance.choice((0.001, 0.001, 0.001, 0.01, 0.08))
        for client in self._clients(running, lambda start: start.beside):
            system.come(client)
        await asyncio.sleep(0)
        return running

    def _clients(self, running: Sequence[Running], of: Callable[[Start], Clients | None]) -> Iterator[Client]:
        for each in running:
            if make := of(each.race.start):
                yield from make(self.system, each.lane, each.path)

    def _speak(self) -> None:
        self.system.queries.is_silent = self.system.queries.is_refused = False

    def _windows(self) -> int:
        """Return the number of two-step writes in flight, as far as the cache knows."""
        self._cache.explain("/any", clock())  # it drops the windows that have expired
        return self._cache.stats(clock()).windows

    async def _done(self, clients: Iterator[Client]) -> None:
        tasks = [self.system.come(client) for client in clients]
        if tasks:
            await asyncio.wait(tasks)

    async def _until_settled(self, running: Sequence[Running]) -> None:
        deadline = clock() + HANGS_S
        while clock() < deadline and not all(each.is_settled for each in running):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.003)

    async def _wait(self, timeout_s: float, tasks: Iterator[asyncio.Task[Any] | None] | tuple[()]) -> None:
        waited = [task for task in tasks if task is not None]
        if waited:
            await asyncio.wait(waited, timeout=timeout_s)
        elif timeout_s < _STAYS_S:
            await asyncio.sleep(timeout_s)

    async def _covered(self) -> None:
        """Wait until all changes acknowledged before now are covered."""
        since, consumer, gate = clock(), self.system.consumer, self._cache.gate
        while gate.fresh_as_of <= since:  # a change acknowledged at this very moment counts
            consumer.request_probe()
            await consumer.wait_covered(1.0)
            if clock() > since + HANGS_S:
                self._say(f"no coverage within {HANGS_S:g} s")
                return

    async def _heal(self) -> None:
        self._cluster.sync()
        for namenode in self._cluster.namenodes:
            namenode.is_reachable = namenode.answers_jmx = namenode.answers_journal = True
            namenode.during_call = None
            namenode.state = HaState.ACTIVE if namenode is self._cluster.active else HaState.STANDBY
        self._speak()
        self.system.channel.heal()

    async def _rest(self, running: Sequence[Running]) -> None:
        """Let everything end, and judge it."""
        system = self.system
        await asyncio.sleep(0)
        self._judge.sweep()
        await self._heal()
        tasks = [task for each in running for task in (*each.tasks, each.then) if task is not None]
        _, pending = await asyncio.wait(tasks, timeout=HANGS_S)
        for task in pending:
            self._say(f"a client waits for ever: {task.get_coro()}")
            task.cancel()
        system.call_takes_s = 0.0
        self._judge.sweep()
        await self._covered()
        self._judge.sweep()
        held = [
            each for each in running if each.wait_point is not None or self.applying.wait_point is not None
        ]
        await self._done(system.read(each.path, user) for each in held for user in USERS)
        await system.clients_left()
        deadline = clock() + HANGS_S
        while system.front_end.stats().flights and clock() < deadline:  # noqa: ASYNC110 - it costs no time here
            await asyncio.sleep(1.0)  # no client waits for them any more
        self._judge.sweep()
        if flights := system.front_end.stats().flights:
            self._say(f"{flights} flights are left")
        tickets = self._cache.stats(clock()).tickets
        if tickets != self._lost_tickets and self._cache.failed == self._failed:
            self._say(f"{tickets} tickets are left")
        self._lost_tickets, self._failed = tickets, self._cache.failed
        self._rounds += 1
        if self._rounds % _CHECKED_EVERY == 0:
            try:
                self._cache.check()
            except AssertionError as broken:
                self._say(f"the cache's own invariants do not hold: {broken!r}")

    def _say(self, what: str) -> None:
        self._judge.say(Guarantee.FAIL_TO_NAMENODE, what)

    def _tell(self, running: Sequence[Running]) -> None:
        """Record the violations of this round."""
        for violation in self._judge.violations:
            found = [each for each in running if each.lane.top in violation.what]
            if (
                violation.guarantee is Guarantee.FAIL_TO_NAMENODE
                and found
                and all(each.failure is not None and each.failure in violation.what for each in found)
            ):
                continue
            races = "; ".join(f"{each.race} at {each.wait_point}" for each in found)
            self.figures.violations.append(f"{violation.guarantee}: {violation.what} [{self._name}: {races}]")
        self._judge.violations.clear()


def _note_question() -> None:
    label = LABEL.get()
    if isinstance(label, Running):
        label.asked()


def _note_conclusion(conclusion: Conclusion) -> None:
    label = LABEL.get()
    if isinstance(label, Running):
        label.concluded(conclusion)
