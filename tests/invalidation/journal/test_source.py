"""JournalEdits: how a publisher catches up. Its other behaviour is tested in tests/faults."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from math import inf

import pytest

from nncache.clock import boottime
from nncache.hadoop.editlog.journalnode import JournaledEdits
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.edits.poller import PolledEdits
from nncache.invalidation.errors import ChannelUnavailableError, GapKind, MissingEventsError
from nncache.invalidation.follower import probing
from nncache.invalidation.journal import source as of_source
from nncache.invalidation.journal.access import JournalAccess
from nncache.invalidation.journal.choice import AutoEdits, Choice
from nncache.invalidation.journal.source import MAX_TRANSACTIONS, MAX_WAITING, JournalEdits
from nncache.invalidation.settings import INOTIFY, JOURNALNODES, PollingSettings
from tests.invalidation.fakes import FakeNameNode, FakePool
from tests.invalidation.journal.fake_journalnodes import FakeJournal, serving
from tests.patience import HANG_S
from tests.proxy.wire import until


@dataclass(slots=True)
class Fixture:
    """A journal, the NameNode that writes it, and a publisher's source of edits."""

    journal: FakeJournal
    namenode: FakeNameNode
    pool: FakePool
    source: JournalEdits
    covered_as_of: float = -inf

    @property
    def probed_as_of(self) -> float:
        """The time of the last probe with the NameNode's log position."""
        return -inf if self.pool.last_probe is None else self.pool.last_probe.as_of

    @property
    def behind(self) -> list[int]:
        """How many transactions each JournalNode is behind, for those that have shown any."""
        return list(self.source.stats().journal.behind_txids.values())

    def write(self, count: int, body: bytes = b"") -> None:
        """Have the NameNode write transactions."""
        self.journal.write(count, body)
        while self.namenode.log.end < self.journal.end:
            self.namenode.write()

    async def read_through(self, txid: int) -> list[int]:
        """Read up to this position, and return the ids of all transactions read."""
        found: list[int] = []
        async with asyncio.timeout(HANG_S):
            while True:
                read = await self.source.read()
                found += [each.txid for each in read.batches]
                if read.through_txid >= txid:
                    return found

    async def read_until(self, is_so: Callable[[], bool]) -> None:
        """Read until a condition holds that a read may not show."""

        async def read() -> None:
            while True:
                self.covered_as_of = (await self.source.read()).fresh_as_of or -inf

        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read())
            await until(is_so)
            reading.cancel()


@pytest.fixture
async def fixture() -> AsyncIterator[Fixture]:
    """A fixture with the default settings."""
    async with new_fixture() as made:
        yield made


@asynccontextmanager
async def new_fixture(*, at_first_sight: bool = False, away_s: float | None = None) -> AsyncIterator[Fixture]:
    """Yield a fixture with twenty transactions, the first ten in a finalized segment."""
    journal, namenode = FakeJournal(), FakeNameNode()
    pool = FakePool(boottime, namenode)
    async with serving(journal.nodes) as access, asyncio.TaskGroup() as tasks:
        probes = tasks.create_task(pool.run())
        source = JournalEdits(pool, access, boottime, at_first_sight=at_first_sight, away_s=away_s)
        fixture = Fixture(journal, namenode, pool, source)
        fixture.write(10)
        journal.roll()
        fixture.write(10)
        try:
            yield fixture
        finally:
            await source.shut_down()
            probes.cancel()


async def test_what_caches_lack_is_read_from_segments(fixture: Fixture) -> None:
    """Afterwards it continues with the caches, which begin with the open segment."""
    for node in fixture.journal.nodes:
        for txid in range(1, 11):
            del node.cache[txid]
    await fixture.source.start(3)
    assert await fixture.read_through(20) == list(range(4, 21))
    fixture.write(5)
    assert await fixture.read_through(25) == list(range(21, 26))


async def test_how_far_one_is_behind_is_known(fixture: Fixture) -> None:
    """The figures exist from the beginning of a run, but not for JournalNodes that are not asked."""
    assert fixture.source.stats().journal.counted == {}
    await fixture.source.start(20)
    nodes = fixture.journal.nodes
    fixture.journal.nodes = nodes[:2]
    fixture.write(5)
    await fixture.read_until(lambda: fixture.behind == [0, 0, 5])
    fixture.source.stop()
    figures = fixture.source.stats().journal
    assert (figures.counted, figures.behind_txids) == ({}, {})


async def test_large_transactions_come_a_few_at_a_time(fixture: Fixture) -> None:
    """The event loop handles an answer in one step, and RPC allows 128 MiB."""
    node = fixture.journal.nodes[0]
    ask, sizes = node.edits, list[int]()

    async def measured(since_txid: int, max_transactions: int) -> JournaledEdits:
        reply = await ask(since_txid, max_transactions)
        sizes.append(sum(len(frame.body) for frame in reply.frames))
        return reply

    node.edits = measured  # type: ignore[method-assign] # it is a fake
    fixture.write(400, b"x" * 40_000)
    await fixture.source.start(20)
    assert len(await fixture.read_through(420)) == 400
    assert max(sizes) <= of_source.FIRST_TRANSACTIONS * 40_000
    assert sum(size > of_source.ANSWER_BYTES for size in sizes) == 1


@pytest.mark.parametrize("has_cache", [True, False])
async def test_one_that_always_answers_last_is_not_behind(fixture: Fixture, *, has_cache: bool) -> None:
    """Edits that two others have shown are before the position; this also holds if it has them only on disk."""
    await fixture.source.start(20)
    await fixture.read_until(lambda: fixture.behind == [0, 0, 0])
    last, may_answer = fixture.journal.nodes[2], asyncio.Event()
    ask, asked = last.edits, asyncio.Event()

    async def late(since_txid: int, max_transactions: int) -> JournaledEdits:
        reply = await ask(since_txid, max_transactions)
        asked.set()
        await may_answer.wait()
        return reply

    last.edits = late  # type: ignore[method-assign] # it is a fake
    await fixture.read_until(asked.is_set)
    fixture.write(5)
    if not has_cache:
        last.cache.clear()
    await fixture.read_through(25)
    assert fixture.behind == [0, 0, 5]
    may_answer.set()
    await fixture.read_until(lambda: fixture.behind == [0, 0, 0])


@pytest.mark.parametrize("at_first_sight", [False, True])
async def test_caches_that_are_lost_within_a_run_do_not_end_it(*, at_first_sight: bool) -> None:
    """All JournalNodes restart, and the segment ends: neither a publisher nor a proxy loses anything."""
    async with new_fixture(at_first_sight=at_first_sight) as fixture:
        await fixture.source.start(None)
        await fixture.read_through(20)
        fixture.write(5)
        fixture.journal.roll()
        fixture.journal.empty_caches()
        fixture.write(2)
        assert await fixture.read_through(27) == list(range(21, 28))


async def test_what_only_the_open_segment_has_is_waited_for(fixture: Fixture) -> None:
    """It is not missing: it can be read once the segment ends, and the error says how to end it."""
    fixture.journal.empty_caches()
    says = (
        "caches of too few JournalNodes.*edit-cache-size.*no finalized segment yet: hdfs dfsadmin -rollEdits"
    )
    with pytest.raises(ChannelUnavailableError, match=says):
        await fixture.source.start(12)
    fixture.journal.roll()
    await fixture.source.start(12)
    assert await fixture.read_through(20) == list(range(13, 21))


async def test_what_is_purged_is_a_gap(fixture: Fixture) -> None:
    """The publisher reports the gap, and continues after it."""
    fixture.journal.roll()
    fixture.journal.purge()
    fixture.journal.empty_caches()
    with pytest.raises(MissingEventsError) as caught:
        await fixture.source.start(3)
    assert (caught.value.kind, caught.value.first_txid, caught.value.last_txid) == (GapKind.PURGED, 4, 10)
    await fixture.source.start(10)
    assert await fixture.read_through(20) == list(range(11, 21))


async def test_a_large_segment_is_not_held_in_memory(fixture: Fixture) -> None:
    """It is read no faster than its edits are consumed."""
    fixture.write(3 * MAX_WAITING)
    fixture.journal.roll()
    fixture.journal.empty_caches()
    await fixture.source.start(15)
    through, most = 15, 0
    while through < fixture.journal.end:
        for _ in range(200):  # iterations of the event loop that would suffice to read everything
            await asyncio.sleep(0)
        read = await fixture.source.read()
        through, most = read.through_txid, max(most, len(read.batches))
    assert most < 2 * MAX_WAITING


@pytest.mark.parametrize("lost", [0, 1])
async def test_the_log_of_a_new_epoch_is_compared_with_what_was_taken(fixture: Fixture, lost: int) -> None:
    """A difference means another log, in which our position is invalid; otherwise nothing is read twice."""
    fixture.write(MAX_TRANSACTIONS)
    end = fixture.journal.end
    await fixture.source.start(5)
    await fixture.read_through(end)
    fixture.journal.fail_over(lost=lost)
    fixture.write(3, b"of another NameNode")
    with pytest.raises(MissingEventsError, match="have promised an epoch after 1"):
        await fixture.read_through(end + 99)
    if lost:
        with pytest.raises(MissingEventsError, match=f"transaction {end} is another one") as caught:
            await fixture.source.start(end)
        assert caught.value.kind is GapKind.WENT_BACK
    else:
        await fixture.source.start(end)
        assert await fixture.read_through(end + 3) == [end + 1, end + 2, end + 3]


@pytest.mark.parametrize("at_first_sight", [False, True])
async def test_what_the_namenode_writes_elsewhere_is_not_covered(*, at_first_sight: bool) -> None:
    """JournalNodes that it has abandoned answer as before, without new edits."""
    async with new_fixture(at_first_sight=at_first_sight) as fixture:
        await fixture.source.start(None)
        await fixture.read_through(20)
        for number in range(3):
            fixture.namenode.unlink("/f")
            written_at = boottime()
            await fixture.read_until(lambda: fixture.probed_as_of > written_at)  # noqa: B023 - called at once
            assert fixture.covered_as_of < written_at, number
            fixture.journal.write(1)
            await fixture.read_until(lambda: fixture.covered_as_of > written_at)  # noqa: B023 - the same


async def test_where_another_source_can_be_read_it_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that the NameNode has abandoned gets no new edits."""
    monkeypatch.setattr(of_source, "BEHIND_S", 0.5)
    async with new_fixture(away_s=1.0) as fixture:
        await fixture.source.start(None)
        await fixture.read_through(20)
        fixture.namenode.unlink("/f")
        with pytest.raises(ChannelUnavailableError, match="ahead of its JournalNodes"):
            await fixture.read_through(21)
        monkeypatch.setattr(of_source, "START_S", 0.5)
        with pytest.raises(ChannelUnavailableError, match="they show nothing"):
            await fixture.source.start(21)  # another source has read this far, and the log is idle
        fixture.journal.write(1)
        async with asyncio.TaskGroup() as tasks:
            monkeypatch.setattr(of_source, "START_S", HANG_S)
            starting = tasks.create_task(fixture.source.start(21))
            fixture.write(1)
            await starting
        assert await fixture.read_through(22) == [22]


async def test_a_namenode_without_word_of_its_log_is_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It reports only its state, which covers polled edits: the gate opens again."""
    monkeypatch.setattr(probing, "UNSHOWN_S", 0.5)
    async with new_fixture(away_s=HANG_S) as fixture:
        polled = Choice("the NameNode (inotify)", PolledEdits(fixture.pool, PollingSettings(), boottime))
        auto = AutoEdits((Choice("the JournalNodes", fixture.source), polled), boottime)
        await auto.start(None)
        await auto.read()
        fixture.namenode.answers_journal = False
        async with asyncio.timeout(HANG_S):
            while auto.stats().source != INOTIFY:
                await auto.read()
            asked_at = boottime()
            while ((await auto.read()).fresh_as_of or -inf) < asked_at:
                pass
        assert "has not said for 0.5 s" in auto.stats().passed_over[JOURNALNODES]
        await auto.shut_down()


async def test_where_no_other_source_can_be_read_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NameNode may report its log position again later."""
    monkeypatch.setattr(probing, "UNSHOWN_S", 0.5)
    async with new_fixture() as fixture:
        await fixture.source.start(None)
        await fixture.read_through(20)
        fixture.namenode.answers_journal = False
        away_at = boottime()
        await fixture.read_until(lambda: (fixture.pool.confirmed_as_of or -inf) > away_at + 1.0)
        assert fixture.covered_as_of < away_at
        fixture.namenode.answers_journal = True
        await fixture.read_until(lambda: fixture.covered_as_of > away_at)


async def test_one_that_is_ahead_of_the_majority_is_asked_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """The JournalNode would give the same answer again."""
    monkeypatch.setattr(of_source, "MAX_TRANSACTIONS", 5)
    async with new_fixture(at_first_sight=True) as fixture:
        await fixture.source.start(None)
        await fixture.read_through(20)
        first, *others = fixture.journal.nodes
        asked, ask, silence = list[float](), first.edits, asyncio.Event()

        async def count(since_txid: int, max_transactions: int) -> JournaledEdits:
            asked.append(boottime())
            return await ask(since_txid, max_transactions)

        async def hang(_since_txid: int, _max_transactions: int) -> JournaledEdits:
            await silence.wait()
            raise AssertionError

        for node in others:
            monkeypatch.setattr(node, "edits", hang)
        monkeypatch.setattr(first, "edits", count)
        fixture.write(9)
        await fixture.read_until(lambda: len(asked) >= 20)
        assert asked[-1] - asked[-11] >= 10 * of_source.POLL_INTERVAL_S


async def test_another_namespace_is_compared_over_an_old_connection(fixture: Fixture) -> None:
    """The NameNodes were formatted, and the old JournalNodes still run."""
    await fixture.source.start(None)
    fixture.source.stop()
    asked = [len(node.asked) for node in fixture.journal.nodes]
    fixture.namenode.namespace = Namespace("CID-2", "BP-2-127.0.0.1-1")
    fixture.namenode.restart()
    async with asyncio.timeout(HANG_S):
        while [len(node.asked) for node in fixture.journal.nodes] == asked:
            with suppress(ChannelUnavailableError, MissingEventsError):
                await fixture.source.start(None)


@pytest.mark.parametrize("is_compared", [True, False])
async def test_a_journal_of_another_namespace_counts_for_nothing(
    fixture: Fixture, monkeypatch: pytest.MonkeyPatch, *, is_compared: bool
) -> None:
    """The comparison of namespaces shows it: without that its answers would count."""

    async def believe(_access: JournalAccess, _web: str, _storage: tuple[int, str]) -> None:
        """Accept any journal as this namespace's."""

    if not is_compared:
        monkeypatch.setattr(JournalAccess, "check_same_journal", believe)
    monkeypatch.setattr(of_source, "START_S", 1.0)
    for node in fixture.journal.nodes:
        node.status, node.text = HTTPStatus.FORBIDDEN, "This node has namespaceId '1'"
    if not is_compared:
        await fixture.source.start(20)
        return
    with pytest.raises(ChannelUnavailableError, match="0 of 3 JournalNodes can be read"):
        await fixture.source.start(20)


async def test_one_that_catches_up_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NameNode's log is ahead while the source catches up."""
    monkeypatch.setattr(of_source, "BEHIND_S", 0.5)
    async with new_fixture(away_s=HANG_S) as fixture:
        await fixture.source.start(None)
        await fixture.read_through(20)
        for _ in range(1_000):
            fixture.namenode.unlink("/f")
        began_at = boottime()
        while boottime() < began_at + 3 * of_source.BEHIND_S:
            fixture.journal.write(1)
            await fixture.read_through(fixture.journal.end)


async def test_a_log_that_went_back_is_reported(fixture: Fixture) -> None:
    """GapFlush: otherwise a publisher would continue after its position once the log has regrown."""
    fixture.namenode.restart(lost=10)
    with pytest.raises(MissingEventsError, match="its last transaction is 11, was 20") as caught:
        await fixture.source.start(20)
    assert caught.value.kind is GapKind.WENT_BACK
