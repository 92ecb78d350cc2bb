"""Every question is concluded exactly once, and an entry is cached only if the NameNode's reply still justifies it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from nncache.cache import Conclusion, Fetch, MetadataCache, Serve
from nncache.hadoop.change import Touched
from nncache.hadoop.errors import RpcUnavailableError
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.decide.flights import Flight, FlightResult, Flights
from nncache.proxy.errors import ProxyError, UpstreamTimeoutError, UpstreamUnavailableError
from nncache.proxy.identity import Credential
from nncache.proxy.messages import UpstreamReply
from tests.patience import HANG_S
from tests.proxy.doubles import (
    FILE,
    OTHER_NAMENODE,
    FakeClock,
    HeldNameNode,
    caller,
    ended,
    head_of,
    let_tasks_run,
    make_cache,
    missing,
    plain_read,
    reply,
)

PATH = "/w/f"


@dataclass
class Fixture:
    """Flights over a real cache and a NameNode whose answers the test gives."""

    clock: FakeClock
    cache: MetadataCache
    namenode: HeldNameNode
    flights: Flights

    def launch(
        self,
        path: str = PATH,
        user: str = "alice",
        *,
        refresh: bool = False,
        credential: Credential | None = None,
    ) -> Flight:
        """Take a ticket and launch its flight."""
        plain = plain_read(path, user)
        decision = self.cache.lookup(plain.path, caller(user), self.clock(), refresh=refresh, may_wait=False)
        assert isinstance(decision, Fetch)
        return self.flights.launch(decision.ticket, plain, head_of(path, user), credential)

    async def landed(self, flight: Flight, answer: object, closed: object = True) -> FlightResult:
        """Let the NameNode reply, and answer isFileClosed if it is asked; return the flight's result."""
        await self.namenode.say(answer, closed=closed)
        landing = await flight.result()
        assert landing is not None
        return landing

    @property
    def concluded(self) -> int:
        """Number of `conclude` calls."""
        return self.cache.store.counters.conclusions.total()

    def is_hit(self, path: str = PATH) -> bool:
        """Whether the path would be served; a miss leaves a ticket open."""
        return isinstance(self.cache.lookup(path, caller(), self.clock(), may_wait=False), Serve)

    @property
    def tickets(self) -> int:
        """Number of questions that the cache considers in flight."""
        return self.cache.explain(PATH, self.clock()).questions_under_way


@asynccontextmanager
async def fixture(query_timeout_s: float = 5.0) -> AsyncIterator[Fixture]:
    """Set up the fixture; its flights are awaited at the end."""
    clock = FakeClock()
    cache = make_cache(clock)
    namenode = HeldNameNode()
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        flights = Flights(tasks, cache, namenode.fetch, namenode, clock, query_timeout_s=query_timeout_s)
        yield Fixture(clock, cache, namenode, flights)


async def test_a_missing_path_is_kept_and_shared() -> None:
    """A true 404 needs no further question; requests that joined may have it."""
    async with fixture() as s:
        flight = s.launch()
        assert s.flights.find(flight.ticket) is flight
        landing = await s.landed(flight, missing(PATH, 100.0))
        assert isinstance(await flight.answer(), UpstreamReply)
        assert landing.conclusion is Conclusion.STORED
        assert landing.shared is not None
        assert b"Set-Cookie" not in dict(landing.shared.reply.headers)
        assert s.flights.find(flight.ticket) is None
        assert (s.concluded, len(s.flights), s.is_hit()) == (1, 0, True)


async def test_the_first_client_need_not_wait_for_the_cache() -> None:
    """The client has its answer once the NameNode replied, while isFileClosed is still in flight."""
    async with fixture() as s:
        flight = s.launch()
        await let_tasks_run()
        s.namenode.fetches.answer(reply(200, FILE, 100.0))
        assert isinstance(await flight.answer(), UpstreamReply)
        await let_tasks_run()
        assert (s.namenode.closed.waiting, s.concluded) == (1, 0)
        s.namenode.closed.answer(result=True)
        landing = await flight.result()
        assert landing is not None
        assert landing.conclusion is Conclusion.STORED


async def test_isfileclosed_goes_to_the_namenode_that_replied() -> None:
    """OpenFileUncached: another NameNode's answer would concern another state. The call may be made as the caller."""
    async with fixture() as s:
        s.launch("//w//f/")
        await let_tasks_run()
        s.namenode.fetches.answer(reply(200, FILE, 100.0, namenode=OTHER_NAMENODE))
        await let_tasks_run()
        assert s.namenode.closed.calls == [(OTHER_NAMENODE, PATH, RpcUser("alice"))]
        s.namenode.closed.answer(result=True)


async def test_isfileclosed_is_not_repeated_for_a_cached_status() -> None:
    """The next caller costs one call. The query is repeated after a change, for `no-cache`, or if others joined."""
    async with fixture() as s:

        async def concluded(
            user: str = "bob", *, refresh: bool = False, is_joined: bool = False
        ) -> Conclusion:
            flight = s.launch(PATH, user, refresh=refresh)
            flight.is_joined = is_joined
            landing = await s.landed(flight, reply(200, FILE, s.clock()))
            assert (landing.shared is None) is (landing.conclusion is Conclusion.UNCHANGED)
            return landing.conclusion

        assert (await concluded("alice"), s.flights.closed_queries) == (Conclusion.STORED, 1)
        assert (await concluded(), s.flights.closed_queries) == (Conclusion.UNCHANGED, 1)
        assert (await concluded("carol", is_joined=True), s.flights.closed_queries) == (
            Conclusion.CONFIRMED,
            2,
        )
        assert (await concluded(refresh=True), s.flights.closed_queries) == (Conclusion.CONFIRMED, 3)
        s.cache.apply(Touched(PATH), s.clock(), 101)
        assert (await concluded(), s.flights.closed_queries) == (Conclusion.STORED, 4)


@pytest.mark.parametrize(
    "answer",
    [
        False,
        RpcUnavailableError("cut", is_sent=True),
        OSError("no route"),
        TimeoutError(),
        RuntimeError("bug"),
    ],
)
async def test_a_file_that_is_not_provably_closed_is_not_kept(answer: object) -> None:
    """OpenFileUncached: this covers an open file and every failure of the query."""
    async with fixture() as s:
        landing = await s.landed(s.launch(), reply(200, FILE, 100.0), answer)
        assert landing.conclusion is Conclusion.NOT_KEPT
        assert landing.shared is None
        assert (s.concluded, s.is_hit()) == (1, False)


async def test_a_silent_namenode_costs_the_entry_not_the_reply() -> None:
    """The isFileClosed query has its own timeout."""
    async with fixture(query_timeout_s=0.01) as s:
        flight = s.launch()
        await let_tasks_run()
        s.namenode.fetches.answer(reply(200, FILE, 100.0))
        landing = await flight.result()
        assert isinstance(await flight.answer(), UpstreamReply)
        assert landing is not None
        assert landing.conclusion is Conclusion.NOT_KEPT
        assert s.flights.closed_query_failures == 1


@pytest.mark.parametrize("error", [UpstreamTimeoutError("slow"), UpstreamUnavailableError("none")])
async def test_an_upstream_error_is_the_answer(error: ProxyError) -> None:
    """The request that asked gets the error; the ticket is returned."""
    async with fixture() as s:
        flight = s.launch()
        await s.landed(flight, error)
        assert await flight.answer() is error
        assert (s.concluded, s.tickets, s.flights.errors) == (1, 0, 0)


async def test_a_bug_fails_its_own_flight_only() -> None:
    """A TaskGroup cancels all its tasks when one raises, so no flight may raise."""
    async with fixture() as s:
        broken, sound = s.launch("/w/a"), s.launch("/w/b")
        await s.landed(broken, RuntimeError("bug"))
        answer = await broken.answer()
        assert isinstance(answer, ProxyError)
        assert answer.status == 500
        await s.landed(sound, missing("/w/b", 100.0))
        assert isinstance(await sound.answer(), UpstreamReply)
        assert (s.concluded, s.flights.errors) == (2, 1)


async def test_a_bug_after_the_answer_fails_its_own_flight_only() -> None:
    """This also holds for an error after the client has its answer, even one of a class for upstream errors."""
    async with fixture() as s:
        broken, sound = s.launch("/w/a"), s.launch("/w/b")
        landing = await s.landed(broken, reply(200, FILE, 100.0), UpstreamUnavailableError("bug"))
        assert landing.conclusion is Conclusion.NOT_KEPT
        await s.landed(sound, missing("/w/b", 100.0))
        assert isinstance(await sound.answer(), UpstreamReply)
        assert (s.concluded, s.flights.errors) == (2, 1)


async def test_a_flight_outlives_its_client() -> None:
    """A client that disconnects costs others neither the answer nor the entry."""
    async with fixture() as s:
        flight = s.launch()
        async with asyncio.TaskGroup() as clients:
            leaving = clients.create_task(flight.answer())
            staying = clients.create_task(flight.answer())
            await let_tasks_run()
            leaving.cancel()
            await let_tasks_run()
            s.namenode.fetches.answer(missing(PATH, 100.0))
        assert leaving.cancelled()
        assert isinstance(staying.result(), UpstreamReply)
        await flight.result()
        assert (s.concluded, s.is_hit()) == (1, True)


@pytest.mark.parametrize("moment", ["before its first step", "in the fetch", "in isFileClosed"])
async def test_a_cancelled_flight_is_concluded(moment: str) -> None:
    """F1, also if the task never ran: a lost ticket would never be concluded."""
    clock, namenode = FakeClock(), HeldNameNode()
    cache = make_cache(clock)

    async def serve() -> None:
        async with asyncio.TaskGroup() as tasks:
            flights = Flights(tasks, cache, namenode.fetch, namenode, clock, query_timeout_s=5)
            launched.append(Fixture(clock, cache, namenode, flights).launch())
            if moment != "before its first step":
                await let_tasks_run()
            if moment == "in isFileClosed":
                namenode.fetches.answer(reply(200, FILE, 100.0))
                await let_tasks_run()
            raise asyncio.CancelledError

    launched: list[Flight] = []
    with pytest.raises(asyncio.CancelledError):
        await ended(serve())
    assert launched[0].done.done()
    assert launched[0].answered.done()
    assert cache.store.counters.conclusions.total() == 1
    assert cache.explain(PATH, clock()).questions_under_way == 0


async def test_a_flight_cannot_start_once_the_proxy_is_being_stopped() -> None:
    """F1: its ticket is returned immediately, and the caller gets the error that no NameNode is active."""
    async with fixture() as s:
        pass
    flight = s.launch()
    answer = flight.answered.result()
    assert isinstance(answer, UpstreamUnavailableError)
    assert (s.concluded, len(s.flights)) == (1, 0)


async def test_a_credential_says_for_itself_who_asks() -> None:
    """The isFileClosed query is sent without a caller; `test_outcomes.py` checks what the reply proves."""
    async with fixture() as s:
        credential = Credential("cookie=digest", "alice", 1_795_305_660_000)
        given = reply(200, FILE, 100.0)
        landing = await s.landed(s.launch(credential=credential), replace(given, headers=given.headers[:1]))
        assert [caller for _, _, caller in s.namenode.closed.calls] == [None]
        assert landing.shared is not None
        assert landing.shared.proven_for_s == 58.0
