"""One lane of races on the real stack, with its own connections and paths.

Several lanes run concurrently, each with one race at a time; `tests/races/kinds.py` has the kinds of race.
"""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from nncache.cache.decisions import Conclusion
from nncache.proxy.decide.flights import Flight
from tests.http_client import Reply
from tests.races.aims import Aim, Book, Errand, error_at
from tests.races.changes import Change, Ground, Hdfs, Plot, Refused
from tests.races.client import Client, GoneError
from tests.races.figures import Figures
from tests.races.judging import Judge
from tests.races.proxied import Proxied
from tests.races.steering import CANCEL, Cancel, Throw

_APPLYING: Final = 4  # concurrent races that hold, or are to hold, an event consumer
_ASKED_SHARE: Final = 0.3  # of the changes known during a hold: someone reads right then
_KNOWN_S: Final = 2.0  # the maximum wait for a change during a hold


class Kind(StrEnum):
    """The kinds of race."""

    FILL = "fill"  # a read is held, and its path changes
    JOIN = "join"  # a read that joined another's call is held, and its path changes
    WRITE = "write"  # a write through the proxy is held, and its path is read
    PASS = "pass"  # a long reply is held in transit
    APPLY = "apply"  # an event consumer is held; a path changes and is read


class How(StrEnum):
    """The way in which the change is made."""

    THROUGH = "through the proxy"
    KNOWN = "behind its back, applied before it goes on"
    BEHIND = "behind its back"


class Fate(StrEnum):
    """The fate of the held task."""

    GO_ON = "goes on"
    CANCELLED = "cancelled"
    FAILED = "error"
    LEFT = "client left"


@dataclass(frozen=True, slots=True)
class Listing:
    """A directory that does not change, with the NameNode's reply."""

    path: str
    status_and_body: tuple[int, bytes]


@dataclass
class Shared:
    """The state that all lanes of a run share.

    Attributes:
        weights: the frequency of each kind of race.
        users: the readers.
        is_shaken: the NameNode is slow or unavailable at times, so calls may fail without any fault.
        listings: of a directory with a long listing, and of one whose listing just fits into one write.
    """

    proxy: Proxied
    hdfs: Hdfs
    namenode: str  # "host:port" of its WebHDFS, past any proxy and relay
    figures: Figures
    changes: tuple[Change, ...]
    weights: Mapping[Kind, int]
    users: tuple[str, ...]
    is_shaken: bool = False
    listings: tuple[Listing, ...] = ()
    errands: dict[int, Errand] = field(default_factory=dict)  # by the client's port
    background: Errand = field(default_factory=Errand)  # of the tasks of no client
    books: dict[Kind, Book] = field(default_factory=lambda: {kind: Book() for kind in Kind})
    applying: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_APPLYING))


class Lane:
    """Connections, a ground, and the steps that every kind of race uses."""

    def __init__(self, shared: Shared, root: str, seed: str) -> None:
        self.shared = shared
        self.chance = random.Random(seed)
        self.namenode = Client(shared.namenode)
        self.reader, self.second, self.writer, self.checker = (Client(shared.proxy.address) for _ in range(4))
        self.slow = Client(shared.proxy.address, receive_buffer_bytes=1024)
        self.reading, self.joining, self.writing, self.passing = (Errand() for _ in range(4))
        self.ground = Ground(shared.hdfs, self.namenode, root)
        self.seed = seed
        self.number = 0  # of the current race
        self.is_calm = True  # nothing was done to the task held last
        self.held_at = ""  # the place and the fate, to help find a fault
        self.happened = ""  # how the change was made, and how long it took

    @property
    def errands(self) -> tuple[Errand, ...]:
        """The errands of its clients that races are held for."""
        return self.reading, self.joining, self.writing, self.passing

    def close(self) -> None:
        """Close all connections."""
        for client in (self.namenode, self.reader, self.second, self.writer, self.checker, self.slow):
            client.hang_up()

    async def begin(self, change: Change) -> tuple[Plot, Judge]:
        """Prepare the next race."""
        self.number += 1
        self.is_calm, self.held_at, self.happened = True, "", ""
        for client, errand in (
            (self.reader, self.reading),
            (self.second, self.joining),
            (self.writer, self.writing),
            (self.slow, self.passing),
        ):
            await self._connect(client, errand)
        await self.checker.connect()
        self.shared.errands.pop(self.checker.port, None)  # a port that another client had
        plot = await self.ground.prepare(change)
        # Otherwise events of the preparation would spoil the race's ticket.
        await self.shared.proxy.covered(self.shared.proxy.clock(), _KNOWN_S)
        users = tuple(self.chance.sample(self.shared.users, self.chance.choice((1, 1, 2))))
        shared = self.shared
        judge = Judge(shared.proxy, shared.hdfs, self.namenode, self.checker, plot.path, users)
        judge.patience_s = 10.0 if shared.is_shaken else 0.0
        return plot, judge

    async def end(self, plot: Plot) -> None:
        """Clean up after a race."""
        for errand in self.errands:
            errand.aims = []
        if not self.is_calm:  # the fate of the held task may have ended a connection at the other side
            for client in (self.reader, self.second, self.writer, self.slow):
                client.hang_up()
        await self.ground.clear(plot)

    async def _connect(self, client: Client, errand: Errand) -> None:
        """Connect, and register the connection's port: the proxy may have closed an idle connection."""
        before = client.port
        await client.connect()
        if client.port == before:
            return
        errands = self.shared.errands
        for port in [port for port, known in errands.items() if known is errand]:
            del errands[port]
        errands[client.port] = errand

    async def warm(self, judge: Judge) -> None:
        """Cache the path in some races, by its reader or by another user."""
        if self.chance.random() < 0.4:
            await judge.read(self.chance.choice(judge.users))

    async def make(self, change: Change, plot: Plot, how: How, judge: Judge) -> bool:
        """Make the change while a task is held; once known, it must show immediately.

        Return False if its outcome is unknown.
        """
        via = self.writer if how is How.THROUGH else self.namenode
        began = self.shared.proxy.clock()
        self.happened = f"{how}, outcome unknown"
        if not await self.written(change, plot, via):
            judge.is_unsure = True
            if not self.shared.is_shaken:
                judge.wrong.append(f"a change {how} was refused, and nothing was done to it")
            return False
        acked_at = self.shared.proxy.clock()
        self.happened = f"{how} in {acked_at - began:.3f} s"
        await judge.look()
        # The held task may block the event consumer: then it is released first.
        is_known = how is How.THROUGH
        if how is How.KNOWN:
            is_known = await self.shared.proxy.covered(acked_at, _KNOWN_S)
        # Mostly without a read: an answer newer than the held one would hide a late fill.
        if is_known and self.chance.random() < _ASKED_SHARE:
            await judge.agree(f"a change {how} is known, a task still held", users=judge.users[:1])
        return True

    async def written(self, change: Change, plot: Plot, via: Client) -> bool:
        """Make a change; return False if its outcome is unknown."""
        try:
            await change.act(self.shared.hdfs, plot, via)
        except (Refused, GoneError, TimeoutError):
            return False
        return True

    def release(self, aim: Aim, fate: Fate, client: Client | None) -> Fate:
        """Release a held task to its fate; return the fate that it met."""
        wait_point = aim.hold.reached.result().wait_point
        error = error_at(wait_point, self.chance)
        if fate is Fate.FAILED and error is None:
            fate = Fate.GO_ON
        verdict: Throw | Cancel | None = None
        match fate:
            case Fate.CANCELLED:
                verdict = CANCEL
            case Fate.FAILED:
                assert error is not None
                verdict = Throw(error)
            case Fate.LEFT if client is not None:
                client.hang_up()
            case _:
                pass
        self.is_calm = fate is Fate.GO_ON and not aim.has_stumbled
        self.held_at = f"held at {wait_point.innermost}: {verdict or fate.value}"
        aim.hold.release(verdict)
        return fate

    def judge_reply(self, reply: Reply | None, user: str, judge: Judge, change: Change) -> None:
        """Judge the final reply to a held read."""
        if reply is None or reply.status >= 500:
            if self.is_calm and not self.shared.is_shaken:
                judge.wrong.append(f"a read that nothing happened to got {reply} (FailToNameNode)")
            return
        if reply.is_own and not self.is_calm:
            return
        judge.judge_early(reply, user, "the read that was held", is_two_step=change.is_two_step)

    async def count_fill(self, flight: Flight | None, judge: Judge) -> None:
        """Count the conclusion of the reply that a held read waited for."""
        if flight is None:
            return
        result = await flight.result(10.0)
        figures = self.shared.figures
        figures.fills += 1
        if result is None:
            judge.wrong.append("a flight never ended")
        elif result.conclusion is Conclusion.SPOILED:
            figures.spoiled += 1
        elif result.conclusion.is_shareable:
            figures.kept += 1

    def note(self, aim: Aim, what: str, fate: Fate) -> None:
        """Count a race."""
        figures = self.shared.figures
        for place in dict.fromkeys(aim.hold.reached.result().wait_point.places):
            figures.held[place] += 1
        figures.disturbances[what] += 1
        if fate is not Fate.GO_ON:
            figures.disturbances[fate.value] += 1


async def is_met(aim: Aim, work: asyncio.Task[Any], *, beyond_s: float = 0.0) -> bool:
    """Wait until the aim is met or the work has ended; after its end wait `beyond_s` more."""
    await asyncio.wait((aim.hold.reached, work), return_when=asyncio.FIRST_COMPLETED)
    if beyond_s and not aim.hold.reached.done():
        await asyncio.wait((aim.hold.reached,), timeout=beyond_s)
    if aim.hold.reached.done():
        return True
    aim.hold.release()
    return False
