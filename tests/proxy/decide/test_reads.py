"""How the cache's decisions are carried out: by asking, joining, a short wait, or a hit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from nncache.cache import MetadataCache, MissReason
from nncache.hadoop.change import Touched
from nncache.proxy.decide.flights import Flights
from nncache.proxy.decide.reads import (
    Collapsed,
    FromMemory,
    FromNameNode,
    ReadAnswer,
    StatusReads,
    Unanswered,
)
from nncache.proxy.errors import UpstreamTimeoutError
from tests.proxy.doubles import (
    DENIED,
    FILE,
    FakeClock,
    HeldNameNode,
    ManualSignal,
    let_tasks_run,
    make_cache,
    missing,
    read_of,
    reply,
)

PATH = "/w/f"
HERD = 1000


@dataclass
class Fixture:
    """Reads over a real cache and a NameNode whose answers the test gives."""

    clock: FakeClock
    cache: MetadataCache
    namenode: HeldNameNode
    signal: ManualSignal
    reads: StatusReads
    clients: asyncio.TaskGroup

    def ask(
        self, path: str = PATH, user: str = "alice", *, refresh: bool = False
    ) -> asyncio.Task[ReadAnswer]:
        """Start a client's read."""
        return self.clients.create_task(self.reads.answer(read_of(path, user, refresh=refresh)))

    async def fill(self, path: str, user: str) -> None:
        """Cache an entry for a user, who thereby gets the right to traverse."""
        asked = self.ask(path, user)
        await self.namenode.say(missing(path, self.clock()))
        assert isinstance(await asked, FromNameNode)


@asynccontextmanager
async def fixture(join_wait_s: float = 5.0) -> AsyncIterator[Fixture]:
    """Set up the fixture; its clients and flights are awaited at the end."""
    clock, namenode, signal = FakeClock(), HeldNameNode(), ManualSignal()
    cache = make_cache(clock)
    clock.now += 1.0  # questions from here on are newer than the coverage
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks, asyncio.TaskGroup() as clients:
        flights = Flights(tasks, cache, namenode.fetch, namenode, clock, query_timeout_s=60.0)
        reads = StatusReads(cache, flights, signal, clock, join_wait_s=join_wait_s)
        yield Fixture(clock, cache, namenode, signal, reads, clients)


async def test_a_client_is_delayed_no_longer_than_join_wait() -> None:
    """A NameNode that answers isFileClosed slowly delays the reply by `join_wait_s` at most."""
    async with fixture(join_wait_s=0.01) as s:
        asked = s.ask()
        await let_tasks_run()
        s.namenode.fetches.answer(reply(200, FILE, s.clock()))
        answer = await asked
        assert isinstance(answer, FromNameNode)
        assert not answer.is_stored
        s.namenode.closed.answer(result=True)


async def test_a_herd_of_one_caller_costs_one_call() -> None:
    """Join: a request of the same caller shares the answer of the question in flight."""
    async with fixture() as s:
        herd = [s.ask() for _ in range(HERD)]
        await s.namenode.say(reply(200, FILE, s.clock()))
        answers = await asyncio.gather(*herd)
        assert isinstance(answers[0], FromNameNode)
        assert all(isinstance(answer, Collapsed) for answer in answers[1:])
        assert len(s.namenode.fetches.calls) == 1


@pytest.mark.parametrize("herd", [1, HERD])
async def test_a_file_is_shared_only_if_known_to_be_closed(herd: int) -> None:
    """Another caller has to prove their right: one call, and isFileClosed as well if others have joined."""
    async with fixture() as s:
        first = s.ask()
        await s.namenode.say(reply(200, FILE, s.clock()))
        await first
        asked = [s.ask(PATH, "bob") for _ in range(herd)]
        await let_tasks_run()
        s.namenode.fetches.answer(reply(200, FILE, s.clock()))
        await let_tasks_run()
        assert s.namenode.closed.waiting == (herd > 1)
        if herd > 1:
            s.namenode.closed.answer(result=True)
        answers = await asyncio.gather(*asked)
        assert [type(answer) for answer in answers] == [FromNameNode] + [Collapsed] * (herd - 1)
        assert len(s.namenode.fetches.calls) == 2


async def test_a_herd_of_many_callers_with_grants_costs_one_call() -> None:
    """Wait: the other callers have a right to the directory; they need the entry, and coverage past it."""
    async with fixture() as s:
        users = [f"user{number}" for number in range(HERD)]
        for user in users:
            await s.fill("/w/other", user)
        s.clock.now += 0.1
        s.cache.cover(s.clock.now, 101)
        calls = len(s.namenode.fetches.calls)
        s.clock.now += 0.1
        herd = [s.ask(PATH, user) for user in users]
        await s.namenode.say(reply(200, FILE, s.clock.now))
        await let_tasks_run()
        assert s.signal.waiting == HERD - 1
        assert s.signal.probes > 0
        s.clock.now += 0.01
        s.cache.cover(s.clock.now, 102)
        s.signal.moved()
        answers = await asyncio.gather(*herd)
        assert all(isinstance(answer, FromMemory) for answer in answers[1:])
        assert len(s.namenode.fetches.calls) == calls + 1


async def test_a_cover_that_is_too_early_is_waited_over() -> None:
    """ProvenGrant: a probe sent before the reply proves nothing about it; the wait continues."""
    async with fixture() as s:
        await s.fill(PATH, "alice")
        await s.fill("/w/other", "bob")
        asked = s.ask(PATH, "bob")
        await let_tasks_run()
        s.cache.cover(s.clock.now - 0.5, 101)
        s.signal.moved()
        await let_tasks_run()
        assert not asked.done()
        s.cache.cover(s.clock.now, 101)
        s.signal.moved()
        assert isinstance(await asked, FromMemory)


async def test_who_waits_in_vain_asks() -> None:
    """Without coverage within `join_wait_s`, the NameNode is asked as that caller."""
    async with fixture() as s:
        await s.fill(PATH, "alice")
        await s.fill("/w/other", "bob")
        asked = s.ask(PATH, "bob")
        await let_tasks_run()
        s.signal.moved(covered=False)
        await s.namenode.say(missing(PATH, s.clock()))
        answer = await asked
        assert isinstance(answer, FromNameNode)
        assert answer.why is MissReason.GRANT_PENDING


async def test_others_do_not_wait_for_a_long_flight() -> None:
    """Wait is bounded by `join_wait_s`; then a caller with a grant asks the NameNode itself."""
    async with fixture(join_wait_s=0.02) as s:
        await s.fill("/w/other", "bob")
        slow = s.ask(PATH, "alice")
        await let_tasks_run()
        other = s.ask(PATH, "bob")
        await s.namenode.fetches.reached(2)
        s.namenode.fetches.answer(missing(PATH, s.clock()))
        s.namenode.fetches.answer(missing(PATH, s.clock()))
        assert isinstance(await slow, FromNameNode)
        assert isinstance(await other, FromNameNode)


@pytest.mark.parametrize("end", ["denied", "timeout", "spoiled"])
async def test_those_who_joined_in_vain_ask_at_once_and_side_by_side(end: str) -> None:
    """ProvenGrant, NoLateFill: no caller gets another's refusal or failure, or a reply that a change has overtaken."""
    async with fixture() as s:
        herd = [s.ask() for _ in range(5)]
        await let_tasks_run()
        match end:
            case "denied":
                s.namenode.fetches.answer(reply(403, DENIED, s.clock()))
            case "timeout":
                s.namenode.fetches.answer(UpstreamTimeoutError("slow"))
            case _:
                s.cache.apply(Touched(PATH), s.clock(), 101)
                s.namenode.fetches.answer(missing(PATH, s.clock()))
        await let_tasks_run()
        assert s.namenode.fetches.waiting == 4
        for _ in range(4):
            s.namenode.fetches.answer(missing(PATH, s.clock()))
        answers = await asyncio.gather(*herd)
        assert isinstance(answers[0], Unanswered if end == "timeout" else FromNameNode)
        assert all(isinstance(answer, FromNameNode) for answer in answers[1:])


async def test_those_who_wait_leave_nothing_behind() -> None:
    """A client that is cancelled while it joins or waits ends no other client's question."""
    async with fixture() as s:
        await s.fill("/w/other", "bob")
        first = s.ask()
        await let_tasks_run()
        leaving = [s.ask(), s.ask(PATH, "bob")]
        await let_tasks_run()
        for client in leaving:
            client.cancel()
        await s.namenode.say(missing(PATH, s.clock()))
        assert isinstance(await first, FromNameNode)


async def test_nobody_waits_with_a_patience_of_zero() -> None:
    """`join_wait_s = 0` disables waiting."""
    async with fixture(join_wait_s=0) as s:
        await s.fill(PATH, "alice")
        await s.fill("/w/other", "bob")
        asked = s.ask(PATH, "bob")
        await let_tasks_run()
        assert s.signal.waiting == 0
        s.namenode.fetches.answer(missing(PATH, s.clock()))
        assert isinstance(await asked, FromNameNode)
