"""A run resumes after the last records, and first reports missed edits (GapFlush)."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import pytest

from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop import feed_znodes
from nncache.invalidation.channel.records import DroppedTransactions
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    UnreadableEditsError,
)
from nncache.invalidation.feed.source import FeedEdits
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.output_stream import (
    FilterChange,
    FilterPosition,
    Publication,
    PublishedState,
)
from nncache.invalidation.publisher.pending import PendingBatch
from nncache.invalidation.publisher.resume import UNREADABLE_S, Resumption
from nncache.invalidation.publisher.stats import PublisherStats
from tests.invalidation.fake_feed import ROOT, FakeFeed
from tests.invalidation.publisher.fake_cluster import ZNODES, FakeCluster
from tests.invalidation.publisher.fakes import FakeOutput, ScriptedSource, batch, positions, published, read
from tests.invalidation.virtual_time import clock, until

STATE = PublishedState(txid=10, filters=positions({"f": "/f", "g": "/g"}, 8) | positions({"g": "/g"}, 12))
PURGED = MissingEventsError("purged", GapKind.PURGED, first_txid=11, last_txid=20)
WENT_BACK = MissingEventsError("went back", GapKind.WENT_BACK)
UNREADABLE = MissingEventsError("not a page", GapKind.UNREADABLE)


class Fixture:
    """A source, an output, and the Resumption that connects them."""

    def __init__(self) -> None:
        ids = count(1)
        self.source = ScriptedSource()
        self.output = FakeOutput()
        self.counts = PublisherStats()
        self.resumption = Resumption(
            self.source, self.output, assemble, self.counts, clock, lambda: f"new-{next(ids)}"
        )


def assemble(txid: int, filters: Mapping[str, FilterPosition]) -> PendingBatch:
    """Return a pending batch."""
    return PendingBatch(
        txid,
        filters,
        max_changes=9,
        max_events=99,
        filters_path="/filters",
        limits=FilterLimits(0.0, 0.0),
        counts=PublisherStats(),
    )


async def fixture(*, is_known: bool = True) -> Fixture:
    """Return a process that has published STATE, or one that has just started."""
    made = Fixture()
    if is_known:
        await made.resumption.begin(STATE)
        made.source.started.clear()
        made.output.reported.clear()
    return made


def dropped(first: int, last: int, reason: str) -> Publication:
    """Return the publication of a gap after STATE."""
    filters = {
        "f": DroppedTransactions(first, last, reason),
        "g": DroppedTransactions(max(first, 13), last, reason),
    }
    return Publication(txid=last, content=DroppedTransactions(first, last, reason), filters=filters)


async def test_it_goes_on_where_the_records_end() -> None:
    """Resuming writes nothing."""
    on = await fixture()
    resumed = await on.resumption.begin(STATE)
    assert resumed.is_continuous
    assert (resumed.pending.txid, resumed.pending.filters) == (10, STATE.filters)
    assert on.source.started == [10]
    assert on.output.reported == []


async def test_edits_that_another_process_has_read_are_not_seen_here() -> None:
    """The other process published in between: the filters in HDFS may have changed unnoticed by this one."""
    on = await fixture()
    resumed = await on.resumption.begin(STATE)
    assert resumed.is_continuous
    resumed.pending.add(read(12))
    for txid, is_continuous in ((12, True), (13, False)):
        again = await on.resumption.begin(PublishedState(txid=txid, filters=STATE.filters))
        assert again.is_continuous is is_continuous
    assert not (await Fixture().resumption.begin(STATE)).is_continuous, "a process that has just begun"


async def test_where_nothing_is_published_it_begins_at_the_present_end() -> None:
    """It begins at a durable transaction: another id could be reused for another edit."""
    on = await fixture()
    on.source.script = [EditsRead((), 30, None, is_durable=False), read(31, batch(31, "/f"))]
    resumed = await on.resumption.begin(PublishedState(txid=None))
    assert not resumed.is_continuous
    assert (resumed.pending.txid, dict(resumed.pending.filters)) == (31, {})
    assert (on.source.started, on.output.reported) == ([None], [31])
    assert on.counts.new_chains == 1


async def test_damaged_filters_begin_anew_before_anything_else() -> None:
    """Unreadable ones are removed, because caches may still trust them."""
    on = await fixture()
    damaged = {"d": published("d", "/d"), "e": None}
    resumed = await on.resumption.begin(PublishedState(txid=10, filters=STATE.filters, damaged=damaged))
    anew = published("d", "/d", id="new-1", since_txid=10)
    assert on.output.reported == [FilterChange(removed=("d", "e"), added=(anew,))]
    assert resumed.pending.filters == {**STATE.filters, "d": FilterPosition(anew, 10)}


@pytest.mark.parametrize("left", [STATE, PublishedState(txid=10, filters=positions({"f": "/f"}))])
async def test_a_changed_set_makes_every_proxy_read_it(left: PublishedState) -> None:
    """P3: caches that have read a lost filter may still trust it."""
    on = await fixture(is_known=left is not STATE)
    await on.resumption.begin(left)
    assert on.output.reported == [FilterChange()]
    await on.resumption.begin(left)
    assert on.output.reported == [FilterChange()], "once"


async def test_other_owners_or_subscribers_need_no_reading() -> None:
    """A write's reply may have been lost. Caches read only globs and ids."""
    on = await fixture()
    found = {
        name: replace(position, filter=replace(position.filter, owner="amy", allowed_subscribers=("bob",)))
        for name, position in STATE.filters.items()
    }
    resumed = await on.resumption.begin(PublishedState(txid=10, filters=found))
    assert on.output.reported == []
    assert resumed.pending.filters == found


async def test_purged_edits_are_dropped_for_all() -> None:
    """Each purge is reported; then the publisher continues at the first readable transaction."""
    on = await fixture()
    again = MissingEventsError("purged again", GapKind.PURGED, first_txid=21, last_txid=25)
    on.source.starts = [PURGED, again]
    resumed = await on.resumption.begin(STATE)
    assert on.source.started == [10, 20, 25]
    second = {name: DroppedTransactions(21, 25, "purged again") for name in ("f", "g")}
    assert on.output.reported == [
        dropped(11, 20, "purged"),
        Publication(txid=25, content=DroppedTransactions(21, 25, "purged again"), filters=second),
    ]
    assert not resumed.is_continuous
    assert (resumed.pending.txid, on.counts.drops, on.counts.published_txid) == (25, 2, 25)


async def test_a_log_that_went_back_begins_all_anew() -> None:
    """The filters stay as published, under new ids."""
    on = await fixture()
    on.source.starts, on.source.script = [WENT_BACK], [read(7)]
    resumed = await on.resumption.begin(STATE)
    anew = tuple(
        published(name, f"/{name}", id=f"new-{number}", since_txid=7) for number, name in ((1, "f"), (2, "g"))
    )
    assert on.output.reported == [7, FilterChange(removed=("f", "g"), added=anew)]
    assert {name: position.txid for name, position in resumed.pending.filters.items()} == {"f": 7, "g": 7}
    assert not resumed.is_continuous


async def test_a_present_end_that_is_not_read_ends_the_attempt() -> None:
    """Otherwise a leader would wait for ever: another process may succeed, and this one reports the reason."""
    on = await fixture()
    began_at = clock()
    with pytest.raises(ChannelUnavailableError, match="could not be read for 30 s"):
        await on.resumption.begin(PublishedState(txid=None))
    assert clock() - began_at == pytest.approx(30)
    assert on.output.reported == []


@pytest.mark.parametrize("error", [UNREADABLE, UnreadableEditsError("event 99")])
async def test_unreadable_edits_are_given_up_in_time(error: Exception) -> None:
    """They may become readable soon, but waiting for ever would stop all publications."""
    on = await fixture()
    for _ in range(2):
        on.source.starts = [error]
        with pytest.raises(type(error)):
            await on.resumption.begin(STATE)
        await asyncio.sleep(UNREADABLE_S / 2)
    on.source.starts, on.source.script = [error], [read(33)]
    resumed = await on.resumption.begin(STATE)
    assert on.output.reported == [dropped(11, 33, str(error))]
    assert (resumed.pending.txid, resumed.is_continuous) == (33, False)
    on.source.starts = [error]
    with pytest.raises(type(error)):
        await on.resumption.begin(STATE)


async def test_a_life_that_has_waited_already_counts() -> None:
    """The next run skips them immediately, unless they are readable again."""
    on = await fixture()
    on.resumption.found_unreadable()
    assert (await on.resumption.begin(STATE)).is_continuous
    on.resumption.found_unreadable()
    on.source.starts, on.source.script = [UNREADABLE], [read(33)]
    await on.resumption.begin(STATE)
    assert on.output.reported == [dropped(11, 33, "not a page")]


@pytest.mark.parametrize(
    "error",
    [MissingEventsError("another one is active"), ChannelUnavailableError("none"), NotPermittedError("no")],
)
async def test_everything_else_ends_the_attempt(error: Exception) -> None:
    """Such an attempt has lost nothing, so it reports nothing."""
    on = await fixture()
    on.source.starts = [error]
    with pytest.raises(type(error)):
        await on.resumption.begin(STATE)
    assert on.output.reported == []


async def test_a_gap_that_cannot_be_published_is_found_again() -> None:
    """Only the published position counts."""
    on = await fixture()
    on.source.starts, on.output.faults = [PURGED], [ChannelUnavailableError("no ZooKeeper")]
    with pytest.raises(ChannelUnavailableError):
        await on.resumption.begin(STATE)
    assert on.source.started == [10]
    on.source.starts = [PURGED]
    await on.resumption.begin(STATE)
    assert on.output.reported == [dropped(11, 20, "purged")]


@pytest.mark.parametrize("data", [b"[{", b'[{"type":"UNLINK","x":' + b"[" * 5_000], ids=["cut", "deep"])
async def test_a_corrupt_edit_of_a_feed_is_given_up(on: FakeCluster, data: bytes) -> None:
    """Otherwise a publisher would meet the edit in each run, and publish nothing more."""
    feed = FakeFeed(on.zookeeper)
    on.namenode.log = feed.log
    on.other_source = lambda: FeedEdits(
        on.pool, ZooKeeperSettings(), ROOT, clock, connect=lambda _settings, _clock: on.zookeeper.session()
    )
    async with asyncio.TaskGroup() as tasks:
        probing = tasks.create_task(on.pool.run())
        async with on.publishing():
            on.zookeeper.disconnect()
            before, txid, last_txid = (on.namenode.unlink("/f") for _ in range(3))
            feed.commit(SetDataOp(ROOT + feed_znodes.edit(1, txid - 1), data))
            on.zookeeper.connect()
            await on.published()
            found = on.records("f")[-1].content
            assert isinstance(found, DroppedTransactions)
            assert (found.first_txid, found.last_txid) == (before, last_txid)
            again = on.namenode.unlink("/f")
            await on.published()
            assert on.reported("f") == [again]
        probing.cancel()


@pytest.mark.parametrize("what", ["definition", "definition and stream"])
async def test_a_filter_that_somebody_deleted_is_taken_out_of_force(on: FakeCluster, what: str) -> None:
    """P3: caches that have read the filter trust it until a record of another generation makes them read again."""
    async with on.publisher():
        await on.with_filter("f", "/f/*")
    known, former = on.generation(), on.published_filters()["f"]
    deletions: list[ZnodeOp] = [DeleteOp(ZNODES.definition("f"))]
    if what == "definition and stream":
        deletions.append(DeleteOp(ZNODES.stream("f")))
    await on.outsider.commit(deletions)
    changed = on.namenode.unlink("/f/x")
    on.filters.takes_s = 0.5  # the edits are read before the filter is known to be wanted
    async with on.publisher():
        await on.published()
        (record,) = (each for each in on.cache_records() if each.link.previous < changed <= each.link.txid)
        assert record.generation > known
        await until(lambda: "f" in on.published_filters())
        assert on.published_filters()["f"].id != former.id
