"""One lane of races on the real stack: each holds a task and has something happen there. (tests/races/lane.py)

Several lanes run side by side, each on paths of its own. Three kinds of race:

- `fill`: a read is held, and its path changes meanwhile.
- `write`: a write through the proxy is held, and its path is read meanwhile.
- `apply`: whoever learns of changes is held, and a path changes and is read meanwhile.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from cache.decisions import Conclusion
from proxy.flights import Flight
from tests.races.aims import Aim, Book, Errand
from tests.races.changes import CHANGES, Change, Ground, Hdfs, Plot, Refused
from tests.races.client import Client, GoneError, Reply
from tests.races.figures import Figures
from tests.races.judging import Judge
from tests.races.proxied import Proxied
from tests.races.steering import CANCEL, Cancel, Throw

USERS: Final = ("alice", "bob", "carol")
_KNOWN_S: Final = 2.0  # a change is waited for so long while a task is held
_REACHED_S: Final = 0.5  # an aim that is not met by then is given up


class How(StrEnum):
    """How the change is made."""

    THROUGH = "through the proxy"
    KNOWN = "behind its back, applied before it goes on"
    BEHIND = "behind its back"


class Fate(StrEnum):
    """What becomes of the task that is held."""

    GO_ON = "goes on"
    CANCELLED = "cancelled"
    FAILED = "error"
    LEFT = "client left"


_FATES: Final = (Fate.GO_ON,) * 5 + (Fate.CANCELLED, Fate.FAILED, Fate.LEFT)
_ERRORS: Final[tuple[Callable[[str], Exception], ...]] = (RuntimeError, ConnectionResetError, TimeoutError)


@dataclass
class Shared:
    """What all lanes of a run share."""

    proxy: Proxied
    hdfs: Hdfs
    namenode: str  # "host:port" of its WebHDFS, past any proxy and relay
    figures: Figures
    errands: dict[int, Errand] = field(default_factory=dict)  # by the port of the client
    background: Errand = field(default_factory=Errand)  # of the tasks that work for no client
    fills: Book = field(default_factory=Book)
    writes: Book = field(default_factory=Book)
    applies: Book = field(default_factory=Book)
    apply_lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # one such race at a time


class Lane:
    """Races one after another on connections and paths of its own."""

    def __init__(self, shared: Shared, root: str, seed: str) -> None:
        self._shared = shared
        self._chance = random.Random(seed)
        self._seed = seed
        self._namenode = Client(shared.namenode)
        self._reader, self._writer, self._checker = (Client(shared.proxy.address) for _ in range(3))
        self._reading, self._writing = Errand(), Errand()  # on the connections on which something is held
        self._ground = Ground(shared.hdfs, self._namenode, root)
        self._number = 0
        self._is_calm = True  # nothing was done to what was held last

    def close(self) -> None:
        """Hang up."""
        for client in (self._namenode, self._reader, self._writer, self._checker):
            client.hang_up()

    async def race(self) -> bool:
        """Make one race; False if the task never stood where it was to be held."""
        self._number += 1
        self._is_calm = True
        await self._connect()
        kind = self._chance.choices(("fill", "write", "apply"), (6, 3, 1))[0]
        if kind == "apply" and self._shared.apply_lock.locked():
            kind = "fill"
        change = self._chance.choice(CHANGES)
        plot = await self._ground.prepare(change)
        users = tuple(self._chance.sample(USERS, self._chance.choice((1, 2))))
        shared = self._shared
        judge = Judge(shared.proxy, shared.hdfs, self._namenode, self._checker, plot.path, users)
        try:
            match kind:
                case "fill":
                    is_race = await self._fill(plot, change, judge)
                case "write":
                    is_race = await self._write(plot, change, judge)
                case _:
                    is_race = await self._apply(plot, change, judge)
        except TimeoutError as exc:
            judge.wrong.append(f"hangs: {exc!r}")
            is_race = True
        shared.figures.races += is_race
        where = f"{self._seed}, race {self._number}, {kind}, {change.name}"
        shared.figures.violations += [f"{where}: {wrong}" for wrong in judge.wrong]
        if not self._is_calm:  # what was done to it may have ended a connection at the other side
            self._reader.hang_up()
            self._writer.hang_up()
        await self._ground.clear(plot)
        return is_race

    # ---- the three kinds -----------------------------------------------------------------------------------------

    async def _fill(self, plot: Plot, change: Change, judge: Judge) -> bool:
        user = judge.users[0]
        how, fate = self._chance.choice(tuple(How)), self._chance.choice(_FATES)
        await self._warm(judge)
        await judge.look()
        shared = self._shared
        aim = self._reading.aim = Aim(shared.fills, self._chance)
        target = shared.hdfs.status(plot.path, user)
        fresh = "Cache-Control: no-cache\r\n" if self._chance.random() < 0.2 else ""
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(_answer(self._reader, target, fresh, judge))
            if not await _is_met(aim, reading):
                await reading
                return False
            flight = shared.proxy.flight_of(plot.path)
            await self._make(change, plot, how, judge)
            self._end(aim, fate, self._reader)
            reply = await reading
        self._judge_reply(reply, user, fate, judge, change)
        await self._count_fill(flight, judge)
        self._note(aim, how.value, fate)
        if how is How.BEHIND and not await judge.applied(shared.proxy.clock(), "afterwards"):
            return True
        await judge.agree("afterwards")
        return True

    async def _write(self, plot: Plot, change: Change, judge: Judge) -> bool:
        user = judge.users[0]
        fate = self._chance.choice(_FATES)
        await self._warm(judge)
        await judge.look()
        shared = self._shared
        aim = self._writing.aim = Aim(shared.writes, self._chance)
        async with asyncio.TaskGroup() as tasks:
            writing = tasks.create_task(self._written(change, plot, self._writer))
            if not await _is_met(aim, writing):
                await writing
                await judge.agree("after a write that was not held")
                return False
            await judge.look()
            reply = await judge.read(user)
            await judge.look()
            judge.judge_early(reply, user, "while a write is held", is_two_step=change.is_two_step)
            self._end(aim, fate, self._writer)
            is_done = await writing
        self._note(aim, "read while it is written", fate)
        if not is_done and fate is Fate.GO_ON:
            judge.wrong.append("a write that nothing happened to was refused")
        await judge.agree("after the write", at_once=is_done)
        return True

    async def _apply(self, plot: Plot, change: Change, judge: Judge) -> bool:
        shared = self._shared
        fate = self._chance.choice((Fate.GO_ON,) * 9 + (Fate.FAILED,))
        await self._warm(judge)
        await judge.look()
        async with shared.apply_lock:
            aim = shared.background.aim = Aim(shared.applies, self._chance)
            try:
                async with asyncio.timeout(_REACHED_S):
                    await aim.hold.reached
            except TimeoutError:
                aim.hold.release()
                return False
            finally:
                shared.background.aim = None
            try:
                await self._make(change, plot, self._chance.choice((How.THROUGH, How.BEHIND)), judge)
                for user in judge.users:
                    reply = await judge.read(user)
                    judge.judge_early(reply, user, "while changes wait", is_two_step=change.is_two_step)
            finally:
                self._end(aim, fate, None)
        self._note(aim, "changed and read while changes wait", fate)
        if await judge.applied(shared.proxy.clock(), "afterwards"):
            await judge.agree("afterwards")
        return True

    # ---- parts ---------------------------------------------------------------------------------------------------

    async def _warm(self, judge: Judge) -> None:
        """Have the path in memory in some of the races, for its reader or for somebody else."""
        if self._chance.random() < 0.4:
            await judge.read(self._chance.choice(judge.users))

    async def _connect(self) -> None:
        """See that both connections are there, and known by their ports."""
        for client, errand in ((self._reader, self._reading), (self._writer, self._writing)):
            errand.aim = None
            if not client.port:
                await client.connect()
                errands = self._shared.errands
                for port in [port for port, known in errands.items() if known is errand]:
                    del errands[port]
                errands[client.port] = errand

    async def _make(self, change: Change, plot: Plot, how: How, judge: Judge) -> None:
        """Make the change while a task is held; what is known of it then must show at once."""
        via = self._writer if how is How.THROUGH else self._namenode
        await change.act(self._shared.hdfs, plot, via)
        acked_at = self._shared.proxy.clock()
        await judge.look()
        match how:
            case How.THROUGH:
                await judge.agree("after a write through the proxy, a task still held", users=judge.users[:1])
            case How.KNOWN:
                # The one that is held may be in the way of whoever learns of changes: then it is let go first.
                if await self._shared.proxy.covered(acked_at, _KNOWN_S):
                    await judge.agree("after a change was applied, a task still held", users=judge.users[:1])
            case How.BEHIND:
                pass

    async def _written(self, change: Change, plot: Plot, via: Client) -> bool:
        """Write through the proxy; False if nobody knows what came of it."""
        try:
            await change.act(self._shared.hdfs, plot, via)
        except (Refused, GoneError, TimeoutError):
            return False
        return True

    def _end(self, aim: Aim, fate: Fate, client: Client | None) -> None:
        self._reading.aim = self._writing.aim = None
        verdict: Throw | Cancel | None = None
        match fate:
            case Fate.CANCELLED:
                verdict = CANCEL
            case Fate.FAILED:
                verdict = Throw(self._chance.choice(_ERRORS)("thrown by a race"))
            case Fate.LEFT if client is not None:
                client.hang_up()
            case _:
                pass
        self._is_calm = fate is Fate.GO_ON
        aim.hold.release(verdict)

    def _judge_reply(self, reply: Reply | None, user: str, fate: Fate, judge: Judge, change: Change) -> None:
        if reply is None or reply.status >= 500:
            if fate is Fate.GO_ON:
                judge.wrong.append(f"a read that nothing happened to got {reply} (FailToNameNode)")
            return
        judge.judge_early(reply, user, "the read that was held", is_two_step=change.is_two_step)

    async def _count_fill(self, flight: Flight | None, judge: Judge) -> None:
        if flight is None:
            return
        landing = await flight.landing(10.0)
        figures = self._shared.figures
        figures.fills += 1
        if landing is None:
            judge.wrong.append("a flight never landed")
        elif landing.conclusion is Conclusion.SPOILED:
            figures.spoiled += 1
        elif landing.conclusion.is_shareable:
            figures.kept += 1

    def _note(self, aim: Aim, what: str, fate: Fate) -> None:
        figures = self._shared.figures
        for place in dict.fromkeys(aim.hold.reached.result().stand.places):
            figures.held[place] += 1
        figures.disturbances[what] += 1
        if fate is not Fate.GO_ON:
            figures.disturbances[fate.value] += 1


async def _answer(client: Client, target: str, headers: str, judge: Judge) -> Reply | None:
    """Return the reply; None if there was none."""
    try:
        return await client.ask("GET", target, headers=headers)
    except GoneError:
        return None
    except TimeoutError:
        judge.wrong.append(f"{target} hangs")
        return None


async def _is_met(aim: Aim, work: asyncio.Task[Any]) -> bool:
    """Wait until the aim is met, or the work has ended without."""
    await asyncio.wait((aim.hold.reached, work), return_when=asyncio.FIRST_COMPLETED)
    if aim.hold.reached.done():
        return True
    aim.hold.release()
    return False
