"""The kinds of race on the real stack.

Each returns False if no task waited at the place where it was to be held: that was no race.
"""

import asyncio
import contextlib
from typing import Final

from tests.http_client import Reply
from tests.races.aims import Aim
from tests.races.changes import BODIES, Before, Change, Plot
from tests.races.client import Client, GoneError
from tests.races.judging import Judge
from tests.races.lane import Fate, How, Kind, Lane, is_met

_FATES: Final = (Fate.GO_ON,) * 5 + (Fate.CANCELLED, Fate.FAILED, Fate.LEFT)
_HOWS: Final = (How.THROUGH, How.KNOWN, How.KNOWN, How.BEHIND)
_REACHED_S: Final = 0.5  # after this an aim at a background task is given up
_RARE_REACHED_S: Final = 3.0
_CONDITIONS: Final = {"": 6, "Cache-Control: no-cache\r\n": 2, "Prefer: wait=1\r\n": 2}
_ORDINARY_SHARE: Final = 0.6  # of the reads without conditions
_REFUSED_SHARE: Final = 0.15  # of the reads of files: isFileClosed is refused
_CROWDED_SHARE: Final = 0.3  # of the reads of a slow NameNode: others take its connections
_CROWD: Final = 14
_PARTICULAR_SHARE: Final = (
    0.8  # of the races with something long to carry: held where only that makes one wait
)
_SETTLING: Final = "Upstream.stream: self._settle#2"
_CLOSED_AFTER_A_FAULT: Final = "Upstream.stream: answer.close#2"  # only a fault while it settles leads there
_OF_BODIES: Final = (
    frozenset({"UpstreamResponse.close: asyncio.wait"}),
    frozenset({"Upstream.stream: answer.close"}),
    frozenset({_CLOSED_AFTER_A_FAULT}),
    frozenset({"CallExchange.send_body: self._connection.write_body"}),
)
_OF_LONG_REPLIES: Final = (
    frozenset({"RawResponse._wait_for_reader: request.connection.drain"}),
    frozenset({"RawResponse.write_eof: self._send"}),
)
_ANYTHING: Final[frozenset[str]] = frozenset()
NAMED: Final = frozenset({_SETTLING}).union(*_OF_BODIES, *_OF_LONG_REPLIES)
"""The places that races aim at by name."""

_READS_AFTER_S: Final = 1.0
_TIDIED_UP_S: Final = 0.05  # a body is stopped after its reply was sent
_PASSED_S: Final = 60.0  # only a hang takes longer
_LONG_HOLD_S: Final = 1.0  # long enough for changes to queue up


async def race(lane: Lane) -> bool:
    """Run one race of a random kind."""
    shared, chance = lane.shared, lane.chance
    kind = chance.choices(list(shared.weights), list(shared.weights.values()))[0]
    if kind is Kind.APPLY and shared.applying.locked():
        kind = Kind.FILL
    change = chance.choice(shared.changes)
    plot, judge = await lane.begin(change)
    try:
        is_race = await _RACES[kind](lane, plot, change, judge)
    except TimeoutError as exc:
        judge.wrong.append(f"hangs: {exc!r}")
        is_race = True
    shared.figures.races += is_race
    where = f"{lane.seed}, race {lane.number}, {kind}, {change.name} {lane.happened}, {lane.held_at}"
    shared.figures.violations += [f"{where}: {wrong}" for wrong in judge.wrong]
    await lane.end(plot)
    return is_race


async def _fill(lane: Lane, plot: Plot, change: Change, judge: Judge) -> bool:
    user, shared = judge.users[0], lane.shared
    how = lane.chance.choice(_HOWS)
    await lane.warm(judge)
    await judge.look()
    is_refused = change.before is Before.FILE and lane.chance.random() < _REFUSED_SHARE
    aim = Aim(shared.books[Kind.FILL], lane.chance, is_refused=is_refused)
    lane.reading.aims = [aim]
    conditions = lane.chance.choices(list(_CONDITIONS), list(_CONDITIONS.values()))[0] or _way(lane, plot)
    async with asyncio.TaskGroup() as tasks:
        if shared.is_shaken and lane.chance.random() < _CROWDED_SHARE:
            for _ in range(_CROWD):
                tasks.create_task(_stand_in_the_way(lane, user, plot))
            await asyncio.sleep(0.02)
        reading = tasks.create_task(_answer(lane, lane.reader, user, judge, conditions))
        if not await is_met(aim, reading):
            await reading
            lane.is_calm = False
            return False
        flight = shared.proxy.flight_of(plot.path)
        is_made = await lane.make(change, plot, how, judge)
        fate = lane.release(aim, lane.chance.choice(_FATES), lane.reader)
        reply = await reading
    lane.judge_reply(reply, user, judge, change)
    await lane.count_fill(flight, judge)
    lane.note(aim, how.value, fate)
    await _see_the_end(judge, how, at_once=is_made)
    return True


async def _join(lane: Lane, plot: Plot, change: Change, judge: Judge) -> bool:
    """Hold a read that joined another's call: of the same caller, or of one who may see the directory."""
    shared, chance = lane.shared, lane.chance
    user = judge.users[0]
    other = judge.users[-1]
    how = chance.choice(_HOWS)
    if other != user:  # the grant, proven by a neighbour and confirmed as current
        beside = shared.hdfs.status(f"{plot.parent}/beside", other)
        await lane.checker.ask("GET", beside)
        await shared.proxy.covered(shared.proxy.clock(), _REACHED_S)
    await judge.look()
    leader = Aim(shared.books[Kind.FILL], chance)
    lane.reading.aims = [leader]
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(_answer(lane, lane.reader, user, judge, _way(lane, plot)))
        if not await is_met(leader, reading):
            await reading
            lane.is_calm = False
            return False
        aim = Aim(shared.books[Kind.JOIN], chance)
        lane.joining.aims = [aim]
        joining = tasks.create_task(_answer(lane, lane.second, other, judge, _way(lane, plot)))
        await asyncio.wait((aim.hold.reached, joining), timeout=0.02)  # by then it waits
        leader_fate = lane.release(leader, chance.choice(_FATES), lane.reader)
        is_leader_calm = lane.is_calm
        is_race = await is_met(aim, joining)
        fate, is_made = Fate.GO_ON, False
        if is_race:
            is_made = await lane.make(change, plot, how, judge)
            fate = lane.release(aim, chance.choice(_FATES), lane.second)
        is_second_calm = lane.is_calm and not aim.has_stumbled
        reply, second = await reading, await joining
    lane.is_calm = is_leader_calm
    lane.judge_reply(reply, user, judge, change)
    lane.is_calm = is_second_calm and leader_fate is Fate.GO_ON
    lane.judge_reply(second, other, judge, change)
    lane.is_calm = lane.is_calm and is_leader_calm
    if is_race:
        lane.note(aim, how.value, fate)
        await _see_the_end(judge, how, at_once=is_made)
    return is_race


async def _write(lane: Lane, plot: Plot, change: Change, judge: Judge) -> bool:
    await lane.warm(judge)
    await judge.look()
    only = _ANYTHING
    if change in BODIES and lane.chance.random() < _PARTICULAR_SHARE:
        only = lane.chance.choice(_OF_BODIES)
    trips_at = _SETTLING if _CLOSED_AFTER_A_FAULT in only else ""
    aim = Aim(lane.shared.books[Kind.WRITE], lane.chance, only=only, trips_at=trips_at)
    lane.writing.aims = [aim]
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(lane.written(change, plot, lane.writer))
        if not await is_met(aim, writing, beyond_s=_TIDIED_UP_S if change in BODIES else 0.0):
            is_done = await writing
            lane.is_calm = False
            await judge.agree("after a write that was not held", at_once=is_done)
            return False
        await judge.look()
        reply = await judge.read(judge.users[0])
        await judge.look()
        judge.judge_early(reply, judge.users[0], "while a write is held", is_two_step=change.is_two_step)
        fate = lane.release(aim, lane.chance.choice(_FATES), lane.writer)
        is_done = await writing
    lane.note(aim, "read while it is written", fate)
    if not is_done and lane.is_calm and not lane.shared.is_shaken:
        judge.wrong.append("a write that nothing happened to was refused")
    await judge.agree("after the write", at_once=is_done)
    return True


async def _pass(lane: Lane, plot: Plot, change: Change, judge: Judge) -> bool:
    """Hold a long reply in transit to a slow client."""
    shared = lane.shared
    await judge.look()
    only = lane.chance.choice(_OF_LONG_REPLIES) if lane.chance.random() < _PARTICULAR_SHARE else _ANYTHING
    aim = Aim(shared.books[Kind.PASS], lane.chance, only=only)
    lane.passing.aims = [aim]
    long, whole = shared.listings
    asked, version = lane.chance.choice((((long,), "1.0"), ((long, *(whole,) * 4, long), "1.1")))
    for number, listing in enumerate(asked):
        odd = _odd(f"{plot.top}/{number}")
        lane.slow.begin("GET", shared.hdfs.target(listing.path, "LISTSTATUS"), headers=odd, version=version)
    how, fate = lane.chance.choice(_HOWS), Fate.GO_ON
    async with asyncio.TaskGroup() as tasks:
        receiving = tasks.create_task(_received(lane.slow, len(asked)))
        if is_race := await is_met(aim, receiving):
            is_made = await lane.make(change, plot, how, judge)
            fate = lane.release(aim, lane.chance.choice(_FATES), lane.slow)
            lane.note(aim, how.value, fate)
            await _see_the_end(judge, how, at_once=is_made)
        replies, end = await receiving
    if fate is Fate.LEFT:
        replies.clear()  # a client that left proves nothing about completeness
    lane.is_calm = lane.is_calm and not aim.has_stumbled
    for reply, listing in zip(replies, asked, strict=False):
        is_answer = reply.status < 500 and (lane.is_calm or not reply.is_own)
        if is_answer and reply.status_and_body != listing.status_and_body:
            judge.wrong.append(
                f"a listing came otherwise: {reply.status}, {len(reply.body)} bytes (Verbatim)"
            )
    if len(replies) < len(asked) and lane.is_calm and not shared.is_shaken:
        judge.wrong.append(f"a listing that nothing happened to did not come: {end!r}")
    lane.slow.hang_up()
    return is_race


async def _apply(lane: Lane, plot: Plot, change: Change, judge: Judge) -> bool:
    shared, chance = lane.shared, lane.chance
    await lane.warm(judge)
    await judge.look()
    book = shared.books[Kind.APPLY]
    async with shared.applying:
        aim = Aim(book, chance, is_one_task=True)
        shared.background.aims.append(aim)
        is_rare = aim.wait_point is not None and book.is_rare(aim.wait_point)
        try:
            async with asyncio.timeout(_RARE_REACHED_S if is_rare else _REACHED_S):
                await asyncio.shield(aim.hold.reached)
        except TimeoutError:
            aim.hold.release()
            lane.is_calm = False
            return False
        finally:
            shared.background.aims.remove(aim)
        try:
            is_made = await lane.make(change, plot, chance.choice((How.THROUGH, How.BEHIND)), judge)
            for user in judge.users:
                reply = await judge.read(user)
                judge.judge_early(reply, user, "while changes wait", is_two_step=change.is_two_step)
            if chance.random() < 0.05:
                await asyncio.sleep(_LONG_HOLD_S)
        finally:
            fate = lane.release(aim, chance.choice((Fate.GO_ON,) * 9 + (Fate.FAILED,)), None)
    lane.note(aim, "changed and read while changes wait", fate)
    await _see_the_end(judge, How.BEHIND, at_once=is_made)
    return True


_RACES: Final = {Kind.FILL: _fill, Kind.JOIN: _join, Kind.WRITE: _write, Kind.PASS: _pass, Kind.APPLY: _apply}


async def _see_the_end(judge: Judge, how: How, *, at_once: bool) -> None:
    """Judge that every reader gets the true answer once the change is applied, if it was made."""
    if how is How.THROUGH or await judge.applied(judge.proxy.clock(), "afterwards"):
        await judge.agree("afterwards", at_once=at_once)


def _odd(text: str) -> str:
    """Return a new field: a request without one gets no task (`nncache.proxy.decide.direct_calls`)."""
    return f"X-Race: {text}\r\n"


def _way(lane: Lane, plot: Plot) -> str:
    """Return the fields that send a read to the handler, or "", which allows the fast path."""
    return _odd(plot.path) if lane.chance.random() < _ORDINARY_SHARE else ""


async def _answer(lane: Lane, client: Client, user: str, judge: Judge, headers: str = "") -> Reply | None:
    """Return the reply to a read of the race's path; None if there was none."""
    try:
        return await client.ask("GET", lane.shared.hdfs.status(judge.path, user), headers=headers)
    except GoneError:
        return None
    except TimeoutError:
        judge.wrong.append(f"a read by {user} hangs")
        return None


async def _stand_in_the_way(lane: Lane, user: str, plot: Plot) -> None:
    """Occupy one of the few connections to a slow NameNode for a while."""
    with Client(lane.shared.proxy.address) as client, contextlib.suppress(GoneError, TimeoutError):
        await client.ask(
            "GET", lane.shared.hdfs.status(plot.top, user), headers="Cache-Control: no-cache\r\n"
        )


async def _received(client: Client, number: int) -> tuple[list[Reply], Exception | None]:
    """Return the replies to earlier requests, after a pause; fewer if the connection breaks, and why."""
    await asyncio.sleep(_READS_AFTER_S)
    replies: list[Reply] = []
    try:
        if number == 1:  # with several replies, the later ones must wait for the reader as well
            client.take_freely()
        async with asyncio.timeout(_PASSED_S):
            for _ in range(number):
                replies.append(await client.receive())  # noqa: PERF401 - those before one that breaks off count
    except (OSError, asyncio.IncompleteReadError, AssertionError) as exc:
        return replies, exc
    return replies, None
