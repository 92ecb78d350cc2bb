"""plan_filters: the published filters become those of HDFS, and keep their chains where possible."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count

import pytest

from nncache.coordination.zookeeper import CreateOp
from nncache.hadoop.errors import MalformedReplyError
from nncache.invalidation.channel.published_filters import (
    FilterTerms,
    PublishedFilter,
    encode_published_filter,
)
from nncache.invalidation.channel.records import FilterModification, FilterRecord, MatchedEvents, RecordLink
from nncache.invalidation.channel.znode_json import MAX_RECORD_BYTES
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.publisher.filter_plan import changed_positions, plan_filters
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition
from nncache.invalidation.publisher.zookeeper_output import LOOK_S
from tests.invalidation.publisher.fake_cluster import (
    ZNODES,
    FakeCluster,
    protected_cluster,
)
from tests.invalidation.publisher.fakes import published
from tests.invalidation.virtual_time import until


def stored(*filters: Filter, **broken: str) -> StoredFilters:
    """Return the result of reading HDFS."""
    return StoredFilters(filters={each.name: each for each in filters}, broken=broken)


def plan(
    has: dict[str, PublishedFilter],
    wants: StoredFilters | None,
    damaged: dict[str, PublishedFilter | None] | None = None,
) -> FilterChange:
    """Return the change after transaction 7, with new ids new-1, new-2 and so on."""
    ids: Iterator[int] = count(1)
    return plan_filters(has, damaged or {}, wants, since_txid=7, new_id=lambda: f"new-{next(ids)}")


def new(name: str, glob: str, number: int, **facts: object) -> PublishedFilter:
    """Return a filter that begins now."""
    return published(name, glob, id=f"new-{number}", since_txid=7, **facts)


@pytest.mark.parametrize(
    "wants",
    [stored(Filter("f", "/f", "joe")), stored(f="not JSON", g="not JSON"), None],
    ids=["equal", "broken, or never good", "HDFS cannot be read"],
)
def test_nothing_changes_without_need(wants: StoredFilters | None) -> None:
    """Equal filters keep their id and start; neither a broken definition nor safe mode changes published filters."""
    assert plan({"f": published("f", "/f")}, wants).is_empty


def test_filters_come_and_go() -> None:
    """A new filter begins after the last publication; each gets an id of its own."""
    change = plan(
        {"old": published("old")}, stored(Filter("b", "/b", "joe", ("amy",)), Filter("a", "/a", "joe"))
    )
    assert change == FilterChange(
        removed=("old",), added=(new("a", "/a", 1), new("b", "/b", 2, allowed_subscribers=("amy",)))
    )


@pytest.mark.parametrize(
    ("wanted", "id_"), [(Filter("f", "/g", "joe"), "new-1"), (Filter("f", "/f", "amy"), "id-f")]
)
def test_another_glob_or_owner_is_announced_in_the_same_stream(wanted: Filter, id_: str) -> None:
    """Another glob gets another id, for caches; the stream continues."""
    has = published("f", "/f", since_txid=3)
    change = plan({"f": has}, stored(wanted))
    after = replace(has, id=id_, path_glob=wanted.path_glob, owner=wanted.owner, replaces=has.terms)
    assert change == FilterChange(modified=(after,))
    assert (after.chain, after.since_txid) == ("id-f", 3)


def test_unpublished_change_is_merged_with_the_next() -> None:
    """Two modifications in a row are announced once; a modification that is reverted is not announced."""
    first, reported = published("f", "/f"), published("f", "/f").terms
    (second,) = plan({"f": first}, stored(Filter("f", "/g", "joe"))).modified
    (third,) = plan({"f": second}, stored(Filter("f", "/h", "joe"))).modified
    assert (third.path_glob, third.replaces) == ("/h", reported)
    (back,) = plan({"f": second}, stored(Filter("f", "/f", "joe"))).modified
    assert (back.path_glob, back.replaces, back.chain) == ("/f", None, first.chain)


def test_a_filter_that_was_made_again_is_another_one() -> None:
    """Unless the new filter is equal, earlier records are of another glob, or for another owner."""
    has = published("f", "/f", file_id=7)
    for glob, owner in (("/g", "joe"), ("/f", "amy")):
        change = plan({"f": has}, stored(Filter("f", glob, owner, file_id=8)))
        assert change == FilterChange(removed=("f",), added=(new("f", glob, 1, owner=owner, file_id=8),))
    change = plan({"f": has}, stored(Filter("f", "/f", "joe", file_id=8)))
    assert change == FilterChange(updated=(replace(has, file_id=8),))


def test_other_subscribers_are_the_same_filter() -> None:
    """Subscribers are updated in the definition; the filter keeps its id and chain."""
    has = published("f", "/f", since_txid=3)
    change = plan({"f": has}, stored(Filter("f", "/f", "joe", ("amy",))))
    assert change == FilterChange(updated=(replace(has, allowed_subscribers=("amy",)),))


def test_damaged_filters_begin_anew() -> None:
    """They begin as HDFS defines them, or as published while HDFS is unreadable. Without either they wait."""
    has = published("f", "/f")
    anew = FilterChange(removed=("f",), added=(new("f", "/f", 1),))
    assert plan({}, stored(Filter("f", "/f", "joe")), {"f": None}) == anew
    assert plan({}, None, {"f": has}) == anew
    assert plan({}, stored(f="not JSON"), {"f": has}) == anew
    assert plan({}, None, {"f": None}) == FilterChange(removed=("f",))
    assert plan({}, stored(), {"f": has}) == FilterChange(removed=("f",))


def test_positions_follow_a_change() -> None:
    """New filters begin at their start; updated ones keep their position."""
    has = {name: FilterPosition(published(name), 5) for name in ("f", "g", "h", "i")}
    updated = published("g", owner="amy")
    change = FilterChange(removed=("f", "h"), added=(new("h", "/h", 1),), updated=(updated,))
    assert changed_positions(has, change, txid=7) == {
        "g": FilterPosition(updated, 5),
        "h": FilterPosition(new("h", "/h", 1), 7),
        "i": has["i"],
    }


def test_a_record_says_how_a_filter_was_modified() -> None:
    """It names the last published transaction; if that already has a record, the next record announces it."""
    modified = replace(published("f"), owner="amy", replaces=published("f").terms)
    known = replace(modified, replaces=None)
    change = FilterChange(modified=(modified,))
    for records_txid, after in ((5, FilterPosition(known, 7)), (7, FilterPosition(modified, 7))):
        has = {"f": FilterPosition(published("f"), records_txid)}
        assert changed_positions(has, change, txid=7) == {"f": after}
    has = {"f": FilterPosition(modified, 5)}
    assert changed_positions(has, FilterChange(modified=(known,)), txid=7) == {"f": FilterPosition(known, 5)}


# -- as the publisher carries it out


async def test_definitions_that_others_have_planted_are_removed(on: FakeCluster) -> None:
    """Bounded: they get no records, so no cache may trust them. Other filters are not affected."""
    async with on.publishing():
        before = on.published_filters()
        planted = replace(before["f"], name="planted", id="theirs", path_glob="/**")
        await on.outsider.wait_connected(1)
        await on.outsider.commit(
            [
                CreateOp(ZNODES.definition("planted"), encode_published_filter(planted)),
                CreateOp(ZNODES.definition("hidden"), b"?"),
                CreateOp(ZNODES.definition("huge"), b"x" * (MAX_RECORD_BYTES + 1)),
            ]
        )
        on.zookeeper.tree.forbidden.add(ZNODES.definition("hidden"))
        generation = on.generation()
        await until(lambda: on.zookeeper.tree.children(ZNODES.filters) == ("f",), within_s=2 * LOOK_S)
        assert on.generation() > generation
        assert on.published_filters() == before


async def test_filters_follow_hdfs(on: FakeCluster) -> None:
    """Each change comes into force within a second on an otherwise idle cluster."""
    async with on.publishing() as process:
        steps: tuple[tuple[Callable[[], None], Callable[[], bool], int], ...] = (
            (lambda: on.filters.put("g", "/g"), lambda: "g" in on.published_filters(), 1),
            (
                lambda: on.filters.put("g", "/g", allowed=("amy",)),
                lambda: on.published_filters()["g"].allowed_subscribers == ("amy",),
                0,
            ),
            (lambda: on.filters.put("g", "/h"), lambda: on.published_filters()["g"].path_glob == "/h", 1),
            (lambda: on.filters.remove("g"), lambda: "g" not in on.published_filters(), 1),
        )
        for act, is_done, generations in steps:
            await asyncio.sleep(5)
            generation = on.generation()
            act()
            await until(is_done, within_s=1)
            assert on.generation() == generation + generations
        on.filters.damage("f")
        await asyncio.sleep(5)
        assert "f" in on.published_filters()
        assert process.publisher.broken_filters == {"f": "not JSON"}
        assert process.publisher.stats().filters_broken == 1
        assert list(process.publisher.filters) == ["f"]


async def test_subscribers_learn_of_a_modification_at_its_transaction(on: FakeCluster) -> None:
    """It is in their stream, which continues: only later transactions match the new glob."""
    async with on.publishing():
        first = on.namenode.unlink("/f")
        await on.published(first)
        before = on.published_filters()["f"]
        on.filters.put("f", "/g", owner="amy")
        await until(lambda: on.published_filters()["f"].path_glob == "/g", within_s=1)
        after, newest = on.published_filters()["f"], on.records("f")[-1]
        assert (after.chain, after.replaces) == (before.id, None)
        assert after.id != before.id
        assert newest == FilterRecord(
            RecordLink(before.id, first, on.covered()),
            MatchedEvents(()),
            FilterModification(on.covered(), FilterTerms("/f", "joe"), FilterTerms("/g", "amy")),
        )
        on.namenode.unlink("/f")
        second = on.namenode.unlink("/g")
        await on.published(second)
        assert on.reported("f") == [first, second]
        assert [each.modified is None for each in on.records("f")] == [True, False, True]


@pytest.mark.parametrize(("path", "content"), [("/g", 1), ("/else", 0)])
async def test_where_no_record_can_say_it_the_next_one_does(on: FakeCluster, path: str, content: int) -> None:
    """Any publisher may write that record; until then the definition has the notice."""
    async with on.publishing():
        on.filters.takes_s = 1.0
        on.filters.put("f", "/g")
        await asyncio.sleep(0.5)
        last = on.namenode.unlink("/f")
        await until(lambda: on.published_filters()["f"].path_glob == "/g")
        assert on.published_filters()["f"].replaces == FilterTerms("/f", "joe")
        assert (on.records("f")[-1].link.txid, on.records("f")[-1].modified) == (last, None)
    on.filters.takes_s = 0.01
    async with on.publisher("b") as process:
        await until(lambda: process.publisher.stats().filters == 1)
        txid = on.namenode.unlink(path)
        await on.published(txid)
        newest = on.records("f")[-1]
        assert newest.link.txid == txid
        assert newest.modified == FilterModification(last, FilterTerms("/f", "joe"), FilterTerms("/g", "joe"))
        assert isinstance(newest.content, MatchedEvents)
        assert len(newest.content.batches) == content
        assert on.published_filters()["f"].replaces is None
        on.filters.put("f", "/h")
        await until(lambda: on.records("f")[-1].link.txid > txid)
        modified = on.records("f")[-1].modified
        assert modified is not None
        assert modified.before.path_glob == "/g"


async def test_a_modified_filter_has_its_new_owners_acls() -> None:
    """The ACLs of its existing records change too."""
    on = protected_cluster()
    async with on.publishing():
        txid = on.namenode.unlink("/f")
        await on.published(txid)
        on.filters.put("f", "/f", owner="amy")
        path = ZNODES.record(ZNODES.stream("f"), txid)
        await until(lambda: "sasl:amy@R" in {f"{e.scheme}:{e.id}" for e in on.zookeeper.tree.acl(path).acl})
        assert "sasl:joe@R" not in {f"{e.scheme}:{e.id}" for e in on.zookeeper.tree.acl(path).acl}


async def test_published_filters_stay_while_hdfs_gives_none(on: FakeCluster) -> None:
    """In safe mode or without a DataNode the read is retried until it succeeds."""
    async with on.publisher():
        await on.with_filter()
    on.filters.fault = MalformedReplyError("no DataNode")
    on.filters.put("g", "/g")
    async with on.publisher() as process:
        txid = on.namenode.unlink("/f")
        await on.published(txid)
        assert on.reported("f") == [txid]
        await asyncio.sleep(60)
        assert list(on.published_filters()) == ["f"]
        assert process.publisher.stats().filter_reads_failed > 10
        on.filters.fault = None
        await until(lambda: "g" in on.published_filters(), within_s=3)


async def test_a_thousand_filters_at_once(on: FakeCluster) -> None:
    """They are added and removed in few multis, and each gets its matching events."""
    async with on.publisher() as process:
        await on.published()
        for number in range(1000):
            on.filters.put(f"f{number}", f"/dir/{number}/*")
        await until(lambda: process.publisher.stats().filters == 1000)
        writes = on.zookeeper.writes
        txid = on.namenode.unlink("/dir/7/x")
        await on.published(txid)
        assert on.reported("f7") == [txid]
        for number in range(1000):
            on.filters.remove(f"f{number}")
        await until(lambda: process.publisher.stats().filters == 0)
        assert on.zookeeper.writes - writes < 50
    assert set(on.zookeeper.tree.children(ZNODES.namespace)) == {".cache", ".epoch", ".filters"}
