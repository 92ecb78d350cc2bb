"""WritePlan: writes are ordered, guarded by `.cache`, and small enough."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode, ZnodeOp
from nncache.hadoop.change import EverythingUnknown, Vanished
from nncache.invalidation.channel.published_filters import encode_published_filter
from nncache.invalidation.channel.records import (
    CacheRecord,
    DroppedTransactions,
    FilterModification,
    FilterRecord,
    MatchedEvents,
    RecordLink,
    StaleChanges,
    encode_cache_record,
    encode_filter_record,
    parse_cache_record,
    parse_filter_record,
)
from nncache.invalidation.channel.znode_json import fits
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition, Publication
from nncache.invalidation.publisher.stats import OutputStats
from nncache.invalidation.publisher.write_plan import (
    MAX_BYTES,
    MAX_OPERATIONS,
    PlannedStream,
    WritePlan,
    pack,
    tampered,
)
from tests.invalidation.publisher.fakes import batch, published

ZNODES = ZnodePaths("/inotify", "ns")
CACHE, FILTERS = "/inotify/ns/.cache", "/inotify/ns/.filters"
HUGE = "/" + "x" * 200_000


def tree(*names: str, counts: OutputStats | None = None, max_records: int = 3) -> WritePlan:
    """Return a plan at transaction 10: `.cache` has version 5, `.filters` version 4 and generation 2."""
    made = WritePlan(
        ZNODES,
        max_records,
        counts or OutputStats(),
        cache=PlannedStream(CACHE, "chain", 10, 5, deque([8, 9, 10])),
        generation=2,
        filters_version=4,
    )
    for name in names:
        made.add_place(name)
        made.add_definition(name, 7)
        made.add_filter(published(name), PlannedStream(ZNODES.stream(name), f"id-{name}", 9, 1, deque([9])))
    return made


def cache_record(
    previous: int, txid: int, content: StaleChanges | DroppedTransactions, generation: int = 2
) -> bytes:
    """Return a record for caches."""
    return encode_cache_record(CacheRecord(RecordLink("chain", previous, txid), generation, content))


def filter_record(name: str, previous: int, txid: int, content: MatchedEvents | DroppedTransactions) -> bytes:
    """Return a record of a filter."""
    return encode_filter_record(FilterRecord(RecordLink(f"id-{name}", previous, txid), content))


def planned(
    made: WritePlan, txid: int, **filters: MatchedEvents | DroppedTransactions
) -> list[Sequence[ZnodeOp]]:
    """Return the multis that publish these records of filters, and no change for caches."""
    return list(made.plan_publication(Publication(txid=txid, content=StaleChanges(()), filters=filters)))


def records_of_f(multis: Iterable[Sequence[ZnodeOp]]) -> list[FilterRecord]:
    """Return the records of filter f that these multis create."""
    created = [
        each for multi in multis for each in multi if isinstance(each, CreateOp) and "/f/" in each.path
    ]
    assert all(fits(each.data) for each in created)
    return [parse_filter_record(each.path, each.data) for each in created]


def test_a_publication_is_one_multi() -> None:
    """Records, values and the deletion of old records are atomic, guarded by versions (T1, T2)."""
    made, counts = tree("f", counts=(counted := OutputStats())), counted
    content = StaleChanges(((12, Vanished("/f")),))
    events = MatchedEvents((batch(12, "/f"),))
    publication = Publication(txid=13, content=content, filters={"f": events})
    assert list(made.plan_publication(publication)) == [
        [
            CreateOp("/inotify/ns/f/12", filter_record("f", 9, 12, events)),
            SetDataOp("/inotify/ns/f", b"12", 1),
            CreateOp(f"{CACHE}/13", cache_record(10, 13, content)),
            DeleteOp(f"{CACHE}/8"),
            SetDataOp(CACHE, b"13", 5),
        ]
    ]
    assert (counts.cache_records, counts.filter_records, counts.records_too_large) == (1, 1, 0)
    assert made.positions() == {"f": FilterPosition(published("f"), 12)}
    assert made.fence == CheckOp(CACHE, 6)
    (following,) = planned(made, 14, f=DroppedTransactions(13, 14, "purged"))
    assert following == [
        CreateOp("/inotify/ns/f/14", filter_record("f", 12, 14, DroppedTransactions(13, 14, "purged"))),
        SetDataOp("/inotify/ns/f", b"14", 2),
        CreateOp(f"{CACHE}/14", cache_record(13, 14, StaleChanges(()))),
        DeleteOp(f"{CACHE}/9"),
        SetDataOp(CACHE, b"14", 6),
    ]


def test_what_is_too_large_for_one_multi_goes_before() -> None:
    """The filters' records come first, each multi with a check of `.cache`, and `.cache` last (P2)."""
    names = [f"f{number}" for number in range(6)]
    made = tree(*names)
    events = MatchedEvents((batch(12, HUGE),))
    multis = planned(made, 12, **dict.fromkeys(names, events))
    assert len(multis) == 2
    assert [operations[0] for operations in multis[:-1]] == [CheckOp(CACHE, 5)]
    assert multis[-1][-1] == SetDataOp(CACHE, b"12", 5)
    flat = [operation.path for operations in multis for operation in operations]
    assert [path for path in flat if path.endswith("/12")] == [
        *(f"/inotify/ns/{name}/12" for name in names),
        f"{CACHE}/12",
    ]


def test_many_filters_take_several_multis() -> None:
    """A thousand matching filters need more than 2,000 operations."""
    names = [f"f{number}" for number in range(1000)]
    multis = planned(tree(*names), 12, **dict.fromkeys(names, MatchedEvents((batch(12, "/f"),))))
    assert [len(operations) for operations in multis] == [2000 - 1, 2 + 3]


def test_a_record_that_is_too_large_is_split() -> None:
    """Nothing is dropped that fits in two records of the same filter."""
    made = tree("f", max_records=100)
    batches = tuple(batch(txid, HUGE) for txid in range(11, 16))
    multis = planned(made, 15, f=MatchedEvents(batches))
    records = records_of_f(multis)
    assert [each.link.txid for each in records] == [12, 13, 15]
    assert [each.link.previous for each in records] == [9, 12, 13]
    assert (
        sum((each.content.batches for each in records if isinstance(each.content, MatchedEvents)), ())
        == batches
    )
    values = [op for ops in multis for op in ops if isinstance(op, SetDataOp) and op.path == "/inotify/ns/f"]
    assert [(value.data, value.version) for value in values] == [(b"12", 1), (b"13", 2), (b"15", 3)]


def test_many_events_are_split_by_their_number() -> None:
    """A record is not encoded repeatedly to find what fits."""
    made = tree("f", max_records=100)
    (multi,) = planned(made, 2510, f=MatchedEvents(tuple(batch(txid, "/f") for txid in range(11, 2511))))
    records = [op.path for op in multi if isinstance(op, CreateOp)]
    assert records == ["/inotify/ns/f/1010", "/inotify/ns/f/2010", "/inotify/ns/f/2510", f"{CACHE}/2510"]


def test_a_too_large_transaction_is_dropped_for_its_filter() -> None:
    """The ten thousand events of a CONCAT cannot be split: the subscriber gets a notice of the gap."""
    counts = OutputStats()
    made = tree("f", counts=counts)
    giant = batch(12, *[f"/{number}/{'x' * 100}" for number in range(10_000)])
    multis = planned(made, 13, f=MatchedEvents((batch(11, "/f"), giant, batch(13, "/f"))))
    contents = [each.content for each in records_of_f(multis)]
    assert contents == [
        MatchedEvents((batch(11, "/f"),)),
        DroppedTransactions(12, 12, "the events of transaction 12 are too many for one record"),
        MatchedEvents((batch(13, "/f"),)),
    ]
    assert counts.records_too_large == 1


def test_too_many_long_paths_make_everything_unknown() -> None:
    """A record for caches that is too large flushes them, but leaves no stale answer."""
    counts = OutputStats()
    made = tree(counts=counts)
    content = StaleChanges(tuple((11, Vanished(f"{HUGE}{number}")) for number in range(5)))
    ((create, *_),) = made.plan_publication(Publication(txid=11, content=content, filters={}))
    assert isinstance(create, CreateOp)
    reported = parse_cache_record(create.path, create.data).content
    assert reported == StaleChanges(((11, EverythingUnknown("too much has changed at once")),))
    assert counts.records_too_large == 1


def test_a_smaller_number_of_records_is_reached_in_steps() -> None:
    """A multi stays bounded even if the setting was 10,000 before."""
    made = WritePlan(
        ZNODES,
        2,
        OutputStats(),
        cache=PlannedStream(CACHE, "chain", 1300, 0, deque(range(1, 1301))),
        generation=1,
        filters_version=0,
    )
    deleted = [
        sum(isinstance(operation, DeleteOp) for operation in planned(made, txid)[0])
        for txid in range(1301, 1305)
    ]
    assert deleted == [500, 500, 301, 1]


def test_the_set_of_filters_changes_with_generation_and_fence() -> None:
    """T3: definitions, streams and generation change in one multi, which also increments the version of `.cache`."""
    made = tree("old", "same", "other")
    made.add_place("orphan")
    fresh, again = (
        published("orphan", "/o", id="n1", since_txid=10),
        published("other", "/p", id="n2", since_txid=10),
    )
    updated = published("same", owner="amy")
    change = FilterChange(removed=("old", "other"), added=(fresh, again), updated=(updated,))
    assert made.places_of(change) == (
        *("/inotify/ns/old", "/inotify/ns/other", "/inotify/ns/orphan"),
        *(f"{FILTERS}/old", f"{FILTERS}/other"),
    )
    multi, updating = made.plan_filters(change)
    assert multi == (
        SetDataOp(CACHE, b"10", 5),
        SetDataOp(FILTERS, b"3", 4),
        DeleteOp(f"{FILTERS}/old"),
        DeleteOp("/inotify/ns/old"),
        DeleteOp(f"{FILTERS}/other"),
        DeleteOp("/inotify/ns/other"),
        CreateOp(f"{FILTERS}/other", encode_published_filter(again)),
        CreateOp("/inotify/ns/other", b"10"),
        DeleteOp("/inotify/ns/orphan"),
        CreateOp(f"{FILTERS}/orphan", encode_published_filter(fresh)),
        CreateOp("/inotify/ns/orphan", b"10"),
    )
    assert updating == (
        CheckOp(CACHE, 6),
        SetDataOp(f"{FILTERS}/same", encode_published_filter(updated), 7),
    )
    assert made.positions() == {
        "same": FilterPosition(updated, 9),
        "other": FilterPosition(again, 10),
        "orphan": FilterPosition(fresh, 10),
    }
    ((create, *_),) = planned(made, 11)
    assert create == CreateOp(f"{CACHE}/11", cache_record(10, 11, StaleChanges(()), generation=3))
    assert made.versions() == {
        FILTERS: 5,
        CACHE: 7,
        "/inotify/ns/same": 1,
        "/inotify/ns/other": 0,
        "/inotify/ns/orphan": 0,
        f"{FILTERS}/same": 8,
        f"{FILTERS}/other": 0,
        f"{FILTERS}/orphan": 0,
    }


def test_other_owners_or_subscribers_keep_the_generation() -> None:
    """T1 holds nevertheless. A cache needs only globs and ids, and reads all definitions for a new generation."""
    made = tree("f", "g")
    updated = published("f", owner="amy")
    (multi,) = made.plan_filters(FilterChange(updated=(updated,)))
    assert multi == (CheckOp(CACHE, 5), SetDataOp(f"{FILTERS}/f", encode_published_filter(updated), 7))
    assert made.positions()["f"] == FilterPosition(updated, 9)
    assert made.versions()[f"{FILTERS}/f"] == 8
    (following,) = planned(made, 11)
    assert following[0] == CreateOp(f"{CACHE}/11", cache_record(10, 11, StaleChanges(()), generation=2))
    (again,) = made.plan_filters(FilterChange(updated=(updated,)))
    assert again[1] == SetDataOp(f"{FILTERS}/f", encode_published_filter(updated), 8)


def test_a_modified_filter_has_a_record_that_says_so() -> None:
    """The record comes with its definition, and with a new generation if caches must know."""
    reported, has = published("f").terms, published("f")
    for modified in (replace(has, id="new", path_glob="/g"), replace(has, owner="amy")):
        plan = tree("f")
        (operations,) = plan.plan_filters(FilterChange(modified=(replace(modified, replaces=reported),)))
        record = FilterRecord(
            RecordLink("id-f", 9, 10), MatchedEvents(()), FilterModification(10, reported, modified.terms)
        )
        assert tuple(operations[-3:]) == (
            SetDataOp(f"{FILTERS}/f", encode_published_filter(modified), 7),
            CreateOp("/inotify/ns/f/10", encode_filter_record(record)),
            SetDataOp("/inotify/ns/f", b"10", 1),
        )
        assert (SetDataOp(FILTERS, b"3", 4) in operations) == (modified.id == "new")
        assert plan.positions() == {"f": FilterPosition(modified, 10)}


def test_where_it_can_have_none_the_next_publication_has_one() -> None:
    """That publication may have events for the filter, which may be split, a gap, or nothing."""
    reported, known = published("f").terms, published("f", owner="amy")
    huge = MatchedEvents(tuple(batch(txid, HUGE, HUGE) for txid in (11, 12)))
    for content, txids in ((None, [14]), (huge, [11, 12]), (DroppedTransactions(11, 13, "why"), [13])):
        plan = tree("f", max_records=9)
        plan.add_filter(published("f"), PlannedStream(ZNODES.stream("f"), "id-f", 10, 1, deque([10])))
        (operations,) = plan.plan_filters(FilterChange(modified=(replace(known, replaces=reported),)))
        assert operations[-1].path == f"{FILTERS}/f"
        news = Publication(
            txid=14, content=StaleChanges(()), filters={} if content is None else {"f": content}
        )
        multis = list(plan.plan_publication(news))
        records = records_of_f(multis)
        assert [each.link.txid for each in records] == txids
        assert [each.modified for each in records] == [FilterModification(10, reported, known.terms), None][
            : len(records)
        ]
        assert SetDataOp(f"{FILTERS}/f", encode_published_filter(known), 8) in [
            each for multi in multis for each in multi
        ]
        assert plan.positions()["f"].filter == known


def test_a_stream_that_is_ahead_says_it_behind_its_last_record() -> None:
    """Its publication was interrupted: readers can only read a record that follows those of the stream."""
    reported, known = published("f").terms, published("f", owner="amy")
    for txids, previous, txid in (((11, 12, 13), 12, 13), ((15,), 12, 15)):
        plan = tree()
        plan.add_definition("f", 7)
        plan.add_filter(
            replace(known, replaces=reported), PlannedStream(ZNODES.stream("f"), "id-f", 12, 1, deque([12]))
        )
        records = [record for each in txids for record in records_of_f(planned(plan, each))]
        record = FilterRecord(
            RecordLink("id-f", previous, txid),
            MatchedEvents(()),
            FilterModification(12, reported, known.terms),
        )
        assert records == [record]
        assert plan.positions() == {"f": FilterPosition(known, txid)}


def test_what_can_not_be_deleted_is_out_of_force_all_the_same() -> None:
    """T3: the generation announces it; the znode stays, and is remembered."""
    made = tree("f", "g")
    definition, stream = f"{FILTERS}/f", "/inotify/ns/g"
    (multi,) = made.plan_filters(FilterChange(removed=("f", "g")), (definition, stream))
    assert multi == (
        SetDataOp(CACHE, b"10", 5),
        SetDataOp(FILTERS, b"3", 4),
        DeleteOp("/inotify/ns/f"),
        DeleteOp(f"{FILTERS}/g"),
    )
    assert made.positions() == {}
    assert made.places_of(FilterChange(removed=("f", "g"))) == (stream, definition)
    made.forget_places((stream, definition))
    assert made.places_of(FilterChange(removed=("f", "g"))) == ()


def test_places_of_others_are_known_by_their_paths() -> None:
    """A restart finds them; paths outside the places of filters are ignored."""
    made = tree()
    made.add_places((f"{FILTERS}/f", "/inotify/ns/g", f"{CACHE}/7"))
    assert made.definition_names() == {"f"}
    change = FilterChange(removed=("f", "g", "7"))
    assert made.places_of(change) == ("/inotify/ns/g", f"{FILTERS}/f")


def test_a_change_of_nothing_has_the_set_read_again() -> None:
    """An empty change increments the generation."""
    (multi,) = tree("f").plan_filters(FilterChange())
    assert multi == (SetDataOp(CACHE, b"10", 5), SetDataOp(FILTERS, b"3", 4))


def test_a_damaged_filter_may_lack_znodes() -> None:
    """Missing znodes are not deleted."""
    made = tree()
    made.add_definition("f", 0)
    assert made.definition_names() == {"f"}
    made.add_place("g")
    (multi,) = made.plan_filters(FilterChange(removed=("f", "g", "h")))
    assert multi[2:] == (DeleteOp(f"{FILTERS}/f"), DeleteOp("/inotify/ns/g"))


def test_many_changed_filters_take_several_multis() -> None:
    """Each multi leaves a consistent set with a generation of its own."""
    added = tuple(published(f"f{number}", since_txid=10) for number in range(1500))
    multis = list(tree().plan_filters(FilterChange(added=added)))
    assert [len(multi) for multi in multis] == [2000, 2 + 2 * 501]
    assert [multi[:2] for multi in multis] == [
        (SetDataOp(CACHE, b"10", 5), SetDataOp(FILTERS, b"3", 4)),
        (SetDataOp(CACHE, b"10", 6), SetDataOp(FILTERS, b"4", 5)),
    ]


def znode(version: int) -> Znode:
    """Return a znode of this version."""
    return Znode(path="/", data=b"", version=version, created_zxid=1, children=0, owner_session=0)


@pytest.mark.parametrize(
    ("before", "found", "after", "is_tampered"),
    [
        pytest.param(3, 3, 3, False, id="as it was left"),
        pytest.param(3, 4, 5, False, id="written by us meanwhile"),
        pytest.param(3, 4, 3, True, id="written by somebody else"),
        pytest.param(3, 2, 3, True, id="made again by somebody else"),
        pytest.param(3, None, 3, True, id="deleted by somebody else"),
        pytest.param(3, None, None, False, id="deleted by us meanwhile"),
        pytest.param(3, 0, 0, False, id="made again by us meanwhile"),
    ],
)
def test_the_writing_of_others_is_noticed(
    before: int, found: int | None, after: int | None, *, is_tampered: bool
) -> None:
    """Our own writes during the check do not count."""
    versions = {} if after is None else {"/f": after}
    paths = tampered({"/f": before}, [None if found is None else znode(found)], versions)
    assert paths == (("/f",) if is_tampered else ())


def test_it_knows_the_paths_of_all_that_is_its_own() -> None:
    """The records for caches; and each filter's definition, stream and records."""
    made = tree("f", "g")
    made.add_place("foreign")
    made.add_definition("foreign", 1)
    stream = ZNODES.stream("f")
    assert made.znodes_of("f") == (ZNODES.definition("f"), stream, f"{stream}/9")
    assert made.znodes_of("foreign") == ()
    records = tuple(f"{CACHE}/{txid}" for txid in (8, 9, 10))
    assert made.znodes() == (*records, *made.znodes_of("f"), *made.znodes_of("g"))


def test_the_acls_of_what_is_made_count() -> None:
    """A filter with many subscribers must not make a multi too large."""
    large = MAX_BYTES // 3
    plan = WritePlan(
        ZNODES,
        3,
        OutputStats(),
        cache=PlannedStream(CACHE, "chain", 10, 5),
        generation=2,
        filters_version=4,
        acl_bytes=lambda _: large,
    )
    added = FilterChange(added=tuple(published(name, since_txid=10) for name in "abc"))
    assert len(list(plan.plan_filters(added))) == 3


@pytest.mark.parametrize(
    ("unit_bytes", "expected"), [(100_000, [9, 1]), (MAX_BYTES * 2, [1] * 10), (10, [10])]
)
def test_units_stay_whole(unit_bytes: int, expected: list[int]) -> None:
    """There are as few multis as the order allows. ZooKeeper refuses a unit that is too large alone."""
    units = [[CreateOp(f"/{number}", b"x" * unit_bytes)] for number in range(10)]
    assert [len(multi) for multi in pack(units)] == expected


def test_operations_are_counted() -> None:
    """The operations reserved in each multi count too."""
    units = [[DeleteOp("/a"), DeleteOp("/b")]] * MAX_OPERATIONS
    assert {len(multi) for multi in pack(units, reserved=[CheckOp("/", 1)])} == {MAX_OPERATIONS - 2, 4}
    assert pack([]) == []


def test_acls_count() -> None:
    """The ACL of each created znode adds to the size; a SetData has none."""
    large = MAX_BYTES // 3
    units: list[list[ZnodeOp]] = [[CreateOp(f"/{number}", b""), SetDataOp("/x", b"")] for number in range(5)]
    assert [len(each) for each in pack(units)] == [10]
    assert [len(each) for each in pack(units, acl_bytes=lambda _: large)] == [4, 4, 2]
