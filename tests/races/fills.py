"""Fills alone, raced by the million: the product's reads, flights and cache, with changes made by hand.

`tests/races/model.py` races the whole system, at a few milliseconds each. This file has only a fill: the call,
the NameNode's reply, isFileClosed, the conclusion; at each moment at which it waits something happens. Each race
has its own path. The truth is a count of versions for each path and of rights for each directory.
"""

import asyncio
import itertools
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from typing import Any, Final

from nncache.cache import Caller, Fetch, Serve
from nncache.cache.decisions import Failed
from nncache.hadoop.change import Closed, Opened
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.decide.reads import Collapsed, FromMemory, FromNameNode, ReadAnswer
from nncache.proxy.messages import RequestHead, UpstreamReply
from tests.invalidation import virtual_time
from tests.model.footprints import parent_of
from tests.model.namespace import NameNodeReply
from tests.races.figures import Figures
from tests.races.fills_happenings import HAPPENINGS, Happening, Moment
from tests.races.fills_simulation import Simulation

PART: Final = "model, fills alone"
USERS: Final = ("alice", "bob")
_NODE: Final = NameNode("nn1:9870", "nn1:8020")
_RACES_PER_SIMULATION: Final = 2_000
"""Races in one simulation; then a new one starts, to bound its memory."""


class Track(Simulation):
    """A sequence of races."""

    async def race(self, number: int) -> None:
        """Hold one fill at one moment, let something happen, release the fill, and judge."""
        lap, what = divmod(number, len(HAPPENINGS) * len(Moment))
        name, happening = HAPPENINGS[what % len(HAPPENINGS)]
        moment = list(Moment)[what // len(HAPPENINGS)]
        path = f"/d{number % 7}/e{self.races}/f"
        self.races += 1
        kind = lap % 4
        self.truth.begin(path, is_there=kind != 0, is_directory=kind == 1, is_open=kind == 2)
        if lap % 5 == 1:
            await self._fill(path, "bob")
            self.cover()
        self.figures.disturbances[name.partition(",")[0]] += 1
        before = len(self.figures.violations)
        self.now += 0.01
        self.ask(path, "alice", refresh=bool(lap % 2))
        await self._go_on(path, moment, happening)
        await self._rest()
        self._judge(path)
        self.figures.races += 1
        if len(self.figures.violations) > before:
            self.figures.violations[before] += (
                f" ({name}; {moment.value}; {self.name}, race {self.races - 1})"
            )
        for each in self.windows:
            self.cache.apply(Opened(each), self.now, self.txid + 1)
            self.cache.apply(Closed(each), self.now, self.txid + 2)
            self.txid += 2
            self.truth.change(Closed(each))
        self.windows.clear()
        if self.now - self.cache.gate.fresh_as_of > 1:
            self.cache.cover(self.now, self.txid)

    async def _fill(self, path: str, user: str) -> None:
        self.ask(path, user)
        await self._rest()

    async def _go_on(self, path: str, moment: Moment, happening: Happening) -> None:
        """Advance the first fill to that moment, and let the happening occur then."""
        await _let_tasks_run()
        if moment is Moment.ASKED:
            happening(self, path)
        answers = [(future, self._reply(*args)) for future, args in self.fetching.waiting()]
        if moment is Moment.ANSWERED:
            self._happen_under(happening, path, answers)
        _give(answers)
        await _let_tasks_run()
        if moment is Moment.ASKED_WHETHER_CLOSED:
            happening(self, path)
        closed = [(future, not self.truth.is_open(args[0])) for future, args in self.asking_closed.waiting()]
        if moment is Moment.ANSWERED_WHETHER_CLOSED:
            self._happen_under(happening, path, closed)
        _give(closed)
        if moment is Moment.LANDED:
            await _let_tasks_run()
            happening(self, path)

    def _happen_under(
        self, happening: Happening, path: str, answers: list[tuple[asyncio.Future[Any], Any]]
    ) -> None:
        """Let the happening occur while replies are in flight; they can still fail."""
        self.fetching.calls += [(future, ()) for future, _ in answers]
        happening(self, path)
        self.fetching.calls = [call for call in self.fetching.calls if call[1]]

    def _reply(self, head: RequestHead, term: int) -> UpstreamReply:
        """Return the NameNode's present reply."""
        path, user = (value.decode() for _, value in head.headers)
        answer = self._answer(path, user)
        return UpstreamReply(
            status=answer.status,
            reason="",
            headers=((b"Version", b"%d" % self.truth.version(path)),),
            body=answer.body,
            namenode=_NODE,
            term=term,
            replied_at=self.now,
        )

    def _answer(self, path: str, user: str) -> NameNodeReply:
        self.truth.prove(user, path)
        inode = self.truth.inode(path)
        if inode is None:
            return NameNodeReply(404, render_missing(path))
        return NameNodeReply(200, inode)

    async def _rest(self) -> None:
        """Finish everything: answer all calls by the present state, cover, and wait for the clients."""
        for _ in range(30):
            await _let_tasks_run()
            _give([(future, self._reply(*args)) for future, args in self.fetching.waiting()])
            _give(
                [(future, not self.truth.is_open(args[0])) for future, args in self.asking_closed.waiting()]
            )
            covering = self.covering.waiting()
            if covering:
                self.cover()
                _give([(future, True) for future, _ in covering])
            if not len(self.flights) and all(task.done() for task, _, _ in self.clients):
                break
        else:
            self._say("something hangs")
        for task, path, user in self.clients:
            if not task.cancelled():
                self._judge_answer(task.result(), path, user)
        self.clients.clear()

    # -- judging

    def _say(self, what: str) -> None:
        self.figures.violations.append(what)

    def _judge_answer(self, answer: ReadAnswer, path: str, user: str) -> None:
        match answer:
            case FromMemory(hit):
                self._judge_hit(int(hit.entry.reply.headers[0][1]), path, user)
            case Collapsed(known):
                if self.truth.is_too_old(int(known.reply.headers[0][1]), path, [*self.unknown]):
                    self._say(f"NoLateFill: {path}: an old reply was shared")
            case FromNameNode(_, _, is_stored):
                self.figures.fills += 1
                self.figures.kept += is_stored
            case _:
                return

    def _judge_hit(self, version: int, path: str, user: str) -> None:
        if self.truth.is_too_old(version, path, self.unknown):
            self._say(f"NoLateFill: {path} is served at version {version}, not {self.truth.version(path)}")
        elif not self.truth.may_be_shown(version, path, user):
            self._say(f"ProvenGrant: {path} is served to {user}, who was not proven to see it then")

    def _judge(self, path: str) -> None:
        """Judge the state at rest: every served answer is true, before and after all changes are known."""
        figures = self.figures
        self._look(path)
        self.tell_all()
        self._look(path)
        self.cache.cover(self.now, self.txid)
        self._look(path)
        if self.cache.store.tickets or len(self.flights):
            self._say(f"{self.cache.store.tickets} tickets, {len(self.flights)} flights are left over")
        conclusions = self.cache.store.counters.conclusions
        figures.spoiled += sum(times for each, times in conclusions.items() if each.value == "spoiled")
        conclusions.clear()
        if self.races % 50 == 0:
            self.cache.check()

    def _look(self, path: str) -> None:
        for each, user in itertools.product((path, parent_of(path)), USERS):
            decision = self.cache.lookup(each, Caller(f"user={user}"), self.now, may_wait=False)
            if isinstance(decision, Fetch):
                self.cache.conclude(decision.ticket, Failed())
            elif isinstance(decision, Serve):
                entry = decision.hit.entry
                self._judge_hit(int(entry.reply.headers[0][1]), each, user)
                if self.now - self.cache.gate.fresh_as_of > self.cache.gate.max_staleness_s:
                    self._say(f"Bounded: {each} is served with the gate closed")
                if any(
                    each == top or each.startswith(top + "/") or each == parent_of(top)
                    for top in self.windows
                ):
                    self._say(f"OwnWrites: {each} is served under a two-step write")
                if self.truth.is_open(each) and not self.unknown:
                    self._say(f"OpenFileUncached: {each} is open, and served")


def _give(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in answers:
        if not future.done():
            future.set_result(answer)


async def _let_tasks_run() -> None:
    """Run the tasks that are ready."""
    for _ in range(4):
        await asyncio.sleep(0)


def run(races: int, seed: int, jobs: int, progress: Callable[[int], None]) -> Figures:
    """Run this number of races; call `progress` with the number so far."""
    began, figures = time.monotonic(), Figures(PART)
    simulations = range((races + _RACES_PER_SIMULATION - 1) // _RACES_PER_SIMULATION)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        for done in as_completed(
            [processes.submit(partial(tell, seed), simulation) for simulation in simulations]
        ):
            figures.add(done.result())
            progress(min(figures.races, races))
    figures.seconds = time.monotonic() - began
    return figures


def tell(seed: int, number: int) -> Figures:
    """Run the races of one simulation."""
    figures = Figures(PART)

    async def story() -> None:
        simulation = Track(random.Random(f"{seed}:{number}"), figures, f"seed {seed}, world {number}")
        async with simulation.tasks:
            for race in range(number * _RACES_PER_SIMULATION, (number + 1) * _RACES_PER_SIMULATION):
                await simulation.race(race)

    virtual_time.run(story())
    return figures
