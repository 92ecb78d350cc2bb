"""nncache/invalidation/journal/source.py: how a publisher catches up; what else it does, tests/faults sees."""

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
class Stage:
    """A journal, the NameNode that writes it, and a publisher's source of edits."""

    journal: FakeJournal
    namenode: FakeNameNode
    pool: FakePool
    source: JournalEdits
    covered_as_of: float = -inf

    @property
    def probed_as_of(self) -> float:
        """As of when the NameNode has last said how far its log has come."""
        return -inf if self.pool.last_probe is None else self.pool.last_probe.as_of

    def write(self, count: int, body: bytes = b"") -> None:
        """Have the NameNode write transactions."""
        self.journal.write(count, body)
        while self.namenode.log.end < self.journal.end:
            self.namenode.write()

    async def read_through(self, txid: int) -> list[int]:
        """Return the ids of all that is read until this position."""
        found: list[int] = []
        async with asyncio.timeout(HANG_S):
            while True:
                read = await self.source.read()
                found += [each.txid for each in read.batches]
                if read.through_txid >= txid:
                    return found

    async def read_until(self, is_so: Callable[[], bool]) -> None:
        """Read until something is so, which no read may show."""

        async def read() -> None:
            while True:
                self.covered_as_of = (await self.source.read()).fresh_as_of or -inf

        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(read())
            await until(is_so)
            reading.cancel()


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """Set it."""
    async with set_stage() as made:
        yield made


@asynccontextmanager
async def set_stage(*, at_first_sight: bool = False, away_s: float | None = None) -> AsyncIterator[Stage]:
    """Set it: twenty transactions, the first ten in a finalized segment."""
    journal, namenode = FakeJournal(), FakeNameNode()
    pool = FakePool(boottime, namenode)
    async with serving(journal.nodes) as access, asyncio.TaskGroup() as tasks:
        probes = tasks.create_task(pool.run())
        source = JournalEdits(pool, access, boottime, at_first_sight=at_first_sight, away_s=away_s)
        stage = Stage(journal, namenode, pool, source)
        stage.write(10)
        journal.roll()
        stage.write(10)
        try:
            yield stage
        finally:
            await source.shut_down()
            probes.cancel()


async def test_what_caches_lack_is_read_from_segments(stage: Stage) -> None:
    """Then it goes on with the caches, which have begun with the open segment."""
    for node in stage.journal.nodes:
        for txid in range(1, 11):
            del node.cache[txid]
    await stage.source.start(3)
    assert await stage.read_through(20) == list(range(4, 21))
    stage.write(5)
    assert await stage.read_through(25) == list(range(21, 26))


async def test_how_far_one_is_behind_is_known_once_it_has_shown_anything(stage: Stage) -> None:
    """Not by all there is before, and of none that is not asked."""
    assert stage.source.stats().journal.counted == {}
    await stage.source.start(20)
    assert stage.source.stats().journal.behind_txids == {}
    nodes = stage.journal.nodes
    stage.journal.nodes = nodes[:2]
    stage.write(5)
    await stage.read_through(25)
    async with asyncio.timeout(HANG_S):
        while sum(stage.source.stats().journal.counted.values()) < 3:
            await stage.source.read()
    assert stage.source.stats().journal.behind_txids == {"jn0:8485": 0, "jn1:8485": 0}
    stage.source.stop()
    figures = stage.source.stats().journal
    assert (figures.counted, figures.behind_txids) == ({}, {})


@pytest.mark.parametrize("at_first_sight", [False, True])
async def test_caches_that_are_lost_within_a_run_do_not_end_it(*, at_first_sight: bool) -> None:
    """All JournalNodes are restarted, and the segment ends. Neither a publisher nor a proxy loses anything."""
    async with set_stage(at_first_sight=at_first_sight) as stage:
        await stage.source.start(None)
        await stage.read_through(20)
        stage.write(5)
        stage.journal.roll()
        stage.journal.empty_caches()
        stage.write(2)
        assert await stage.read_through(27) == list(range(21, 28))


async def test_what_only_the_open_segment_has_is_waited_for(stage: Stage) -> None:
    """It is not missing: it can be read once the segment ends, and the error says how to end it."""
    stage.journal.empty_caches()
    says = (
        "caches of too few JournalNodes.*edit-cache-size.*no finalized segment yet: hdfs dfsadmin -rollEdits"
    )
    with pytest.raises(ChannelUnavailableError, match=says):
        await stage.source.start(12)
    stage.journal.roll()
    await stage.source.start(12)
    assert await stage.read_through(20) == list(range(13, 21))


async def test_what_is_purged_is_a_gap(stage: Stage) -> None:
    """After it the publisher goes on."""
    stage.journal.roll()
    stage.journal.purge()
    stage.journal.empty_caches()
    with pytest.raises(MissingEventsError) as caught:
        await stage.source.start(3)
    assert (caught.value.kind, caught.value.first_txid, caught.value.last_txid) == (GapKind.PURGED, 4, 10)
    await stage.source.start(10)
    assert await stage.read_through(20) == list(range(11, 21))


async def test_a_large_segment_is_not_held_in_memory(stage: Stage) -> None:
    """It is read as fast as it is passed on."""
    stage.write(3 * MAX_WAITING)
    stage.journal.roll()
    stage.journal.empty_caches()
    await stage.source.start(15)
    through, most = 15, 0
    while through < stage.journal.end:
        for _ in range(200):  # turns of the event loop, in which all could be read
            await asyncio.sleep(0)
        read = await stage.source.read()
        through, most = read.through_txid, max(most, len(read.batches))
    assert most < 2 * MAX_WAITING


@pytest.mark.parametrize("lost", [0, 1])
async def test_the_log_of_a_new_epoch_is_compared_with_what_was_taken(stage: Stage, lost: int) -> None:
    """A difference is another log, and no position in it is one of ours; else nothing is read twice."""
    stage.write(MAX_TRANSACTIONS)
    end = stage.journal.end
    await stage.source.start(5)
    await stage.read_through(end)
    stage.journal.fail_over(lost=lost)
    stage.write(3, b"of another NameNode")
    with pytest.raises(MissingEventsError, match="has promised epoch 2 after 1"):
        await stage.read_through(end + 99)
    if lost:
        with pytest.raises(MissingEventsError, match=f"transaction {end} is another one") as caught:
            await stage.source.start(end)
        assert caught.value.kind is GapKind.WENT_BACK
    else:
        await stage.source.start(end)
        assert await stage.read_through(end + 3) == [end + 1, end + 2, end + 3]


@pytest.mark.parametrize("at_first_sight", [False, True])
async def test_what_the_namenode_writes_elsewhere_is_not_covered(*, at_first_sight: bool) -> None:
    """JournalNodes of which it has taken leave answer as before, and show nothing new."""
    async with set_stage(at_first_sight=at_first_sight) as stage:
        await stage.source.start(None)
        await stage.read_through(20)
        for number in range(3):
            stage.namenode.unlink("/f")
            written_at = boottime()
            await stage.read_until(lambda: stage.probed_as_of > written_at)  # noqa: B023 - called at once
            assert stage.covered_as_of < written_at, number
            stage.journal.write(1)
            await stage.read_until(lambda: stage.covered_as_of > written_at)  # noqa: B023 - the same


async def test_where_another_source_can_be_read_it_does_not_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that the NameNode has left comes back to life no more."""
    monkeypatch.setattr(of_source, "BEHIND_S", 0.5)
    async with set_stage(away_s=1.0) as stage:
        await stage.source.start(None)
        await stage.read_through(20)
        stage.namenode.unlink("/f")
        with pytest.raises(ChannelUnavailableError, match="ahead of its JournalNodes"):
            await stage.read_through(21)
        monkeypatch.setattr(of_source, "START_S", 0.5)
        with pytest.raises(ChannelUnavailableError, match="they show nothing"):
            await stage.source.start(21)  # another source has come so far, and the log is idle
        stage.journal.write(1)
        async with asyncio.TaskGroup() as tasks:
            monkeypatch.setattr(of_source, "START_S", HANG_S)
            starting = tasks.create_task(stage.source.start(21))
            stage.write(1)
            await starting
        assert await stage.read_through(22) == [22]


async def test_a_namenode_without_word_of_its_log_is_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says its state alone, which covers what is polled: the gate opens again."""
    monkeypatch.setattr(probing, "UNSHOWN_S", 0.5)
    async with set_stage(away_s=HANG_S) as stage:
        polled = Choice("the NameNode (inotify)", PolledEdits(stage.pool, PollingSettings(), boottime))
        auto = AutoEdits((Choice("the JournalNodes", stage.source), polled), boottime)
        await auto.start(None)
        await auto.read()
        stage.namenode.answers_journal = False
        async with asyncio.timeout(HANG_S):
            while auto.stats().source != INOTIFY:
                await auto.read()
            asked_at = boottime()
            while ((await auto.read()).fresh_as_of or -inf) < asked_at:
                pass
        assert "has not said for 0.5 s" in auto.stats().passed_over[JOURNALNODES]
        await auto.shut_down()


async def test_where_no_other_source_can_be_read_it_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NameNode may say again how far its log has come."""
    monkeypatch.setattr(probing, "UNSHOWN_S", 0.5)
    async with set_stage() as stage:
        await stage.source.start(None)
        await stage.read_through(20)
        stage.namenode.answers_journal = False
        away_at = boottime()
        await stage.read_until(lambda: (stage.pool.confirmed_as_of or -inf) > away_at + 1.0)
        assert stage.covered_as_of < away_at
        stage.namenode.answers_journal = True
        await stage.read_until(lambda: stage.covered_as_of > away_at)


async def test_one_that_is_ahead_of_the_majority_is_asked_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would say the same again."""
    monkeypatch.setattr(of_source, "MAX_TRANSACTIONS", 5)
    async with set_stage(at_first_sight=True) as stage:
        await stage.source.start(None)
        await stage.read_through(20)
        first, *others = stage.journal.nodes
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
        stage.write(9)
        await stage.read_until(lambda: len(asked) >= 20)
        assert asked[-1] - asked[-11] >= 10 * of_source.POLL_INTERVAL_S


async def test_another_namespace_is_compared_over_an_old_connection(stage: Stage) -> None:
    """The NameNodes were formatted, and the JournalNodes of before go on."""
    await stage.source.start(None)
    stage.source.stop()
    asked = [len(node.asked) for node in stage.journal.nodes]
    stage.namenode.namespace = Namespace("CID-2", "BP-2-127.0.0.1-1")
    stage.namenode.restart()
    async with asyncio.timeout(HANG_S):
        while [len(node.asked) for node in stage.journal.nodes] == asked:
            with suppress(ChannelUnavailableError, MissingEventsError):
                await stage.source.start(None)


@pytest.mark.parametrize("is_compared", [True, False])
async def test_a_journal_of_another_namespace_counts_for_nothing(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, *, is_compared: bool
) -> None:
    """That its namespace is compared is what shows it: without that its answers count."""

    async def believe(_access: JournalAccess, _web: str, _storage: tuple[int, str]) -> None:
        """Take any journal for this namespace's."""

    if not is_compared:
        monkeypatch.setattr(JournalAccess, "see_same_journal", believe)
    monkeypatch.setattr(of_source, "START_S", 1.0)
    for node in stage.journal.nodes:
        node.status, node.text = HTTPStatus.FORBIDDEN, "This node has namespaceId '1'"
    if not is_compared:
        await stage.source.start(20)
        return
    with pytest.raises(ChannelUnavailableError, match="0 of 3 JournalNodes can be read"):
        await stage.source.start(20)


async def test_one_that_catches_up_is_not_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The NameNode's log is ahead for as long as that takes."""
    monkeypatch.setattr(of_source, "BEHIND_S", 0.5)
    async with set_stage(away_s=HANG_S) as stage:
        await stage.source.start(None)
        await stage.read_through(20)
        for _ in range(1_000):
            stage.namenode.unlink("/f")
        began_at = boottime()
        while boottime() < began_at + 3 * of_source.BEHIND_S:
            stage.journal.write(1)
            await stage.read_through(stage.journal.end)
