"""Run: reading, matching and writing do not block one another, and lose nothing between them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count, pairwise
from typing import Any

import pytest

from nncache.invalidation.channel.records import MatchedEvents
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError, NotPermittedError
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.publisher.filter_follower import FilterAdmission, FilterFollower
from nncache.invalidation.publisher.filter_journal import FilterHistory
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.output_stream import FilterChange, Publication
from nncache.invalidation.publisher.pacing import RecordPacer
from nncache.invalidation.publisher.pending import PendingBatch
from nncache.invalidation.publisher.resume import SILENCE_S, Resumed
from nncache.invalidation.publisher.run import TRANSACTIONS_PER_ITERATION, Run
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.stats import PublisherStats
from tests.invalidation.fakes import FakeNameNode
from tests.invalidation.publisher.fake_cluster import FakeFilters
from tests.invalidation.publisher.fakes import FakeOutput, ScriptedSource, batch, positions, read
from tests.invalidation.virtual_time import clock, until

MAX_EVENTS = 20_000
ENDED = MissingEventsError("another NameNode is active")


class Fixture:
    """A run after transaction 10, with filter f on /f in HDFS and in force."""

    def __init__(
        self, *script: EditsRead | Exception | float, is_continuous: bool = True, per_s: float = 0.0
    ) -> None:
        ids = count(1)
        self.filters = FakeFilters(FakeNameNode())
        self.filters.put("f", "/f")
        self.source = ScriptedSource(*script)
        self.output = FakeOutput()
        self.counts = PublisherStats()
        self.journal = FilterHistory()
        self.follower = FilterFollower(self.filters, 60.0, clock)
        self._limits = FilterLimits(per_s, clock())
        self._new_id = lambda: f"new-{next(ids)}"
        self.pending = PendingBatch(
            10,
            positions({"f": "/f"}, 10, file_id=1),
            max_changes=9,
            max_events=MAX_EVENTS,
            filters_path=self.filters.path,
            limits=self._limits,
            counts=self.counts,
        )
        self.run = self.next_run(self.source, is_continuous=is_continuous)

    def next_run(self, source: ScriptedSource, *, is_continuous: bool) -> Run:
        """Return a run that continues with the pending batch."""
        return Run(
            Resumed(pending=self.pending, is_continuous=is_continuous),
            source=source,
            output=self.output,
            follower=self.follower,
            pacer=RecordPacer(PublisherSettings(), clock()),
            limits=self._limits,
            admission=FilterAdmission(FilterSettings()),
            counts=self.counts,
            journal=self.journal,
            clock=clock,
            new_id=self._new_id,
        )

    @property
    def covered(self) -> list[int]:
        """The last transaction of each publication."""
        return [each.txid for each in self.output.publications]


@asynccontextmanager
async def running(*script: EditsRead | Exception | float, **how: Any) -> AsyncIterator[Fixture]:
    """Play a script as the edits of a run, while the block runs."""
    fixture = Fixture(*script, **how)
    async with asyncio.TaskGroup() as tasks:
        living = tasks.create_task(fixture.run.run())
        yield fixture
        living.cancel()


async def ended(
    *script: EditsRead | Exception | float, fault: Exception | None = None
) -> tuple[Fixture, Exception]:
    """Return a run that has ended by itself, and the error that ended it."""
    fixture = Fixture(*script)
    fixture.output.faults = [] if fault is None else [fault]
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the test checks it
        await fixture.run.run()
    return fixture, caught.value


async def test_one_page_of_edits_does_not_space_records_out() -> None:
    """A mkdirs with its parents is several transactions at a time; ten per second are not delayed."""
    late_s: list[float] = []
    pages = (
        read(last, *(batch(txid, "/f") for txid in range(last - 3, last + 1))) for last in range(14, 94, 4)
    )
    async with running(5.0, *(part for page in pages for part in (page, 0.1))) as on:
        for txid in range(14, 14 + 4 * 20, 4):
            await until(lambda txid=txid: on.covered[-1:] == [txid])  # type: ignore[misc]  # a lambda with a default
            assert on.run.waiting_s(clock()) == 0.0
            late_s.append((clock() - 1005.0) % 0.1)
        assert max(late_s) <= 0.02


async def test_what_comes_while_writing_goes_into_the_next_record() -> None:
    """Reading continues; under load records are spaced out."""
    script = [part for txid in range(11, 61) for part in (read(txid, batch(txid, "/f")), 0.001)]
    async with running(5.0, *script) as on:
        on.output.takes_s = 0.1
        await until(lambda: on.covered[-1:] == [60])
        assert len(on.covered) <= 3
        events = [found for each in on.output.publications for found in each.filters.values()]
        txids = [found.txid for each in events if isinstance(each, MatchedEvents) for found in each.batches]
        assert txids == list(range(11, 61))


async def test_coverage_alone_is_published_seldom() -> None:
    """It is published once per interval while no change concerns a filter, and never without new edits."""
    script = [part for txid in range(11, 1011) for part in (read(txid, batch(txid, "/else")), 0.01)]
    async with running(*script) as on:
        await asyncio.sleep(15)
        assert len(on.covered) == pytest.approx(10 / 0.5, abs=2)
        assert on.counts.coverage_records == len(on.covered)
        reported = len(on.covered)
        await asyncio.sleep(20)
        assert len(on.covered) == reported


@pytest.mark.parametrize("error", [ENDED, NotPermittedError("no")])
async def test_what_was_read_is_published_before_the_end(error: Exception) -> None:
    """L2: this holds even if reading ends at the same moment."""
    on, why = await ended(5.0, read(11, batch(11, "/f")), read(12, batch(12, "/f")), error)
    assert why is error
    assert on.covered[-1] == 12


async def test_silence_ends_a_life() -> None:
    """Another process may reach the NameNode."""
    on, why = await ended(read(11))
    assert isinstance(why, ChannelUnavailableError)
    assert f"{SILENCE_S:g} s" in str(why)
    assert on.covered == [11]


async def test_a_write_that_fails_ends_a_life() -> None:
    """The next run finds out what was written."""
    fault = ChannelUnavailableError("lost")
    on, why = await ended(5.0, read(11, batch(11, "/f")), 1.0, read(12), fault=fault)
    assert why is fault
    assert on.covered == []


async def test_no_more_is_read_than_can_wait() -> None:
    """While ZooKeeper is slow, the edits wait in the NameNode's log."""
    giant = ["/f"] * MAX_EVENTS
    script = [read(txid, batch(txid, *giant)) for txid in range(11, 16)]
    async with running(1.0, *script) as on:
        on.output.takes_s = 6.0
        await asyncio.sleep(12)
        assert len(on.source.script) == 2
        assert on.run.waiting_s(clock()) > 3
        await until(lambda: on.covered[-1:] == [15])


async def test_catching_up_yields_to_others_and_waits_for_room() -> None:
    """A read may have any number of transactions: few are matched per loop iteration, and no more than can wait."""
    many = read(2010, *(batch(txid, *["/f"] * 50) for txid in range(11, 2011)))
    async with running(many) as on:
        on.output.takes_s = 1.0
        seen = [(10, 0)]

        def is_done() -> bool:
            seen.append((on.pending.through_txid, on.pending.events_waiting))
            return on.covered[-1:] == [2010]

        for _ in range(50):
            await asyncio.sleep(0)
            is_done()
        assert max(after - before for (before, _), (after, _) in pairwise(seen)) == TRANSACTIONS_PER_ITERATION
        await until(is_done)
        assert max(waiting for _, waiting in seen) == MAX_EVENTS
        assert on.counts.events_matched == 2000 * 50
        assert on.counts.events_overflowed == 0


async def test_a_flood_is_dropped_while_edits_are_read_as_they_come() -> None:
    """No other filter lags: the overflow is reported, and reading continues."""
    giant = ["/f"] * MAX_EVENTS
    first, *others = (EditsRead((batch(txid, *giant),), txid, 1e9) for txid in range(11, 16))
    async with running(1.0, first, 1.0, *others) as on:
        on.output.takes_s = 6.0
        await asyncio.sleep(12)
        assert len(on.source.script) == 0
        assert on.pending.events_waiting <= MAX_EVENTS
        await until(lambda: on.covered[-1:] == [15])
        missed = [each.missed["f"] for each in on.output.publications if each.missed]
        assert [(each.first_txid, each.last_txid) for each in missed] == [(13, 15)]
        assert "max_buffered_events" in missed[0].reason
        assert on.counts.events_overflowed == 3 * MAX_EVENTS
        assert on.counts.events_matched == 2 * MAX_EVENTS


async def test_a_new_filter_begins_where_the_publications_end() -> None:
    """L1: edits read before are published with the old set, later ones are matched with the new set."""
    script = [part for txid in range(11, 16) for part in (read(txid, batch(txid, "/g")), 0.005)]
    async with running(5.0, *script) as on:
        await asyncio.sleep(5)
        on.filters.put("g", "/g")
        on.follower.invalidate(["g"])
        await until(lambda: on.covered[-1:] == [15])
        change = next(each for each in on.output.reported if isinstance(each, FilterChange))
        before = on.output.reported[: on.output.reported.index(change)]
        (added,) = change.added
        assert added.since_txid == max(
            (each.txid for each in before if isinstance(each, Publication)), default=10
        )
        found = [
            batch.txid
            for each in on.output.publications
            if isinstance(events := each.filters.get("g"), MatchedEvents)
            for batch in events.batches
        ]
        assert found == list(range(added.since_txid + 1, 16))
        assert 11 <= added.since_txid < 15
        assert (on.counts.filter_changes, on.counts.filters) == (1, 2)


async def test_a_change_undone_before_its_write_is_dropped() -> None:
    """Waiting edits are published first; an empty change would make each cache read all filters again."""
    async with running(5.0, read(11, batch(11, "/f")), 0.1, read(12, batch(12, "/f"))) as on:
        on.output.takes_s = 1.0
        await asyncio.sleep(5.5)
        on.filters.put("f", "/f", allowed=("ann",))
        on.follower.invalidate(["f"])
        await until(lambda: on.covered == [11])
        assert on.follower.reads == 2, "so the change is known, and transaction 12 is being published"
        on.filters.put("f", "/f")
        on.follower.invalidate(["f"])
        await until(lambda: on.covered == [11, 12])
        assert on.follower.reads == 3
        await asyncio.sleep(5)
        assert [each for each in on.output.reported if isinstance(each, FilterChange)] == []
        assert on.counts.filter_changes == 0
        on.filters.put("f", "/f", allowed=("bob",))
        on.follower.invalidate(["f"])
        await until(lambda: on.counts.filter_changes == 1)
        assert next(each for each in on.output.reported if isinstance(each, FilterChange)).updated


async def test_the_filters_are_read_when_their_directory_changes() -> None:
    """They are also read after a gap, in which they may have changed."""
    async with running(5.0, read(11, batch(11, "/apps/nncache/filters/g"))) as on:
        await until(lambda: on.follower.reads == 1)
        await asyncio.sleep(10)
        assert on.follower.reads == 2, "the first reading of any run, and the one for the edit"


@pytest.mark.parametrize(("is_continuous", "reads"), [(True, 1), (False, 2)])
async def test_a_life_after_a_gap_reads_the_filters_again(*, is_continuous: bool, reads: int) -> None:
    """They may have changed in the gap; without a gap the edits would show it."""
    first = Fixture(1.0, ENDED)
    with pytest.raises(MissingEventsError):
        await first.run.run()
    run = first.next_run(ScriptedSource(), is_continuous=is_continuous)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run.run(), 10)
    assert first.follower.reads == reads


async def test_a_change_of_the_filters_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The line names the filters by kind of change."""
    caplog.set_level(logging.INFO)
    async with running() as on:
        await asyncio.sleep(1)
        on.filters.put("f", "/other")
        on.filters.put("g", "/g")
        on.follower.invalidate(["f", "g"])
        await asyncio.sleep(1)
        on.filters.put("g", "/g", owner="amy")
        on.filters.remove("f")
        on.follower.invalidate(["f", "g"])
        await asyncio.sleep(1)
        assert [record.message for record in caplog.records] == [
            "the filters have changed: added: g; modified: f",
            "the filters have changed: removed: f; modified: g",
        ]


async def test_what_is_over_a_limit_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    """The line has the filter's name and the setting; each record has the reason."""
    much = EditsRead((batch(11, *["/f"] * 99),), 11, 1005.0)  # everything up to then: no earlier time counts
    pauses_s = {12: 5.0, 13: 5.0, 14: 25.0, 15: 25.0, 16: 15.0, 17: 5.0}
    script = [part for txid, s in pauses_s.items() for part in (s, read(txid, batch(txid, "/f")))]
    async with running(5.0, much, *script, per_s=0.01) as on:
        await until(lambda: on.covered[-1:] == [17], within_s=300)
        missed = [each.missed["f"] for each in on.output.publications if each.missed]
        assert [(each.first_txid, each.last_txid) for each in missed] == [
            (txid, txid) for txid in (13, 14, 15, 17)
        ]
        assert on.counts.events_over_limit == 4
        assert on.run.filters["f"].txid == 17
        logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
        why = "the filter matches more than 0.01 events a second (max_events_per_s_per_filter)"
        assert logged == 2 * [f"subscribers of f miss events: {why}"]


async def test_a_time_without_edits_saves_up_no_more_than_a_burst() -> None:
    """All edits were read in that time, although none came."""
    idle = [part for at in range(1005, 1205, 20) for part in (EditsRead((), 10, float(at)), 20.0)]
    flood = (read(11, batch(11, *["/f"] * 60)), read(12, batch(12, "/f")), read(13, batch(13, "/f")))
    async with running(5.0, *idle, *flood, per_s=0.02) as on:
        await until(lambda: on.covered[-1:] == [13], within_s=300)
        assert on.counts.events_over_limit == 1
