"""FilterJournal: the figures that operators see of each filter."""

from nncache.invalidation.channel.records import DroppedTransactions, MatchedEvents, StaleChanges
from nncache.invalidation.publisher.filter_journal import (
    CHANGES,
    FilterChanged,
    FilterFigures,
    FilterHistory,
    by_kind,
)
from nncache.invalidation.publisher.output_stream import FilterChange, FilterPosition, Publication
from tests.invalidation.publisher.fakes import batch, positions, published

TWO = positions({"f": "/f", "g": "/g"}, 10)


def publication(txid: int, **filters: MatchedEvents | DroppedTransactions) -> Publication:
    """Return a publication without changes for caches."""
    return Publication(txid=txid, content=StaleChanges(()), filters=filters)


def events(*txids: int) -> MatchedEvents:
    """Return an event for each transaction, and two for the first."""
    return MatchedEvents(tuple(batch(txid, *("/f",) * (1 + (txid == txids[0]))) for txid in txids))


def id_of(name: str) -> str:
    """Return the id of a filter in TWO."""
    return TWO[name].filter.id


def test_events_are_counted_for_each_filter() -> None:
    """The figures include the number of records, and the last transaction and its time."""
    journal = FilterHistory()
    journal.published(publication(13, f=events(11, 13)), TWO, 1.0)
    journal.published(publication(14, f=events(14), g=events(14)), TWO, 2.0)
    assert journal.of(id_of("f")) == FilterFigures(events=5, records=2, last_txid=14, last_at=2.0)
    assert journal.of(id_of("g")) == FilterFigures(events=2, records=1, last_txid=14, last_at=2.0)


def test_a_record_that_tells_of_a_gap_holds_no_event() -> None:
    """The missed transactions may have matched or not."""
    journal = FilterHistory()
    journal.published(publication(13, f=DroppedTransactions(11, 13, "purged")), TWO, 1.0)
    assert journal.of(id_of("f")) == FilterFigures()


def test_a_filter_that_begins_again_is_another_one() -> None:
    """Its figures restart, and those of a removed filter are dropped."""
    journal = FilterHistory()
    journal.published(publication(14, f=events(14), g=events(14)), TWO, 2.0)
    again = published("f", "/other", id="new")
    after = {"f": FilterPosition(again, 14)}
    journal.changed(FilterChange(removed=("f", "g"), added=(again,)), TWO, after, 3.0)
    assert [journal.of(id_) for id_ in ("new", id_of("f"), id_of("g"))] == [FilterFigures()] * 3
    assert journal.changes == (
        FilterChanged(3.0, "removed", "g", "/g"),
        FilterChanged(3.0, "restarted", "f", "/other"),
    )


def test_the_latest_changes_are_remembered() -> None:
    """Each has the filter's present or last glob; a damaged filter's is unknown."""
    journal = FilterHistory()
    for number in range(CHANGES):
        journal.changed(FilterChange(removed=(f"damaged{number}",)), {}, {}, float(number))
    owner = published("f", "/f", allowed_subscribers=("amy",))
    journal.changed(FilterChange(updated=(owner,)), TWO, TWO, 99.0)
    assert len(journal.changes) == CHANGES
    assert journal.changes[0] == FilterChanged(99.0, "updated", "f", "/f")
    assert journal.changes[-1] == FilterChanged(1.0, "removed", "damaged1", "")


def test_what_becomes_of_each_filter() -> None:
    """A filter that is both removed and added is restarted."""
    change = FilterChange(
        removed=("b", "a"),
        added=(published("b"), published("c")),
        updated=(published("d"),),
        modified=(published("e"),),
    )
    assert by_kind(change) == {
        "added": ["c"],
        "restarted": ["b"],
        "removed": ["a"],
        "modified": ["e"],
        "updated": ["d"],
    }
