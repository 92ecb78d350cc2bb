"""PendingBatch: every matching event once, by the filters in force when it was read."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from nncache.hadoop.change import Change, EverythingUnknown, SubtreeUnknown, Touched, Vanished
from nncache.hadoop.events import Event, EventBatch, MetadataKind, MetadataUpdate, Rename
from nncache.invalidation.channel.records import DroppedTransactions, MatchedEvents, StaleChanges
from nncache.invalidation.publisher.filter_limits import FilterLimits
from nncache.invalidation.publisher.output_stream import FilterPosition, Publication
from nncache.invalidation.publisher.pacing import ALL
from nncache.invalidation.publisher.pending import PendingBatch
from nncache.invalidation.publisher.stats import PublisherStats
from tests.invalidation.publisher.fakes import batch, positions, published, read

PATH = "/apps/nncache/filters"
MAX_EVENTS = 20_000


def pending(
    txid: int = 10,
    *,
    since: int = 10,
    max_changes: int = 100,
    limits: FilterLimits | None = None,
    counts: PublisherStats | None = None,
    **globs: str,
) -> PendingBatch:
    """Return a pending batch after this transaction."""
    return PendingBatch(
        txid,
        positions(globs, since),
        max_changes=max_changes,
        max_events=MAX_EVENTS,
        filters_path=PATH,
        limits=limits or FilterLimits(0.0, 0.0),
        counts=counts or PublisherStats(),
    )


def pending_at(filters: Mapping[str, FilterPosition]) -> PendingBatch:
    """Return a pending batch after transaction 10, with filters at later positions."""
    return PendingBatch(
        10,
        filters,
        max_changes=9,
        max_events=MAX_EVENTS,
        filters_path=PATH,
        limits=FilterLimits(0.0, 0.0),
        counts=PublisherStats(),
    )


def taken(made: PendingBatch) -> Publication:
    """Take the publication, which must exist."""
    publication = made.take()
    assert publication is not None
    return publication


def test_what_was_read_is_taken_once() -> None:
    """A1: caches and each matching filter get it once. A transaction without a match only advances the coverage."""
    counts = PublisherStats()
    made = pending(counts=counts, f="/a/*", g="/a/1")
    assert made.take() is None
    made.add(read(12, batch(11, "/a/1"), batch(12, "/a/2")))
    made.add(read(14, batch(14, "/else")))
    assert (made.through_txid, made.txid, made.transactions) == (14, 10, 2)
    assert made.take() == Publication(
        txid=14,
        content=StaleChanges(((11, Vanished("/a/1")), (12, Vanished("/a/2")))),
        filters={
            "f": MatchedEvents((batch(11, "/a/1"), batch(12, "/a/2"))),
            "g": MatchedEvents((batch(11, "/a/1"),)),
        },
    )
    assert (made.txid, made.transactions, counts.events_matched) == (14, 0, 3)
    assert {name: position.txid for name, position in made.filters.items()} == {"f": 12, "g": 11}
    assert made.take() is None
    made.add(read(15))
    assert made.take() == Publication(txid=15, content=StaleChanges(()), filters={})


def test_a_change_may_concern_caches_and_no_subscriber() -> None:
    """The cache may have entries below the path."""
    made = pending(f="/a/*/x")
    made.add(read(11, batch(11, "/a")))
    assert made.transactions == 1
    assert made.take() == Publication(txid=11, content=StaleChanges(((11, Vanished("/a")),)), filters={})


def test_a_change_without_an_event_is_for_caches_alone() -> None:
    """Filters match only inotify events."""
    made = pending(f="/a/*")
    policy, elsewhere = SubtreeUnknown("/a/1"), SubtreeUnknown("/b")
    made.add(read(12, EventBatch(11, (), (policy,)), EventBatch(12, (), (elsewhere,))))
    assert made.transactions == 1
    assert made.take() == Publication(txid=12, content=StaleChanges(((11, policy),)), filters={})
    assert not made.take_stale()


def test_an_unknown_transaction_is_missed_by_all_filters() -> None:
    """GapFlush: it may have had events of any path, and may have changed any filter."""
    unknown: Change = EverythingUnknown("transaction 12: opcode 77")
    made = pending_at(positions({"f": "/a"}, 10) | positions({"g": "/b"}, 10) | positions({"h": "/b"}, 12))
    made.add(read(14, batch(11, "/a"), EventBatch(12, (), (unknown,)), batch(13, "/a")))
    assert made.take_stale() == {ALL}
    publication = taken(made)
    assert publication.content == StaleChanges(((12, unknown),))
    assert publication.filters == {"f": MatchedEvents((batch(11, "/a"),))}
    assert publication.missed == {
        "f": DroppedTransactions(12, 13, "transaction 12: opcode 77"),
        "g": DroppedTransactions(12, 12, "transaction 12: opcode 77"),
    }


def test_an_event_that_names_an_alias_is_missed_by_all() -> None:
    """GapFlush: a CONCAT of files by their inodes may concern any filter."""
    made = pending(f="/a", g="/b")
    made.add(read(12, batch(11, "/a"), batch(12, "//.reserved/.inodes/16441")))
    publication = taken(made)
    assert publication.filters == {"f": MatchedEvents((batch(11, "/a"),))}
    assert {name: missed.first_txid for name, missed in publication.missed.items()} == {"f": 12, "g": 12}


def test_what_a_filter_has_already_is_left_out() -> None:
    """After a crash between a filter's records and those for caches, the replay is for caches only (idempotent)."""
    made = pending(10, since=12, f="/a")
    made.add(read(13, batch(12, "/a"), batch(13, "/a")))
    publication = taken(made)
    assert publication.filters == {"f": MatchedEvents((batch(13, "/a"),))}
    assert publication.content == StaleChanges(((13, Vanished("/a")),)), "both, said in one word"
    made.add(read(14))
    assert made.filters["f"].txid == 13


def test_many_changes_are_collapsed() -> None:
    """One record has a limited number of paths."""
    made = pending(f="/a/*", max_changes=3)
    made.add(read(110, *(batch(txid, f"/a/{txid}") for txid in range(11, 111))))
    publication = taken(made)
    assert isinstance(publication.content, StaleChanges)
    assert len(publication.content.changes) <= 3
    assert made.collapsed > 0
    found = publication.filters["f"]
    assert isinstance(found, MatchedEvents)
    assert len(found.batches) == 100, "subscribers get them all"


def test_what_is_missed_is_dropped_for_all() -> None:
    """GapFlush: each filter gets a notice from its own position on, unless it already has all of it."""
    made = pending_at(positions({"f": "/a"}, 8) | positions({"g": "/a"}, 14) | positions({"h": "/a"}, 20))
    assert made.drop(20, "purged") == Publication(
        txid=20,
        content=DroppedTransactions(11, 20, "purged"),
        filters={"f": DroppedTransactions(11, 20, "purged"), "g": DroppedTransactions(15, 20, "purged")},
    )
    assert (made.txid, made.through_txid) == (20, 20)
    assert {position.txid for position in made.filters.values()} == {20}


def test_nothing_is_dropped_or_changed_while_something_waits() -> None:
    """A2: everything matched with one set of filters is published before the set changes."""
    made = pending(f="/a")
    made.add(read(11, batch(11, "/a")))
    with pytest.raises(AssertionError, match="published before"):
        made.drop(20, "purged")
    with pytest.raises(AssertionError, match="published before"):
        made.change_filters({})
    made.take()
    made.change_filters(positions({"g": "/b"}, 11))
    made.add(read(13, batch(12, "/a"), batch(13, "/b")))
    assert made.take() == Publication(
        txid=13,
        content=StaleChanges(((13, Vanished("/b")),)),
        filters={"g": MatchedEvents((batch(13, "/b"),))},
    )


def test_too_much_is_not_read_ahead() -> None:
    """The number of waiting events is limited; the NameNode keeps the others."""
    made = pending(f="/a")
    made.add(read(11, batch(11, *["/a"] * MAX_EVENTS)))
    assert made.events_waiting == MAX_EVENTS
    assert made.is_full
    made.take()
    assert not made.is_full


def test_what_has_no_room_is_left_out() -> None:
    """Edits are left out from the first one that finds the buffer full; none are, where filters may lose events."""
    made = pending(f="/a")
    half = ["/a"] * (MAX_EVENTS // 2)
    found = read(16, *(batch(txid, *half) for txid in range(11, 15)), batch(15, "/else"))
    left = made.add(found)
    assert (made.events_waiting, made.through_txid) == (MAX_EVENTS, 12)
    assert left == read(16, *(batch(txid, *half) for txid in (13, 14)), batch(15, "/else"))
    assert taken(made).txid == 12
    assert made.add(left) == read(16, batch(15, "/else"))
    assert made.add(read(16, batch(15, "/else")), may_drop=True) is None
    assert (taken(made).txid, made.through_txid) == (16, 16)


def test_a_flood_costs_its_own_filter_alone() -> None:
    """The excess of a filter is reported, up to the end of the publication; all others get all their events."""
    limits, counts = FilterLimits(1.0, 0.0), PublisherStats()
    made = pending(limits=limits, counts=counts, f="/a/*", g="/a/1")
    limits.read(0.0, 0.0)
    made.add(read(12, batch(11, *["/a/2"] * 60), batch(12, "/a/1")))
    limits.read(30.0, None)  # the bucket has refilled in part, within the publication
    made.add(read(14, batch(13, "/a/2", "/a/2"), batch(14, "/else")))
    reason = "the filter matches more than 1 events a second (max_events_per_s_per_filter)"
    publication = taken(made)
    assert publication.filters == {
        "f": MatchedEvents((batch(11, *["/a/2"] * 60),)),
        "g": MatchedEvents((batch(12, "/a/1"),)),
    }
    assert publication.missed == {"f": DroppedTransactions(12, 13, reason)}
    assert isinstance(publication.content, StaleChanges)
    assert {txid for txid, _ in publication.content.changes} == {12, 13}, "caches have all, as ever"
    assert {name: position.txid for name, position in made.filters.items()} == {"f": 13, "g": 12}
    assert (counts.events_matched, counts.events_over_limit) == (61, 3)
    made.add(read(15, batch(15, "/a/2")))
    again = taken(made)
    assert (again.filters, again.missed) == ({"f": MatchedEvents((batch(15, "/a/2"),))}, {})


TIMES = MetadataUpdate(path=f"{PATH}/f", kind=MetadataKind.TIMES)


@pytest.mark.parametrize(
    ("event", "touched"),
    [
        pytest.param(f"{PATH}/f/definition.json", {"f"}, id="below"),
        pytest.param(f"{PATH}/f/subscribers/joe", {"f"}, id="a subscriber"),
        pytest.param(f"{PATH}/f", {"f"}, id="the filter"),
        pytest.param(PATH, {ALL}, id="the directory itself"),
        pytest.param("/apps", {ALL}, id="above"),
        pytest.param("/", {ALL}, id="the root"),
        pytest.param(f"{PATH}2/f", set(), id="a name that begins alike"),
        pytest.param("/app", set(), id="another place"),
        pytest.param(Rename("/else", f"{PATH}/f"), {"f"}, id="moved in"),
        pytest.param(Rename(f"{PATH}/f", "/else"), {"f"}, id="moved out"),
        pytest.param(Rename(f"{PATH}/f", f"{PATH}/g"), {"f", "g"}, id="moved within"),
        pytest.param(Rename(f"{PATH}/.tmp-1", f"{PATH}/f"), {"f"}, id="published"),
        pytest.param(f"{PATH}/.tmp-1/subscribers/joe", set(), id="a draft"),
        pytest.param(Rename("/apps", "/there"), {ALL}, id="all moved out"),
        pytest.param(Rename("/else", "/there"), set(), id="moved elsewhere"),
        pytest.param(TIMES, set(), id="read by ourselves"),
    ],
)
def test_changes_of_the_filters_in_hdfs_are_seen(event: Event | str, touched: set[str]) -> None:
    """Changes in a filter's directory affect that filter, at or above the common one all; access times do not count."""
    made = pending()
    made.add(read(12, batch(11, event), batch(12, "/else")))
    assert made.take_stale() == touched
    assert made.take_stale() == frozenset()


def test_the_source_of_a_change_keeps_its_kind() -> None:
    """A change of only the status is published as Touched."""
    made = pending(f="/a")
    made.add(read(11, batch(11, MetadataUpdate(path="/a", kind=MetadataKind.TIMES))))
    publication = taken(made)
    assert publication.content == StaleChanges(((11, Touched("/a")),))


def test_the_next_publication_says_how_a_filter_changed() -> None:
    """A filter without events gets a record of its own at the last transaction of the publication."""
    reported = published("f", "/f").terms
    for name, records_txid in (("f", 13), ("g", 12), ("h", 14)):
        made = pending(f="/f", g="/g", h="/h")
        position = made.filters[name]
        modified = replace(position, filter=replace(position.filter, replaces=reported))
        made.change_filters({**made.filters, name: modified})
        made.add(read(14, batch(12, "/g"), batch(13, "/f")))
        assert made.filters[name].filter.replaces == reported
        made.take()
        assert made.filters[name] == replace(position, txid=records_txid)
    made = pending(f="/f")
    ahead = replace(made.filters["f"], txid=14)  # as after an interrupted publication
    made.change_filters({"f": replace(ahead, filter=replace(ahead.filter, replaces=reported))})
    for through_txid, records_txid, is_reported in ((13, 14, False), (14, 14, False), (15, 15, True)):
        made.add(read(through_txid))
        made.take()
        assert made.filters["f"].txid == records_txid
        assert (made.filters["f"].filter.replaces is None) == is_reported
    made, position = pending(h="/h"), positions({"h": "/h"}, 10)["h"]
    made.change_filters({"h": replace(position, filter=replace(position.filter, replaces=reported))})
    made.drop(20, "purged")
    assert made.filters == {"h": replace(position, txid=20)}
