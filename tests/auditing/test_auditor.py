"""The auditor finds a wrong hit, and does not report a hit that a change has overtaken."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nncache.auditing.audit_judge import AuditOutcome
from nncache.auditing.auditor import BURST, Auditor
from nncache.cache.metadata_cache import MetadataCache
from nncache.cache.replies import StoredReply
from nncache.hadoop.change import Footprint, Touched
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.errors import ProxyError, UpstreamUnavailableError
from nncache.proxy.messages import NO_TERM, RequestHead, UpstreamReply
from nncache.proxy.traffic import Exchange, Result
from nncache.proxy.upstream.direct_exchange import StartedCall
from tests.proxy.doubles import TERM, FakeClock, ManualSignal, let_tasks_run, make_cache, reply
from tests.proxy.kept_hits import kept_hit

PATH = "/w/f"


def status(**fields: object) -> bytes:
    """Return a status as the NameNode renders it."""
    return json.dumps({"FileStatus": {"length": 1, "storagePolicy": 0} | fields}).encode()


class Forgetful(MetadataCache):
    """A cache that ignores changes."""

    def apply(self, change: Footprint, now: float, txid: int | None = None) -> None:
        """Do nothing."""


class Fixture:
    """A cache, an auditor and a NameNode."""

    def __init__(self, share: float = 1.0, *, is_broken: bool = False) -> None:
        self.clock = FakeClock()
        self.cache = make_cache(self.clock)
        if is_broken:
            self.cache.__class__ = Forgetful
        self.signal = ManualSignal()
        self.says = dict[str, tuple[int, bytes] | ProxyError]()
        self.term = TERM
        self.asked = list[RequestHead]()
        self.chances = list[float]()
        self.auditor = Auditor(
            self.cache,
            self.fetch,
            self.signal,
            self.clock,
            share=share,
            chance=lambda: (*self.chances, 0.0)[0],
        )

    async def fetch(self, head: RequestHead, _: StartedCall | None = None) -> UpstreamReply:
        """Return the NameNode's current reply."""
        self.asked.append(head)
        answer = self.says[head.target.partition("?")[0].removeprefix("/webhdfs/v1")]
        if isinstance(answer, ProxyError):
            raise answer
        return reply(*answer, self.clock.now, term=self.term)

    def keep(self, path: str = PATH, code: int = 200, body: bytes = status()) -> None:
        """Cache an answer that equals the NameNode's."""
        self.says[path] = code, body
        kept_hit(self.cache.store, path, StoredReply(code, (), body), replied_at=self.clock.now)

    def serve(self, target: str = PATH, result: Result = Result.HIT, weight: int = 1) -> None:
        """Report a request to the auditor."""
        spelled = f"/webhdfs/v1{target}?op=GETFILESTATUS&user.name=joe"
        exchange = Exchange("GET", spelled, "10.0.0.1", self.clock.now)
        exchange.result, exchange.weight = result, weight
        self.auditor.answered(exchange)

    def change(self, path: str = PATH, **fields: object) -> None:
        """Change the path at the NameNode."""
        self.says[path] = 200, status(**fields)

    async def differ(self, path: str = PATH) -> None:
        """Cache and serve the NameNode's answer, then change it before the auditor asks."""
        self.keep(path)
        self.serve(path)
        self.clock.now += 0.1
        self.change(path, length=2)
        await let_tasks_run()

    def cover(self) -> None:
        """Prove that all changes before now were applied."""
        self.cache.cover(self.clock.now, 101)
        self.signal.moved()

    @property
    def outcomes(self) -> dict[AuditOutcome, int]:
        """The count of each outcome that occurred."""
        return {outcome: count for outcome, count in self.auditor.stats().outcomes.items() if count}


@asynccontextmanager
async def fixture(share: float = 1.0, *, is_broken: bool = False) -> AsyncIterator[Fixture]:
    """Yield a fixture with a running auditor."""
    s = Fixture(share, is_broken=is_broken)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(s.auditor.run())
        yield s
        running.cancel()


async def test_the_namenode_is_asked_the_same_as_the_same_caller() -> None:
    """The request includes the client's address; the NameNode's answer is the same."""
    async with fixture() as s:
        s.keep()
        s.serve()
        await let_tasks_run()
    (head,) = s.asked
    assert (head.method, head.target) == ("GET", f"/webhdfs/v1{PATH}?op=GETFILESTATUS&user.name=joe")
    assert head.headers == ((b"X-Forwarded-For", b"10.0.0.1"),)
    assert (head.peer, head.caller) == ("10.0.0.1", "user.name=joe")
    assert s.outcomes == {AuditOutcome.SAME: 1}


async def test_a_missing_path_is_quoted_as_it_was_asked_for() -> None:
    """It is compared with the answer as given, for the path as the client spelled it, and not with the cached one."""
    async with fixture() as s:
        s.keep(code=404, body=render_missing(PATH))
        s.says["/w//f"] = 404, render_missing("/w//f")
        s.serve("/w//f")
        await let_tasks_run()
    assert s.outcomes == {AuditOutcome.SAME: 1}


async def test_a_change_between_answer_and_question_is_no_fault() -> None:
    """This is decided once all changes that the NameNode's reply can show have been applied."""
    async with fixture() as s:
        await s.differ()
        assert s.outcomes == {}
        assert s.signal.probes == 1, "proof is asked for"
        s.clock.now += 0.1
        s.cache.apply(Touched(PATH), s.clock.now, 101)
        s.cover()
        await let_tasks_run()
    assert s.outcomes == {AuditOutcome.CHANGED: 1}


async def test_a_cache_that_misses_a_change_is_found(caplog: pytest.LogCaptureFixture) -> None:
    """The first path is logged; later faults do not flood the log."""
    async with fixture(is_broken=True) as s:
        for path in ("/w/a", "/w/b"):
            for _ in range(100):
                s.serve(result=Result.FORWARDED)
            s.keep(path)
            s.serve(path)
            s.clock.now += 0.1
            s.change(path, length=2)
            s.cache.apply(Touched(path), s.clock.now, 101)
            await let_tasks_run()
            s.cover()
            await let_tasks_run()
    assert s.outcomes == {AuditOutcome.BEYOND: 2}
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "a wrong answer from memory about /w/a (Bounded is broken)" in record.getMessage()


async def test_without_proof_nothing_is_concluded() -> None:
    """The gate is closed then, and there are no hits."""
    async with fixture() as s:
        await s.differ()
        s.clock.now += 100
        s.signal.moved(covered=False)
        await let_tasks_run()
    assert s.outcomes == {AuditOutcome.UNPROVEN: 1}


@pytest.mark.parametrize(
    ("says", "term", "outcome"),
    [
        ((200, status(storagePolicy=7, ecPolicy="RS-6-3")), TERM, AuditOutcome.UNANNOUNCED),
        ((403, b"{}"), TERM, AuditOutcome.REFUSED),
        ((200, status(length=2)), NO_TERM, AuditOutcome.REFUSED),
        (UpstreamUnavailableError("none"), TERM, AuditOutcome.UNANSWERED),
    ],
)
async def test_what_proves_nothing_is_counted_apart(
    says: tuple[int, bytes] | ProxyError, term: int, outcome: AuditOutcome
) -> None:
    """Each case has an outcome of its own."""
    async with fixture() as s:
        s.keep()
        s.says[PATH], s.term = says, term
        s.serve()
        await let_tasks_run()
    assert s.outcomes == {outcome: 1}


async def test_what_is_no_status_is_compared_as_it_is() -> None:
    """A body of another shape is a difference."""
    async with fixture(is_broken=True) as s:
        s.keep()
        s.says[PATH] = 200, b'{"FileStatus":[]}'
        s.serve()
        s.clock.now += 0.1
        await let_tasks_run()
        s.cover()
        await let_tasks_run()
    assert s.outcomes == {AuditOutcome.BEYOND: 1}


async def test_audits_are_one_in_a_hundred_calls_at_most() -> None:
    """The limit holds for any number of hits; a bounded number of audits can be saved up."""
    async with fixture() as s:
        s.keep()
        for _ in range(1_000):
            s.serve()
            await let_tasks_run(5)
        assert len(s.asked) == 1
        for result in Result:
            for _ in range(100):
                if result is not Result.HIT:
                    s.serve(result=result)
        for _ in range(1_000):
            s.serve()
            await let_tasks_run(5)
        assert len(s.asked) == 3, "STORED and FORWARDED are calls"
        for _ in range(100_000):
            s.serve(result=Result.FORWARDED)
        for _ in range(1_000):
            s.serve()
            await let_tasks_run(5)
        assert len(s.asked) == 3 + BURST


@pytest.mark.parametrize(
    ("chance", "weight", "asked"), [(0.19, 1, 1), (0.21, 1, 0), (0.79, 4, 1), (0.81, 4, 0), (0.99, 64, 1)]
)
async def test_a_share_of_all_hits_is_audited(chance: float, weight: int, asked: int) -> None:
    """The share holds where only a weighted sample of the hits is seen."""
    async with fixture(0.2) as s:
        s.keep()
        s.chances = [chance]
        s.serve(weight=weight)
        await let_tasks_run()
    assert len(s.asked) == asked


async def test_what_is_forgotten_already_cannot_be_compared() -> None:
    """Neither can a request that is no plain read."""
    async with fixture() as s:
        s.serve()
        s.serve("/w/f#")
        await let_tasks_run()
    assert s.asked == []


class History:
    """Changes, hits and audits in any order; the cache receives the changes later, in order."""

    def __init__(self, s: Fixture) -> None:
        self._s = s
        self._unseen = list[tuple[float, str]]()
        self._length = 1

    async def act(self, what: str, path: str) -> None:
        """Carry out one step."""
        s = self._s
        s.clock.now += 0.01
        match what:
            case "change":
                self._length += 1
                s.change(path, length=self._length)
                self._unseen.append((s.clock.now, path))
            case "learn":
                if self._unseen:
                    _, changed = self._unseen.pop(0)
                    s.cache.apply(Touched(changed), s.clock.now)
                s.clock.now += 0.01
                covered = self._unseen[0][0] - 0.001 if self._unseen else s.clock.now
                s.cache.cover(covered, 101)
                s.signal.moved()
            case "hit":
                directory = s.cache.store.tree.find("/w")
                if directory is None or path[3:] not in directory.entries:
                    answer = s.says.get(path, (200, status()))
                    assert isinstance(answer, tuple)
                    s.keep(path, *answer)
                s.serve(path)
                for _ in range(100):
                    s.serve(result=Result.FORWARDED)
            case _:
                await let_tasks_run(5)


ACTS = st.lists(
    st.tuples(st.sampled_from(["change", "learn", "hit", "iterate"]), st.sampled_from(["/w/a", "/w/b"])),
    max_size=40,
)


@settings(max_examples=60)
@given(acts=ACTS)
def test_no_order_makes_a_sound_cache_look_wrong(acts: list[tuple[str, str]]) -> None:
    """A broken cache is found by the simplest of these histories."""

    async def outcomes(acts: list[tuple[str, str]], *, is_broken: bool) -> dict[AuditOutcome, int]:
        async with fixture(is_broken=is_broken) as s:
            history = History(s)
            for what, path in acts:
                await history.act(what, path)
            for _ in range(len(acts) + 1):
                await history.act("iterate", "")
                await history.act("learn", "")
            await let_tasks_run()
        return s.outcomes

    assert AuditOutcome.BEYOND not in asyncio.run(outcomes(acts, is_broken=False))
    plain = [*acts, ("hit", "/w/c"), ("change", "/w/c"), ("iterate", "")]
    assert AuditOutcome.BEYOND in asyncio.run(outcomes(plain, is_broken=True))
